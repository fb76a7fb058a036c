package agentproc

import (
	"strings"

	"github.com/hookgate/hookgate/chain"
)

// idScanner extracts the type and, for a permission request, the id of a line
// that the strict reader refused or that is too long to keep. It looks only at
// the members of the outermost object, keeps a bounded part of them, and gives
// up in case of doubt. Its result never leads to an allow: it only allows a
// request to be denied that the agent would otherwise wait for forever.
type idScanner struct {
	depth   int
	place   place
	quoted  bool // inside a string, at any depth
	escaped bool // after a backslash in it
	broken  bool // gave up

	text    []byte // of the current outermost string, with its quotes
	long    bool   // that string exceeds maxScanned
	current string // the name whose value follows, if it is of interest
	found   map[string]string
}

// place is what is expected next in the outermost object.
type place uint8

const (
	beforeObject place = iota
	atFirstName
	atName
	atColon
	atValue
	inScalar
	behindValue
	behindObject
)

// maxScanned is the longest string that is kept: an id with every byte escaped.
const maxScanned = 6*maxIDBytes + 2

func (s *idScanner) write(text []byte) {
	for _, c := range text {
		if s.broken {
			return
		}
		s.step(c)
	}
}

func (s *idScanner) step(c byte) {
	switch {
	case s.quoted:
		s.inString(c)
	case c == '"':
		s.quoted, s.text, s.long = true, s.text[:0], false
		s.keep(c)
		s.broken = s.depth == 0 || s.depth == 1 && s.place != atFirstName && s.place != atName && s.place != atValue
	case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		if s.place == inScalar && s.depth == 1 {
			s.place = behindValue
		}
	case s.depth > 1:
		s.inNested(c)
	default:
		s.outermost(c)
	}
}

// inString handles a byte of a string.
func (s *idScanner) inString(c byte) {
	if s.depth == 1 {
		s.keep(c)
	}
	switch {
	case s.escaped:
		s.escaped = false
	case c == '\\':
		s.escaped = true
	case c == '"':
		s.quoted = false
		if s.depth == 1 {
			s.endString()
		}
	}
}

func (s *idScanner) keep(c byte) {
	if len(s.text) == maxScanned {
		s.long = true
		return
	}
	s.text = append(s.text, c)
}

// endString handles a complete name or string value of the outermost object.
func (s *idScanner) endString() {
	text, ok := "", false
	if !s.long && chain.CheckValue(s.text) == nil {
		text, ok = chain.ReadString(s.text)
	}
	if s.place == atValue {
		if ok && s.current != "" {
			s.found[s.current] = text
		}
		s.place = behindValue
		return
	}
	s.place, s.current = atColon, ""
	for _, name := range []string{fieldType, fieldRequestID} {
		if !ok || !strings.EqualFold(text, name) {
			continue
		}
		_, twice := s.found[name]
		if twice || text != name {
			s.broken = true
			return
		}
		if s.found == nil {
			s.found = make(map[string]string, 2)
		}
		s.found[name], s.current = "", name
	}
}

// inNested handles a byte between the tokens of a nested value.
func (s *idScanner) inNested(c byte) {
	switch c {
	case '{', '[':
		s.depth++
	case '}', ']':
		if s.depth--; s.depth == 1 {
			s.place = behindValue
		}
	}
}

// outermost handles a byte between the tokens of the outermost object, or
// outside it.
func (s *idScanner) outermost(c byte) {
	closes := c == '}' && (s.place == atFirstName || s.place == behindValue || s.place == inScalar)
	switch {
	case closes:
		s.depth, s.place = 0, behindObject
	case c == '{' && s.place == beforeObject:
		s.depth, s.place = 1, atFirstName
	case c == ':' && s.place == atColon:
		s.place = atValue
	case c == ',' && (s.place == behindValue || s.place == inScalar):
		s.place = atName
	case (c == '{' || c == '[') && s.place == atValue:
		s.depth = 2
	case strings.IndexByte("{}[]:,", c) < 0 && (s.place == atValue || s.place == inScalar):
		s.place = inScalar
	default:
		s.broken = true
	}
}

// kind is the type of the whole line, or empty in case of doubt.
func (s *idScanner) kind() string {
	if s.broken || s.place != behindObject {
		return ""
	}
	return s.found[fieldType]
}

// requestID is the id of a permission request. It returns false if the line is
// not one, or in case of doubt.
func (s *idScanner) requestID() (string, bool) {
	id := s.found[fieldRequestID]
	return id, s.kind() == typePermissionRequest && usableRequestID(id)
}
