package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// FileOptions configure a [File].
type FileOptions struct {
	// Path is the file that is written. Rotated files have the number of their
	// first record appended to that name.
	Path string
	// MaxBytes is the size at which the file is rotated. Default 100 MiB.
	MaxBytes int64
	// Keep is the number of rotated files to keep; 0 keeps all.
	Keep int
}

// File stores records as lines chained by their hashes (L6). A lock restricts it
// to one process at a time.
type File struct {
	options FileOptions
	lock    *os.File
	file    *os.File
	size    int64 // up to the end of the last complete batch
	next    uint64
	prev    [sha256.Size]byte
	buffer  []byte
	// broken is set if the file may contain more than size says.
	broken bool
	// unsettled is set if a rotation may not survive a crash yet.
	unsettled bool
}

// largestTail is how much of the end of a file is read to find its last line. No
// line is that long.
const largestTail = 2 << 20

// OpenFile opens or creates the file and continues where it ended. A partial
// line at the end, which a dying process left and never acknowledged, is
// truncated.
func OpenFile(o FileOptions) (*File, error) {
	if o.MaxBytes <= 0 {
		o.MaxBytes = 100 << 20
	}
	f := &File{options: o, next: 1}
	var err error
	if f.lock, err = lockFile(o.Path + ".lock"); err != nil {
		return nil, fmt.Errorf("the audit file %s: %w", o.Path, err)
	}
	if err := f.open(); err != nil {
		if f.file != nil {
			_ = f.file.Close() // nothing was written to it
		}
		return nil, errors.Join(fmt.Errorf("the audit file %s: %w", o.Path, err), f.lock.Close())
	}
	return f, nil
}

func (f *File) open() error {
	earlier, err := earlierFiles(f.options.Path)
	if err != nil {
		return err
	}
	if f.file, err = os.OpenFile(f.options.Path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	last, rest, err := lastLine(f.file)
	if err != nil {
		return err
	}
	if last == nil && !mayBeLine(rest) {
		return errors.New("it begins with something other than an audit record, so it was not changed: choose another path, or move the file away")
	}
	if last == nil && len(earlier) > 0 { // the process died during a rotation
		before, err := os.Open(earlier[len(earlier)-1])
		if err != nil {
			return err
		}
		last, _, err = lastLine(before)
		if err = errors.Join(err, before.Close()); err != nil {
			return err
		}
		if last == nil {
			return fmt.Errorf("%s has no complete line", before.Name())
		}
	}
	if last != nil {
		line, err := parseLine(last)
		if err != nil {
			return fmt.Errorf("its last line is not an audit record: %w", err)
		}
		f.next, f.prev = line.N+1, sha256.Sum256(last)
	}
	// Only now is the file known to be an audit file.
	info, err := f.file.Stat()
	if err != nil {
		return err
	}
	f.size = info.Size() - int64(len(rest))
	if err := f.file.Truncate(f.size); err != nil {
		return err
	}
	return syncDir(filepath.Dir(f.options.Path))
}

// mayBeLine says whether text can be the beginning of a line that was not written
// completely. After a power failure it may also be a block of zeros.
func mayBeLine(text []byte) bool {
	n := min(len(text), len(lineBegin))
	return string(text[:n]) == lineBegin[:n] || len(bytes.Trim(text, "\x00")) == 0
}

// lastLine returns the last complete line of a file, nil if there is none, and
// what follows it.
func lastLine(f *os.File) (line, rest []byte, err error) {
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errors.New("is not a regular file")
	}
	begin := max(info.Size()-largestTail, 0)
	tail, err := io.ReadAll(io.NewSectionReader(f, begin, info.Size()-begin))
	if err != nil {
		return nil, nil, err
	}
	end := bytes.LastIndexByte(tail, '\n')
	if end < 0 {
		if begin > 0 {
			return nil, nil, errors.New("its last line is incomplete")
		}
		return nil, tail, nil
	}
	return tail[bytes.LastIndexByte(tail[:end], '\n')+1 : end], tail[end+1:], nil
}

