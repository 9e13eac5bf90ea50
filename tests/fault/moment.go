package fault

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

const (
	batchHost = "n1"
	neighbour = "n2"
)

// The gate of all cases. A ring moves 1.5 messages per node and iteration, in
// about 1.2 s at this rate: time enough to hit it in each of its phases.
const (
	rate      = "20mbit"
	bytes     = 2 << 20
	perIter   = bytes * 3 / 2
	warmups   = 2
	iters     = 3
	timeout   = 18 * time.Second
	appearing = 20 * time.Second
	loading   = 700 * time.Millisecond
)

// Slow are the flags of a lab on which a gate takes its time, and passes.
func Slow() []string { return []string{"--rate", rate, "--set", "gate.min.allreduce=0.0001"} }

// Spec is the option of such a gate.
func Spec() string {
	return fmt.Sprintf("allreduce,size=%d,iters=%d,timeout=%s", bytes, iters, timeout)
}

// Moment is a point in the course of a gate.
type Moment struct {
	Name string
	// phases are what a suspect may be said to have failed in.
	phases []string
	// reach waits for the moment, and may hold the gate there until release is
	// called. It is not ok where the gate was faster.
	reach func(l Lab, conductor int, fault Fault) (release func(), ok bool)
}

const (
	beforeAll = "before launch"
	atLast    = "end"
)

// Moments are all of them, in their order.
func Moments() []Moment {
	return []Moment{
		{beforeAll, []string{"launch"}, beforeLaunch},
		{"launch", []string{"launch", "init"}, duringLaunch},
		{"init", []string{"init"}, duringInit},
		{"warm-up", []string{"warm-up"}, sending(perIter * 3 / 4)},
		{"run", []string{"run"}, sending(warmups*perIter + perIter*3/4)},
		{atLast, []string{"run"}, atTheEnd},
	}
}

// appears waits for a process, as long as there is a gate.
func (l Lab) appears(host string, role Role) int {
	l.t.Helper()
	var found []int
	l.catch(func() bool { found = l.Find(host, role); return len(found) > 0 }, "no %s comes up on %s", role, host)
	return found[0]
}

func stop(pid int) (release func(), ok bool) {
	if unix.Kill(pid, unix.SIGSTOP) != nil {
		return func() {}, false
	}
	return func() { _ = unix.Kill(pid, unix.SIGCONT) }, true
}

func beforeLaunch(l Lab, conductor int, _ Fault) (func(), bool) {
	release, ok := stop(conductor)
	return release, ok && len(l.Find(batchHost, Srun)) == 0
}

// duringLaunch is before srun has launched anything, or, where the fault needs a
// process, as soon as it is there, and before the conductor can go on.
func duringLaunch(l Lab, conductor int, fault Fault) (func(), bool) {
	srun := 0
	l.catch(func() bool { srun = child(conductor, "srun"); return srun != 0 || unix.Kill(conductor, 0) != nil }, "no srun")
	if fault.Role == "" {
		release, ok := stop(srun)
		return release, ok && len(l.Find(Victim, Supervisor)) == 0
	}
	release, ok := stop(conductor)
	l.appears(Victim, fault.Role)
	return release, ok
}

// duringInit holds the init by stopping a neighbour's rank that has loaded its
// library and not yet begun to connect. To find it there, the conductor is held before.
func duringInit(l Lab, conductor int, _ Fault) (func(), bool) {
	l.catch(func() bool { return child(conductor, "srun") != 0 || unix.Kill(conductor, 0) != nil }, "no srun")
	proceed, ok := stop(conductor)
	defer proceed()
	if !ok {
		return func() {}, false
	}
	for _, node := range Hosts()[1:] {
		l.appears(node, Rank)
	}
	time.Sleep(loading)
	release, ok := stop(l.appears(neighbour, Rank))
	proceed()
	victim := l.appears(Victim, Rank)
	for deadline := time.Now().Add(appearing / 4); ok && !connecting(victim); time.Sleep(2 * time.Millisecond) {
		ok = time.Now().Before(deadline)
	}
	return release, ok
}

func sending(bytes uint64) func(Lab, int, Fault) (func(), bool) {
	return func(l Lab, _ int, _ Fault) (func(), bool) {
		l.sends(bytes)
		return func() {}, true
	}
}

// sends waits until the victim has sent so much; what Slurm sends is little.
func (l Lab) sends(bytes uint64) {
	l.t.Helper()
	l.catch(func() bool { return l.Sent(Victim) > bytes }, "%s does not send %d bytes", Victim, bytes)
}

// Measures waits until a gate measures.
func (l Lab) Measures() {
	l.t.Helper()
	l.sends((warmups + 0.25) * perIter)
}

// atTheEnd is when all has been sent, and srun is held before it has handed over the results.
func atTheEnd(l Lab, _ int, _ Fault) (func(), bool) {
	l.sends((warmups+iters)*perIter - perIter/4)
	found := l.Find(batchHost, Srun)
	if len(found) == 0 {
		return func() {}, false
	}
	release, ok := stop(found[0])
	quiet := l.Sent(Victim)
	for since := time.Now(); time.Since(since) < 700*time.Millisecond; time.Sleep(20 * time.Millisecond) {
		if now := l.Sent(Victim); now != quiet {
			quiet, since = now, time.Now()
		}
	}
	return release, ok && len(l.Find(Victim, Rank)) > 0
}
