// Package snapshot records what a lab could leave behind on a machine, so that
// a test can compare before and after: processes, namespaces, mounts, links,
// cgroups, sockets and files.
package snapshot

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prometheus/procfs"

	"slurm-preflight/tests/lab/process"
)

// Snapshot is a set of facts about the machine, one line each.
type Snapshot map[string]struct{}

// Machine is the machine as it was, against which it is compared later.
type Machine struct {
	own   func(lab string) bool
	facts Snapshot
	procs table
}

// Before records the machine as it is now. Other labs than the caller's own
// come and go meanwhile and are left out.
func Before(own func(lab string) bool) (*Machine, error) {
	procs, err := list()
	if err != nil {
		return nil, err
	}
	m := &Machine{own: own, procs: procs}
	if m.facts, err = m.take(); err != nil {
		return nil, err
	}
	again, err := m.take()
	if err != nil {
		return nil, err
	}
	for fact := range m.facts { // what somebody else had only for a moment is no fact
		if _, ok := again[fact]; !ok {
			delete(m.facts, fact)
		}
	}
	return m, nil
}

// Changes lists what is new (+) and what is gone (-) on the machine.
func (m *Machine) Changes() ([]string, error) {
	now, err := m.take()
	if err != nil {
		return nil, err
	}
	return append(minus("+ ", now, m.facts), minus("- ", m.facts, now)...), nil
}

func minus(sign string, a, b Snapshot) []string {
	var only []string
	for fact := range a {
		if _, ok := b[fact]; !ok {
			only = append(only, sign+fact)
		}
	}
	slices.Sort(only)
	return only
}

func (m *Machine) take() (Snapshot, error) {
	s := Snapshot{}
	for _, err := range []error{s.mounts(), s.links(), s.cgroups(m.own), s.sockets(m.own), s.files(), m.processes(s)} {
		if err != nil {
			return nil, fmt.Errorf("looking at the machine: %w", err)
		}
	}
	return s, nil
}

func (s Snapshot) add(format string, args ...any) { s[fmt.Sprintf(format, args...)] = struct{}{} }

// mounts records this process's mounts.
func (s Snapshot) mounts() error {
	mounts, err := procfs.GetMounts()
	for _, m := range mounts {
		if strings.HasPrefix(m.MountPoint, "/run/netns") { // ip-netns(8), which others use
			continue
		}
		s.add("mount %d %s on %s", m.MountID, m.FSType, m.MountPoint)
	}
	return err
}

// links records the network interfaces.
func (s Snapshot) links() error {
	interfaces, err := net.Interfaces()
	for _, i := range interfaces {
		s.add("link %d %s mtu %d %s", i.Index, i.Name, i.MTU, i.HardwareAddr)
	}
	return err
}

// cgroups records the top of every hierarchy, and below it what a lab or its
// Slurm could have made. The rest belongs to others and changes as it likes.
func (s Snapshot) cgroups(own func(string) bool) error {
	const root = "/sys/fs/cgroup"
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return skipGone(err)
		}
		if lab, ok := strings.CutPrefix(d.Name(), process.Marker+"-"); ok && !own(lab) {
			return filepath.SkipDir
		}
		depth := strings.Count(strings.TrimPrefix(path, root), "/")
		if depth <= 2 || ours(path) {
			s.add("cgroup %s", path)
		}
		return nil
	})
}

// sockets records the labs' locks.
func (s Snapshot) sockets(own func(string) bool) error {
	unix, err := procfs.NewFS(procfs.DefaultMountPoint)
	if err != nil {
		return err
	}
	table, err := unix.NetUNIX()
	if err != nil {
		return err
	}
	for _, row := range table.Rows {
		if lab, ok := strings.CutPrefix(row.Path, "@"+process.Marker+"/"); ok && own(lab) {
			s.add("socket %s", row.Path)
		}
	}
	return nil
}

// files records whatever of a lab, of Slurm or of munge lies where such
// programs keep files, with size and time of change.
func (s Snapshot) files() error {
	for _, dir := range []string{"/run", "/etc", "/tmp", "/var/lib", "/var/log", "/var/spool"} {
		for _, word := range []string{process.Marker, "slurm", "munge"} {
			if dir == "/tmp" && word != process.Marker { // that of jobs
				continue
			}
			tops, err := filepath.Glob(filepath.Join(dir, "*"+word+"*"))
			if err != nil {
				return err
			}
			for _, top := range tops {
				if err := s.below(top); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// below records a file, or a directory and all in it.
func (s Snapshot) below(top string) error {
	return filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return skipGone(err)
		}
		info, err := d.Info()
		if err == nil {
			s.add("file %s %s %d %s", path, info.Mode(), info.Size(), info.ModTime())
		}
		return skipGone(err)
	})
}

func ours(path string) bool {
	return strings.Contains(path, process.Marker) || strings.Contains(path, "slurm")
}

func skipGone(err error) error {
	if os.IsNotExist(err) || os.IsPermission(err) {
		return nil
	}
	return err
}
