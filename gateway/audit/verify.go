package audit

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Head is the end of a chain of lines: how many there are, and the hash that the
// next line will contain. Comparing it with a copy noted elsewhere shows whether
// earlier lines were changed or the end was truncated.
type Head struct {
	// First and Last are the numbers of the first and the last record; both are
	// 0 if there is none.
	First, Last uint64
	SHA256      [sha256.Size]byte
}

// BreakError says where a chain breaks.
type BreakError struct {
	// File and Line are the position of the first line that does not continue
	// the chain.
	File string
	Line int
	// Holds is the head of the records that are verified: the next record contains
	// the hash of each of them. Its numbers are 0 if there is none.
	Holds Head
	// Last is the number of the last record before the break, 0 if there is none.
	// No verified line contains its hash, so it may be the one that was changed.
	Last uint64
	// Why says what is wrong with the line.
	Why error
}

// Error implements error.
func (e *BreakError) Error() string {
	return fmt.Sprintf("%s:%d: the chain is broken: %v", e.File, e.Line, e.Why)
}

// Unwrap returns what is wrong with the line.
func (e *BreakError) Unwrap() error { return e.Why }

// Read reads the files of a path, oldest first, and calls see with each line
// while the chain is intact (L6). If it is not, the error is a [BreakError]. A
// file that is being written may end with a partial line, and may be rotated
// meanwhile: what is read ends where the current file was at the beginning. The
// head is that of the lines that were read.
func Read(path string, see func(Line) error) (Head, error) {
	// The current file is opened before the others are listed. Opened after them,
	// it could be a later one, and the chain would seem to lack what was rotated in
	// between.
	current, err := os.Open(path) //nolint:gosec // the path is the operator's
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Head{}, err
	}
	missing := err
	defer current.Close() //nolint:errcheck // it was only read from
	files, err := earlierFiles(path)
	if err != nil {
		return Head{}, err
	}
	if missing != nil && len(files) == 0 { // otherwise a rotation is in progress, or was interrupted
		return Head{}, missing
	}
	var r reader
	for _, name := range files {
		rotated, err := r.readEarlier(name, current, see)
		if err != nil || rotated {
			return r.head, err
		}
	}
	if missing == nil {
		err = r.readFile(path, current, see)
	}
	return r.head, err
}

// reader is the state of reading a chain.
type reader struct {
	head Head
	// before is the head without its last record.
	before Head
}

// longestLine is longer than any line.
const longestLine = largestTail

// readEarlier reads a rotated file. It reports whether that is the one that was
// current at the beginning.
func (r *reader) readEarlier(name string, current *os.File, see func(Line) error) (last bool, err error) {
	file, err := os.Open(name) //nolint:gosec // the path is the operator's
	switch {
	case errors.Is(err, fs.ErrNotExist) && r.head.Last == 0:
		return false, nil // the oldest files are removed when others are rotated
	case err != nil:
		return false, err
	}
	defer file.Close() //nolint:errcheck // it was only read from
	return sameFile(file, current), r.readFile(name, file, see)
}

// sameFile reports whether both are open and the same file.
func sameFile(one, other *os.File) bool {
	a, errA := one.Stat()
	b, errB := other.Stat()
	return errA == nil && errB == nil && os.SameFile(a, b)
}

func (r *reader) readFile(name string, file io.Reader, see func(Line) error) error {
	lines := bufio.NewReaderSize(file, longestLine)
	for number := 1; ; number++ {
		text, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, bufio.ErrBufferFull):
			return r.broken(name, number, errors.New("it is longer than a line can be"))
		case err != nil:
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
		line, err := r.follow(text[:len(text)-1])
		if err != nil {
			return r.broken(name, number, err)
		}
		if err := see(line); err != nil {
			return err
		}
	}
}

func (r *reader) broken(name string, number int, why error) error {
	return &BreakError{File: name, Line: number, Holds: r.before, Last: r.head.Last, Why: why}
}

// follow verifies the next line and adds it to the chain.
func (r *reader) follow(text []byte) (Line, error) {
	h := r.head
	line, err := parseLine(text)
	switch {
	case err != nil:
		return Line{}, err
	case h.Last == 0 && line.N == 1 && line.Prev != [sha256.Size]byte{}:
		return Line{}, errors.New("the first record refers to a record before it")
	case h.Last != 0 && line.N != h.Last+1:
		return Line{}, fmt.Errorf("record %d follows record %d", line.N, h.Last)
	case h.Last != 0 && line.Prev != h.SHA256:
		return Line{}, fmt.Errorf("record %d does not match the line before it: one of the two was changed, or lines between them were removed", line.N)
	}
	if h.First == 0 {
		h.First = line.N
	}
	h.Last, h.SHA256 = line.N, sha256.Sum256(text)
	r.before, r.head = r.head, h
	return line, nil
}
