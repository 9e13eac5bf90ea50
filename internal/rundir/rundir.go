// Package rundir is where one attempt of a job leaves its report: a directory
// of the job's owner, in the home directory that clusters share between nodes,
// or under /tmp where there is none.
package rundir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Dir is the directory of one attempt of a job.
type Dir struct{ path string }

// maxFile is the most that is read of a file, in bytes.
const maxFile = 16 << 20

// Open makes the directory of an attempt in the first place that lets us write:
// state directory of home (empty if the user has none), then temporary directory.
func Open(home, temporary, job string, attempt int) (Dir, error) {
	name, err := attemptName(job, attempt)
	if err != nil {
		return Dir{}, err
	}
	var refusals []error
	if home != "" {
		dir, err := below(home, name)
		if err == nil {
			return dir, nil
		}
		refusals = append(refusals, err)
	}
	dir, err := private(shelter(temporary), name)
	if err == nil {
		return dir, nil
	}
	return Dir{}, fmt.Errorf("no place for the report: %w", errors.Join(append(refusals, err)...))
}

// Find opens a file that an earlier attempt left in one of the places of Open, and makes nothing.
func Find(home, temporary, job string, attempt int, file string) ([]byte, error) {
	name, err := attemptName(job, attempt)
	if err != nil {
		return nil, err
	}
	bases := []string{shelter(temporary)}
	if home != "" {
		bases = []string{stateOf(home), shelter(temporary)}
	}
	var refusals []error
	for _, base := range bases {
		err := owned(base)
		if err == nil {
			var text []byte
			if text, err = (Dir{filepath.Join(base, name)}).Read(file); err == nil {
				return text, nil
			}
		}
		refusals = append(refusals, err)
	}
	return nil, errors.Join(refusals...)
}

func attemptName(job string, attempt int) (string, error) {
	name := fmt.Sprintf("%s.%d", job, attempt)
	if !filepath.IsLocal(name) || filepath.Base(name) != name {
		return "", fmt.Errorf("job %q cannot name a directory", job)
	}
	return name, nil
}

func stateOf(home string) string { return filepath.Join(home, ".local", "state", "preflight") }

// shelter is the place of users without a home.
func shelter(temporary string) string {
	return filepath.Join(temporary, "preflight-"+strconv.Itoa(os.Getuid()))
}

// below makes the attempt's directory in an existing home; a home that is
// missing is not ours to make.
func below(home, name string) (Dir, error) {
	if info, err := os.Stat(home); err != nil || !info.IsDir() {
		return Dir{}, errors.Join(fmt.Errorf("home %s is no directory", home), err)
	}
	state := stateOf(home)
	if err := os.MkdirAll(filepath.Dir(state), 0o700); err != nil {
		return Dir{}, err
	}
	return private(state, name)
}

// private makes base/name for the owner alone. Anybody can make directories and
// links in /tmp, so base must be a real directory of our own.
func private(base, name string) (Dir, error) {
	if err := os.Mkdir(base, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return Dir{}, err
	}
	if err := owned(base); err != nil {
		return Dir{}, err
	}
	dir := Dir{filepath.Join(base, name)}
	if err := os.Mkdir(dir.path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return Dir{}, err
	}
	probe, err := os.CreateTemp(dir.path, ".probe-*")
	if err != nil {
		return Dir{}, err
	}
	return dir, errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// owned says why base is not a real directory of our own that nobody else can write.
func owned(base string) error {
	info, err := os.Lstat(base)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(owner.Uid) != os.Getuid() || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s is not a directory that only its owner can write: it is %s", base, info.Mode())
	}
	return nil
}

// Path is where a file of this name stands.
func (d Dir) Path(name string) string { return filepath.Join(d.path, name) }

// Write replaces a file as a whole.
func (d Dir) Write(name string, write func(io.Writer) error) error {
	return WriteFile(d.Path(name), write)
}

// WriteFile replaces the file at path as a whole: a reader, or a full disk,
// never leaves half of it.
func WriteFile(path string, write func(io.Writer) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".preflight-*")
	if err != nil {
		return err
	}
	err = errors.Join(write(file), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// Read returns a regular file's content.
func (d Dir) Read(name string) ([]byte, error) {
	file, err := os.OpenFile(d.Path(name), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is not a regular file", d.Path(name)), err)
	}
	return io.ReadAll(io.LimitReader(file, maxFile))
}