// earlierFiles returns the rotated files, oldest first.
func earlierFiles(path string) ([]string, error) {
	dir, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range dir {
		number, ok := strings.CutPrefix(e.Name(), filepath.Base(path)+".")
		if _, err := strconv.ParseUint(number, 10, 64); ok && err == nil && len(number) == numberDigits {
			all = append(all, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	slices.Sort(all)
	return all, nil
}

// numberDigits is the number of digits in the suffix of rotated files, so that
// names sort in the order of the records.
const numberDigits = 15

// Write implements [Sink].
func (f *File) Write(_ context.Context, records []Record, durable bool) error {
	if err := errors.Join(f.mend(), f.settle()); err != nil {
		return err
	}
	if err := f.inPlace(); err != nil {
		return err
	}
	next, prev := f.next, f.prev
	f.buffer = f.buffer[:0]
	for i := range records {
		body, err := records[i].line()
		if err != nil {
			return err
		}
		begin := len(f.buffer)
		f.buffer = appendLine(f.buffer, next, prev, body)
		next, prev = next+1, sha256.Sum256(f.buffer[begin:])
		f.buffer = append(f.buffer, '\n')
	}
	if f.size > 0 && f.size+int64(len(f.buffer)) > f.options.MaxBytes {
		if err := f.rotate(); err != nil {
			return fmt.Errorf("cannot start the next file: %w", err)
		}
	}
	if err := f.put(durable); err != nil {
		f.broken = true
		return errors.Join(err, f.mend())
	}
	f.size += int64(len(f.buffer))
	f.next, f.prev = next, prev
	if cap(f.buffer) > 4<<20 {
		f.buffer = nil
	}
	return nil
}

func (f *File) put(durable bool) error {
	if _, err := f.file.WriteAt(f.buffer, f.size); err != nil {
		return err
	}
	if !durable {
		return nil
	}
	return f.file.Sync()
}

// mend truncates a partially written batch, so that the chain continues after
// the last complete one.
func (f *File) mend() error {
	if !f.broken {
		return nil
	}
	info, err := f.file.Stat()
	if err == nil && info.Size() >= f.size { // never extended: inPlace detects a file that was cut
		err = f.file.Truncate(f.size)
	}
	if err != nil {
		return fmt.Errorf("cannot remove a partly written record: %w", err)
	}
	f.broken = false
	return nil
}

// inPlace checks that the path still names the open file, and that the file has
// exactly what was written to it. Records in a file that somebody removed are
// synced, and lost nevertheless (L8). If the file is gone or empty, one write
// fails, and the next one starts a new file that continues the chain. A file with
// other content is left alone.
func (f *File) inPlace() error {
	if there, err := os.Stat(f.options.Path); err == nil {
		ours, err := f.file.Stat()
		if err == nil && os.SameFile(there, ours) && ours.Size() == f.size {
			return nil
		}
	}
	file, err := os.OpenFile(f.options.Path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("the file is no longer where it was: %w", err)
	}
	size, err := f.sizeOf(file)
	if err == nil {
		err = syncDir(filepath.Dir(f.options.Path))
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	old, lost := f.file, size < f.size
	f.file, f.size = file, size
	err = old.Close()
	if lost {
		err = errors.Join(errors.New("the file was removed, moved or emptied: a new one continues the chain"), err)
	}
	return err
}

// sizeOf returns the size of a file in which the chain can continue: an empty one,
// or one that ends with the line that was written last.
func (f *File) sizeOf(file *os.File) (int64, error) {
	info, err := file.Stat()
	if err != nil || info.Mode().IsRegular() && info.Size() == 0 {
		return 0, err
	}
	last, rest, err := lastLine(file)
	if err == nil && (len(rest) > 0 || sha256.Sum256(last) != f.prev) {
		err = errors.New("the file has other content than the gateway wrote to it: move it away, and a new one continues the chain")
	}
	return info.Size(), err
}

// rotate renames the current file and starts the next.
func (f *File) rotate() error {
	first, err := firstNumber(f.file)
	if err != nil {
		return err
	}
	if err := f.file.Sync(); err != nil {
		return err
	}
	away := fmt.Sprintf("%s.%0*d", f.options.Path, numberDigits, first)
	if err := os.Rename(f.options.Path, away); err != nil {
		return err
	}
	fresh, err := os.OpenFile(f.options.Path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return errors.Join(err, os.Rename(away, f.options.Path))
	}
	done := f.file
	f.file, f.size, f.unsettled = fresh, 0, true
	return errors.Join(done.Close(), f.tidy(), f.settle())
}

// settle makes the names that a rotation gave survive a crash. Until it has, no
// record is kept: it would be in a file that may have no name afterwards.
func (f *File) settle() error {
	if !f.unsettled {
		return nil
	}
	if err := syncDir(filepath.Dir(f.options.Path)); err != nil {
		return fmt.Errorf("cannot sync the directory after a rotation: %w", err)
	}
	f.unsettled = false
	return nil
}

// firstNumber returns the number of the first record in a file.
func firstNumber(f *os.File) (uint64, error) {
	head := make([]byte, len(lineBegin)+20)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	digits, _, _ := bytes.Cut(bytes.TrimPrefix(head[:n], []byte(lineBegin)), []byte(","))
	return strconv.ParseUint(string(digits), 10, 64)
}

// tidy removes the oldest rotated files beyond those to keep.
func (f *File) tidy() error {
	if f.options.Keep <= 0 {
		return nil
	}
	earlier, err := earlierFiles(f.options.Path)
	if err != nil {
		return err
	}
	var errs []error
	for len(earlier) > f.options.Keep {
		errs = append(errs, os.Remove(earlier[0]))
		earlier = earlier[1:]
	}
	return errors.Join(errs...)
}

// Close implements [Sink].
func (f *File) Close() error {
	var errs []error
	if f.file != nil {
		errs = append(errs, f.file.Sync(), f.file.Close())
	}
	return errors.Join(append(errs, f.lock.Close())...)
}

// syncDir makes renames and new files in a directory survive a crash.
func syncDir(path string) error {
	dir, err := os.Open(path) //nolint:gosec // the path is the operator's
	if err != nil {
		return err
	}
	err = dir.Sync()
	if errors.Is(err, fs.ErrInvalid) {
		err = nil // a file system that does not support this for directories
	}
	return errors.Join(err, dir.Close())
}
