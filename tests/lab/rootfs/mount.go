// Package rootfs gives each host of a lab its own view of the machine's files:
// its own /run, /proc, /sys and /dev, the lab's files in /etc, the build tree
// in /opt and the users' homes. It never writes to the machine's files.
package rootfs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// tree is a copy of a mount that hangs nowhere yet.
type tree struct{ fd int }

// detach copies the mount at a path, with what is mounted below.
func detach(path string) (tree, error) {
	flags := uint(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE | unix.AT_SYMLINK_NOFOLLOW)
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, flags)
	if err != nil {
		return tree{}, fmt.Errorf("copying the mount at %s: %w", path, err)
	}
	return tree{fd}, nil
}

// attach mounts the copy at a path.
func (t tree) attach(path string) error {
	defer unix.Close(t.fd)
	if err := unix.MoveMount(t.fd, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mounting on %s: %w", path, err)
	}
	return nil
}

// readOnly makes the copy read-only.
func (t tree) readOnly() error {
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(t.fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		return fmt.Errorf("making a mount read-only: %w", err)
	}
	return nil
}

// private keeps what is mounted here from the machine. What the machine
// mounts and unmounts later still arrives.
func private() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("making the mounts private: %w", err)
	}
	return nil
}

// fresh mounts a new file system.
func fresh(kind, path, options string, flags uintptr) error {
	if err := unix.Mount(kind, path, kind, flags, options); err != nil {
		return fmt.Errorf("mounting %s on %s: %w", kind, path, err)
	}
	return nil
}

func bind(from, to string) error {
	if err := unix.Mount(from, to, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("binding %s on %s: %w", from, to, err)
	}
	return nil
}

// Directory is a directory to be made, with its owner.
type Directory struct {
	Path     string
	UID, GID uint32
	Mode     fs.FileMode
}

// make makes the directory.
func (d Directory) make() error {
	if err := os.MkdirAll(d.Path, d.Mode.Perm()); err != nil {
		return err
	}
	if err := os.Chmod(d.Path, d.Mode); err != nil {
		return err
	}
	return os.Chown(d.Path, int(d.UID), int(d.GID))
}

func makeAll(dirs []Directory) error {
	for _, d := range dirs {
		if err := d.make(); err != nil {
			return err
		}
	}
	return nil
}

// cover mounts a new tmpfs over a directory and brings the directory's entries
// back into it, except those that the lab has its own of.
func cover(dir string, own ...string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var back []func() error
	for _, e := range entries {
		if slices.Contains(own, e.Name()) {
			continue
		}
		restore, err := keep(filepath.Join(dir, e.Name()), e)
		if err != nil {
			return err
		}
		back = append(back, restore)
	}
	if err := fresh("tmpfs", dir, "mode=755", 0); err != nil {
		return err
	}
	for _, restore := range back {
		if err := restore(); err != nil {
			return err
		}
	}
	return nil
}

// keep returns the function that brings an entry back after its directory was
// covered.
func keep(path string, e fs.DirEntry) (func() error, error) {
	if e.Type()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(path)
		return func() error { return os.Symlink(target, path) }, err
	}
	copied, err := detach(path)
	if err != nil {
		return nil, err
	}
	return func() error {
		if e.IsDir() {
			err = os.Mkdir(path, 0o755)
		} else {
			err = os.WriteFile(path, nil, 0o644)
		}
		if err != nil {
			return err
		}
		return copied.attach(path)
	}, nil
}
