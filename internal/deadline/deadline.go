// Package deadline bounds waits by time in which this process could run.
//
// Slurm may suspend a job, a debugger may stop a process, and a host may hold a
// whole virtual machine still. When it goes on, every ordinary timer has run out
// at once, although nobody had a chance to do anything. A Deadline looks at the
// clock ten times a second; where it finds a gap that is much longer than that, the
// process was paused, and the deadline is armed anew.
package deadline

import (
	"sync"
	"time"
)

const (
	period = 100 * time.Millisecond
	// pause is the least gap that is a pause and not a busy machine.
	pause = 10 * period
)

// Deadline is a limit on a wait. It may be used by several goroutines.
type Deadline struct {
	mu      sync.Mutex
	meter   meter
	over    bool
	passed  chan struct{} // closed when over
	stopped chan struct{}
	stop    sync.Once
}

// In returns a Deadline that passes after this time. Stop releases it.
func In(limit time.Duration) *Deadline {
	d := &Deadline{meter: newMeter(limit, time.Now()), passed: make(chan struct{}), stopped: make(chan struct{})}
	go d.watch()
	return d
}

func (d *Deadline) watch() {
	for {
		left, over := d.pass()
		if over {
			return
		}
		timer := time.NewTimer(min(left, period))
		select {
		case <-timer.C:
		case <-d.stopped:
			timer.Stop()
			return
		}
	}
}

// pass says what is left, or lets the deadline pass.
func (d *Deadline) pass() (left time.Duration, over bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.meter.look(time.Now())
	if d.meter.left <= 0 {
		d.over = true
		close(d.passed)
	}
	return d.meter.left, d.over
}

// Passed is closed when the time is over.
func (d *Deadline) Passed() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.passed
}

// Left is what is left of the time.
func (d *Deadline) Left() time.Duration { return d.look().left }

// Paused is how long the process did not run since the Deadline was made, up to now.
func (d *Deadline) Paused() time.Duration { return d.look().paused }

// Renew arms the deadline anew, for a pause that others had; also after it has passed.
func (d *Deadline) Renew() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.meter.look(time.Now())
	d.meter.left = d.meter.limit
	if d.over {
		d.over, d.passed = false, make(chan struct{})
		go d.watch()
	}
}

// Shorten lets the deadline pass in this time, unless it does so earlier anyway.
func (d *Deadline) Shorten(limit time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if limit < d.meter.left {
		d.meter.limit, d.meter.left = limit, limit
	}
}

// Stop ends the watch. The Deadline passes no more.
func (d *Deadline) Stop() { d.stop.Do(func() { close(d.stopped) }) }

func (d *Deadline) look() meter {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.meter.look(time.Now())
	return d.meter
}

// meter counts the time that is seen to pass.
type meter struct {
	limit, left, paused time.Duration
	last                time.Time
}

func newMeter(limit time.Duration, now time.Time) meter {
	return meter{limit: limit, left: limit, last: now}
}

// look takes note of the time. A gap since the last look is a pause: it counts
// for nothing, and what has been used up before is given back, since others may
// have been paused a little longer.
func (m *meter) look(now time.Time) {
	gap := now.Sub(m.last)
	m.last = now
	if gap >= pause {
		m.paused += gap
		m.left = m.limit
		return
	}
	m.left -= gap
}
