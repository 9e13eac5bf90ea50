// Package cgroup gives a lab one directory in each cgroup v1 controller that
// Slurm confines jobs with, and one in it per node. These directories are the
// only thing of a lab that outlives its processes.
package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// prefix begins the name of every lab's directory.
const prefix = "preflight-lab-"

// wanted are the controllers that proctrack/cgroup and task/cgroup use.
var wanted = []string{"freezer", "devices", "cpuset", "memory"} //nolint:gochecknoglobals // a constant table

// hierarchies maps each mounted v1 controller to its mount point.
func hierarchies() (map[string]string, error) {
	mounts, err := procfs.GetMounts()
	if err != nil {
		return nil, fmt.Errorf("listing mounts: %w", err)
	}
	found := map[string]string{}
	for _, m := range mounts {
		if m.FSType != "cgroup" {
			continue
		}
		for option := range m.SuperOptions {
			found[option] = m.MountPoint
		}
	}
	return found, nil
}

// Check says why jobs cannot be confined on this machine.
func Check() error {
	found, err := hierarchies()
	if err != nil {
		return err
	}
	for _, controller := range wanted {
		if found[controller] == "" {
			return fmt.Errorf("--cgroup needs the cgroup v1 controller %q, and this machine has not mounted it: "+
				"boot it with systemd.unified_cgroup_hierarchy=0, or leave --cgroup out", controller)
		}
	}
	return nil
}

// Create makes a node's directories.
func Create(lab, node string) error {
	found, err := hierarchies()
	if err != nil {
		return err
	}
	for _, controller := range wanted {
		parent := found[controller]
		for _, name := range []string{prefix + lab, node} {
			dir := filepath.Join(parent, name)
			if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			if controller == "cpuset" {
				if err := inherit(parent, dir); err != nil {
					return err
				}
			}
			parent = dir
		}
	}
	return nil
}

// inherit fills a new cpuset, which takes no process while it is empty.
func inherit(parent, dir string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(parent, file))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, file), value, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Join moves this process into a node's directories and makes them the root of
// what this thread and its children see.
func Join(lab, node string) error {
	found, err := hierarchies()
	if err != nil {
		return err
	}
	for _, controller := range wanted {
		file := filepath.Join(found[controller], prefix+lab, node, "cgroup.procs")
		if err := os.WriteFile(file, []byte("0"), 0o644); err != nil {
			return err
		}
	}
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("leaving the machine's cgroups: %w", err)
	}
	return nil
}

// Mount shows the controllers from the node's root on.
func Mount(root string) error {
	if err := unix.Mount("tmpfs", root, "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("mounting on %s: %w", root, err)
	}
	for _, controller := range wanted {
		dir := filepath.Join(root, controller)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		if err := unix.Mount("cgroup", dir, "cgroup", 0, controller); err != nil {
			return fmt.Errorf("mounting the controller %s: %w", controller, err)
		}
	}
	return nil
}

// Labs lists the labs that have directories.
func Labs() ([]string, error) {
	found, err := hierarchies()
	if err != nil {
		return nil, err
	}
	var labs []string
	for _, root := range found {
		dirs, err := filepath.Glob(filepath.Join(root, prefix+"*"))
		if err != nil {
			return nil, err
		}
		for _, dir := range dirs {
			labs = append(labs, strings.TrimPrefix(filepath.Base(dir), prefix))
		}
	}
	slices.Sort(labs)
	return slices.Compact(labs), nil
}

// Thaw wakes what Slurm has frozen in a lab, or in one node of it: a frozen
// process cannot be killed.
func Thaw(lab string, node ...string) error {
	return walk(lab, node, func(dir string) error {
		f, err := os.OpenFile(filepath.Join(dir, "freezer.state"), os.O_WRONLY, 0)
		if errors.Is(err, fs.ErrNotExist) { // another controller
			return nil
		}
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.WriteString("THAWED")
		return ignoreGone(err)
	})
}

// Remove takes the directories of a lab, or of one node of it, away. Those of
// processes that have just ended may be busy for a moment.
func Remove(ctx context.Context, lab string, node ...string) error {
	for {
		err := walk(lab, node, func(dir string) error {
			if err := ignoreGone(unix.Rmdir(dir)); err != nil {
				return fmt.Errorf("removing %s: %w", dir, err)
			}
			return nil
		})
		if !errors.Is(err, unix.EBUSY) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// ignoreGone drops the error of a directory that somebody else has removed
// meanwhile.
func ignoreGone(err error) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) {
		return nil
	}
	return err
}

// walk visits the directories of a lab, children first, in every controller.
func walk(lab string, node []string, visit func(dir string) error) error {
	found, err := hierarchies()
	if err != nil {
		return err
	}
	var failed error
	for _, root := range found {
		top := filepath.Join(append([]string{root, prefix + lab}, node...)...)
		for _, dir := range below(top) {
			if err := visit(dir); err != nil && failed == nil {
				failed = err
			}
		}
	}
	return failed
}

// below lists a directory and those in it, children first.
func below(top string) []string {
	var dirs []string
	_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return nil // what is gone needs no visit
	})
	slices.Reverse(dirs)
	return dirs
}
