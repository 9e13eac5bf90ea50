package fault

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"slurm-preflight/tests/lab/process"
)

// Role is what a process is in a gate.
type Role string

// The roles.
const (
	Conductor  Role = "conductor"
	Srun       Role = "srun of the step"
	Supervisor Role = "supervisor"
	Rank       Role = "rank"
)

func roleOf(argv []string) Role {
	if len(argv) < 2 {
		return ""
	}
	switch name := filepath.Base(argv[0]); {
	case name == "preflight" && argv[1] == "begin":
		return Conductor
	case name == "srun" && slices.Contains(argv, "--job-name=preflight"):
		return Srun
	case name == "preflight-worker" && argv[1] == "rank":
		return Rank
	case name == "preflight-worker":
		return Supervisor
	default:
		return ""
	}
}

// Hosts are all hosts of a lab.
func Hosts() []string { return []string{"login", "n1", "n2", "n3", "n4"} }

// Find lists the processes of a role on a host, the oldest first.
func (l Lab) Find(host string, role Role) []int {
	var found []int
	for pid, is := range l.processes(host) {
		if is == role {
			found = append(found, pid)
		}
	}
	slices.Sort(found)
	return found
}

// Left lists what is left of gates on these hosts, as HOST ROLE.
func (l Lab) Left(hosts ...string) []string {
	var left []string
	for _, host := range hosts {
		for _, role := range l.processes(host) {
			left = append(left, host+" "+string(role))
		}
	}
	return left
}

// processes are those of gates on a host. A host without power has none.
func (l Lab) processes(host string) map[int]Role {
	space, found := "", map[int]Role{}
	if pid, err := l.first(host); err == nil {
		space = namespace(pid)
	}
	for _, pid := range candidates() {
		if role := roleOf(process.Args(pid)); role != "" && space != "" && namespace(pid) == space {
			found[pid] = role
		}
	}
	return found
}

// candidates are the processes with a name that a gate's may have. Reading no more
// of the others is what makes it possible to look hundreds of times a second.
func candidates() []int {
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		panic(err)
	}
	var found []int
	for _, path := range names {
		comm, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		switch strings.TrimSpace(string(comm)) {
		case "preflight", "preflight-worke", "srun":
			found = append(found, number(filepath.Base(filepath.Dir(path))))
		}
	}
	return found
}

func namespace(pid int) string {
	space, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/pid")
	if err != nil {
		return ""
	}
	return space
}

// first is the first process of a host, which is looked up once while it lives.
func (l Lab) first(host string) (int, error) {
	if pid, known := l.hosts[host]; known && unix.Kill(pid, 0) == nil {
		return pid, nil
	}
	lab, err := process.Find(l.name)
	if err != nil {
		return 0, err
	}
	pid, err := lab.Host(host)
	if err == nil {
		l.hosts[host] = pid
	}
	return pid, err
}

// Signal signals the oldest process of a role on a host, which must be there.
func (l Lab) Signal(host string, role Role, signal unix.Signal) {
	l.t.Helper()
	found := l.Find(host, role)
	require.NotEmpty(l.t, found, "no %s on %s", role, host)
	require.NoError(l.t, unix.Kill(found[0], signal))
}

// Sent is how many bytes a node has sent over its link.
func (l Lab) Sent(node string) uint64 {
	l.t.Helper()
	pid, err := l.first(node)
	require.NoError(l.t, err)
	p, err := procfs.NewProc(pid)
	require.NoError(l.t, err)
	devices, err := p.NetDev()
	require.NoError(l.t, err)
	return devices["eth0"].TxBytes
}

// child is the child of a process that has this name, or 0.
func child(pid int, name string) int {
	lists, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	if err != nil {
		panic(err)
	}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue
		}
		for field := range strings.FieldsSeq(string(text)) {
			comm, err := os.ReadFile("/proc/" + field + "/comm")
			if err == nil && strings.TrimSpace(string(comm)) == name {
				return number(field)
			}
		}
	}
	return 0
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

// connecting reports that a rank's library has begun to join a communicator.
func connecting(pid int) bool {
	tasks, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/comm")
	if err != nil {
		return false
	}
	for _, task := range tasks {
		name, err := os.ReadFile(task)
		if err == nil && strings.TrimSpace(string(name)) == "hostccl-init" {
			return true
		}
	}
	return false
}
