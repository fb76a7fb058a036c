//go:build !unix

package audit

import "os"

// lockFile locks nothing: this system has no such locks.
func lockFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
}
