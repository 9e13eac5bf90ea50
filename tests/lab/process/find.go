// Package process finds a lab's processes in /proc, by the words they were
// started with, and stops, wakes and ends them. No file is kept of them, so
// none can be stale.
package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"github.com/prometheus/procfs"

	"slurm-preflight/tests/lab/cluster"
)

// Marker is the first word of every process of a lab; the lab's name and the
// process's role follow.
const Marker = "preflight-lab"

// Role is what a process of a lab is there for.
type Role string

// The roles.
const (
	// Init is the lab's first process: the login host and controller.
	Init Role = "init"
	// Node is a node's first process; the node's name follows.
	Node Role = "node"
	// Run waits for a command that `lab run` started.
	Run Role = "run"
	// Enter is such a command before it has become itself.
	Enter Role = "enter"
)

// Process is one process of a lab, seen from the machine.
type Process struct {
	PID  int
	Lab  string
	Role Role
	Args []string
}

// Argv is the command line by which Find knows a process again.
func Argv(lab string, role Role, args ...string) []string {
	return append([]string{Marker, lab, string(role)}, args...)
}

// Parse reads what Argv made.
func Parse(argv []string) (Process, bool) {
	if len(argv) < 3 || argv[0] != Marker {
		return Process{}, false
	}
	return Process{Lab: argv[1], Role: Role(argv[2]), Args: argv[3:]}, true
}

// All lists the processes of all labs.
func All() ([]Process, error) {
	procs, err := procfs.AllProcs()
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	var found []Process
	for _, p := range procs {
		argv, err := p.CmdLine()
		if err != nil { // it ended meanwhile
			continue
		}
		if one, ok := Parse(argv); ok && trusted(p) {
			one.PID = p.PID
			found = append(found, one)
		}
	}
	return found, nil
}

// trusted keeps another user's process that merely borrows the words from
// being entered by root.
func trusted(p procfs.Proc) bool {
	status, err := p.NewStatus() // the owner of /proc/PID would not do: it can be feigned
	if err != nil || status.UIDs != [4]uint64{} {
		return false
	}
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/user", p.PID))
	if err != nil {
		return false
	}
	mine, err := os.Readlink("/proc/self/ns/user")
	return err == nil && mine == theirs
}

// Of lists the processes of one lab.
func Of(lab string) ([]Process, error) {
	all, err := All()
	return slices.DeleteFunc(all, func(p Process) bool { return p.Lab != lab }), err
}

// Lab is a running lab.
type Lab struct {
	Spec cluster.Spec
	// Init is the process id of the login host's first process.
	Init int
	// Nodes are the process ids of the nodes' first processes.
	Nodes map[string]int
}

// ErrDown means that a lab of that name is not running.
var ErrDown = errors.New("is not up")

// Find looks a running lab up.
func Find(name string) (*Lab, error) {
	procs, err := Of(name)
	if err != nil {
		return nil, err
	}
	lab := &Lab{Nodes: map[string]int{}}
	for _, p := range procs {
		switch {
		case p.Role == Init && len(p.Args) == 1:
			lab.Init = p.PID
			if lab.Spec, err = cluster.ParseSpec(p.Args[0]); err != nil {
				return nil, err
			}
		case p.Role == Node && len(p.Args) > 0:
			lab.Nodes[p.Args[0]] = p.PID
		}
	}
	if lab.Init == 0 {
		return nil, fmt.Errorf("lab %s %w: start it with `lab up --name %s`", name, ErrDown, name)
	}
	return lab, nil
}

// Names lists the labs that have a process.
func Names() ([]string, error) {
	all, err := All()
	var names []string
	for _, p := range all {
		names = append(names, p.Lab)
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// Host is the first process of the login host or of a node.
func (l *Lab) Host(name string) (int, error) {
	if name == cluster.Login {
		return l.Init, nil
	}
	if _, err := l.Spec.Index(name); err != nil {
		return 0, err
	}
	pid, ok := l.Nodes[name]
	if !ok {
		return 0, fmt.Errorf("node %s of lab %s has no power: `lab start %s` gives it back", name, l.Spec.Name, name)
	}
	return pid, nil
}

// Path is a path inside the lab, seen from the machine.
func (l *Lab) Path(path string) string {
	return "/proc/" + strconv.Itoa(l.Init) + "/root" + path
}

// Args are the words that a process was started with, if it is still there.
func Args(pid int) []string {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return nil
	}
	argv, err := p.CmdLine()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return argv
}
