package snapshot

import (
	"fmt"
	"os"
	"slices"

	"github.com/prometheus/procfs"

	"slurm-preflight/tests/lab/process"
)

// processes records every process that could be of the caller's labs: that is
// one of them or below one, or in namespaces that are not this process's own,
// or has the name of a daemon.
func (m *Machine) processes(s Snapshot) error {
	now, err := list()
	if err != nil {
		return err
	}
	home := namespaces(os.Getpid())
	for _, p := range now {
		lab, known := now.lab(p)
		if known && !m.own(lab) || !known && m.foreign(now, p) {
			continue
		}
		others := home.others(namespaces(p.pid))
		if known || len(others) > 0 || slices.Contains(daemons(), p.name) {
			s.add("process %d of %d: %s %v %s %v", p.pid, p.parent, p.name, p.argv, lab, others)
		}
	}
	return nil
}

// foreign says whether a process descends from one that was there before, and
// not from this one: it is somebody else's.
func (m *Machine) foreign(now table, p entry) bool {
	top := p
	for range len(now) {
		if top.pid == os.Getpid() {
			return false
		}
		parent, ok := now[top.parent]
		if !ok || parent.pid == 1 {
			break
		}
		top = parent
	}
	before, there := m.procs[top.pid]
	return there && before.began == top.began
}

func daemons() []string { return []string{"slurmctld", "slurmd", "slurmstepd", "munged"} }

// spaces are the namespaces of a process.
type spaces []string

func namespaces(pid int) spaces {
	var found spaces
	for _, kind := range []string{"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"} {
		if space, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, kind)); err == nil {
			found = append(found, space)
		}
	}
	return found
}

// others are the namespaces of another process that are not among these.
func (s spaces) others(theirs spaces) []string {
	return slices.DeleteFunc(slices.Clone(theirs), func(space string) bool { return slices.Contains(s, space) })
}

// entry is one line of the process table.
type entry struct {
	pid, parent int
	began       uint64
	name        string
	argv        []string
}

type table map[int]entry

// exiting is the kernel's flag of a process that has ended but for being
// reaped, or for the reaping of those in its PID namespace. When that happens
// is up to its parent.
const exiting = 0x4

func list() (table, error) {
	procs, err := procfs.AllProcs()
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	t := table{}
	for _, p := range procs {
		stat, err := p.Stat()
		if err != nil || stat.Flags&exiting != 0 {
			continue
		}
		argv, _ := p.CmdLine()
		t[p.PID] = entry{p.PID, stat.PPID, stat.Starttime, stat.Comm, argv}
	}
	return t, nil
}

// lab is the lab that a process belongs to: its own or an ancestor's.
func (t table) lab(p entry) (string, bool) {
	for range len(t) {
		if self, ok := process.Parse(p.argv); ok {
			return self.Lab, true
		}
		parent, ok := t[p.parent]
		if !ok {
			break
		}
		p = parent
	}
	return "", false
}
