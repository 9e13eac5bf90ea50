package config

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// maxFile is the largest configuration file that is read, in bytes.
const maxFile = 1 << 20

// readFile reads a configuration file. Anything but a regular file of sensible
// size is refused, so that no job waits for a pipe or fills its memory.
func readFile(name string) ([]byte, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0) // not blocking: a pipe nobody writes to would hold it
	if err != nil {
		return nil, errors.Unwrap(err) // the caller names the file
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("larger than %s", Bytes(maxFile))
	}
	return data, nil
}
