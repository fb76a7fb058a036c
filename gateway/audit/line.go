package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
)

// A line is {"n":12,"prev":"HEX","record":{…}}: the number of the record, the
// SHA-256 of the previous line without its newline, and the record byte for
// byte. No other form is accepted, so that nothing can be added to a line.
const (
	lineBegin  = `{"n":`
	linePrev   = `,"prev":"`
	lineRecord = `","record":`
	lineEnd    = '}'
)

// Line is one line of an audit file.
type Line struct {
	N    uint64
	Prev [sha256.Size]byte
	Body []byte
}

func appendLine(to []byte, n uint64, prev [sha256.Size]byte, body []byte) []byte {
	to = strconv.AppendUint(append(to, lineBegin...), n, 10)
	to = hex.AppendEncode(append(to, linePrev...), prev[:])
	return append(append(append(to, lineRecord...), body...), lineEnd)
}

var errLine = errors.New("it is not a valid line")

func parseLine(text []byte) (Line, error) {
	rest, ok := bytes.CutPrefix(text, []byte(lineBegin))
	digits, rest, cut := bytes.Cut(rest, []byte(linePrev))
	n, err := strconv.ParseUint(string(digits), 10, 64)
	if !ok || !cut || err != nil || n == 0 || digits[0] == '0' || len(rest) < 2*sha256.Size {
		return Line{}, errLine
	}
	l := Line{N: n}
	if _, err := hex.Decode(l.Prev[:], rest[:2*sha256.Size]); err != nil {
		return Line{}, errLine
	}
	body, ok := bytes.CutPrefix(rest[2*sha256.Size:], []byte(lineRecord))
	if !ok || len(body) < 2 || body[len(body)-1] != lineEnd {
		return Line{}, errLine
	}
	l.Body = body[:len(body)-1]
	return l, nil
}
