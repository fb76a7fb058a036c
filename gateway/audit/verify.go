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

// Read reads the files of a path, oldest first, and calls see with each line
// while the chain is intact (L6). The error names the first line that breaks it.
// A file that is being written may end with a partial line.
func Read(path string, see func(Line) error) (Head, error) {
	files, err := earlierFiles(path)
	if err != nil {
		return Head{}, err
	}
	var head Head
	for _, name := range append(files, path) {
		if err := head.readFile(name, see); err != nil {
			if name == path && len(files) > 0 && errors.Is(err, fs.ErrNotExist) {
				break // a rotation is in progress, or was interrupted
			}
			return head, err
		}
	}
	return head, nil
}

// longestLine is longer than any line.
const longestLine = largestTail

func (h *Head) readFile(name string, see func(Line) error) error {
	file, err := os.Open(name) //nolint:gosec // the path is the operator's
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read from
	lines := bufio.NewReaderSize(file, longestLine)
	for number := 1; ; number++ {
		text, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
		line, err := h.follow(text[:len(text)-1])
		if err != nil {
			return fmt.Errorf("%s:%d: the chain is broken: %w", name, number, err)
		}
		if err := see(line); err != nil {
			return err
		}
	}
}

// follow verifies the next line and adds it to the chain.
func (h *Head) follow(text []byte) (Line, error) {
	line, err := parseLine(text)
	switch {
	case err != nil:
		return Line{}, err
	case h.Last == 0 && line.N == 1 && line.Prev != [sha256.Size]byte{}:
		return Line{}, errors.New("the first record follows another")
	case h.Last != 0 && line.N != h.Last+1:
		return Line{}, fmt.Errorf("record %d follows record %d", line.N, h.Last)
	case h.Last != 0 && line.Prev != h.SHA256:
		return Line{}, fmt.Errorf("record %d was written behind another line than the one before it: one of the two was changed, or lines between them are gone", line.N)
	}
	if h.First == 0 {
		h.First = line.N
	}
	h.Last, h.SHA256 = line.N, sha256.Sum256(text)
	return line, nil
}
