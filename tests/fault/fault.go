// Package fault breaks nodes and processes of a gate at chosen moments and sees
// what comes of it. The moments are observed from outside, by the processes that
// are there and the bytes that have gone over a link: nothing in the product
// knows of it. tests/e2e runs a choice of its cases, tests/matrix all.
package fault

import (
	"golang.org/x/sys/unix"
)

// Victim is the node whose parts break. It is neither the batch host nor the one
// whose rank makes the unique id.
const Victim = "n3"

// Fault is something that breaks.
type Fault struct {
	Name string
	// Role is the process that it hits on the victim; empty for the whole node or other hosts.
	Role  Role
	truth truth
	// needsStep says that there is nothing to hit before the launch.
	needsStep bool
	strike    func(l Lab)
	undo      func(l Lab)
}

// truth is what a gate can rightly say after a fault.
type truth int

const (
	victimUnfit truth = iota
	gateBroken        // it could not measure
	gateKilled        // it cannot say anything
)

// Faults are all of them.
func Faults() []Fault {
	return []Fault{
		{Name: "node killed", strike: node("kill"), undo: node("start")},
		{Name: "node frozen", strike: node("freeze"), undo: node("thaw")},
		{Name: "link down", strike: link("down"), undo: link(rate)},
		{Name: "supervisor killed", Role: Supervisor, needsStep: true, strike: signal(Victim, Supervisor, unix.SIGKILL)},
		{Name: "supervisor stopped", Role: Supervisor, needsStep: true, strike: signal(Victim, Supervisor, unix.SIGSTOP)},
		{Name: "rank killed", Role: Rank, needsStep: true, strike: signal(Victim, Rank, unix.SIGKILL)},
		{Name: "rank stopped", Role: Rank, needsStep: true, strike: signal(Victim, Rank, unix.SIGSTOP)},
		{Name: "srun killed", truth: gateBroken, needsStep: true, strike: signal(batchHost, Srun, unix.SIGKILL)},
		{Name: "conductor killed", truth: gateKilled, strike: signal(batchHost, Conductor, unix.SIGKILL)},
	}
}

func node(subcommand string) func(Lab) { return func(l Lab) { l.Do(subcommand, Victim) } }

func link(state string) func(Lab) { return func(l Lab) { l.Do("link", Victim, state) } }

func signal(host string, role Role, what unix.Signal) func(Lab) {
	return func(l Lab) { l.Signal(host, role, what) }
}
