package deadline

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// waiter marks the environment of a process that waits for a deadline of waitTime.
const (
	waiter   = "DEADLINE_TEST_WAITER"
	waitTime = 1500 * time.Millisecond
)

func TestMain(m *testing.M) {
	if os.Getenv(waiter) == "" {
		os.Exit(m.Run())
	}
	d := In(waitTime)
	<-d.Passed()
	if d.Paused() == 0 {
		os.Exit(1)
	}
}

func TestMeterKnowsPauses(t *testing.T) {
	const ms = time.Millisecond
	tests := map[string]struct {
		gaps         []time.Duration
		left, paused time.Duration
	}{
		"nothing passed":      {nil, 5000 * ms, 0},
		"time passes":         {[]time.Duration{100 * ms, 100 * ms, 300 * ms}, 4500 * ms, 0},
		"it runs out":         {[]time.Duration{900 * ms, 900 * ms, 900 * ms, 900 * ms, 900 * ms, 900 * ms}, -400 * ms, 0},
		"a busy machine":      {[]time.Duration{100 * ms, 999 * ms}, 3901 * ms, 0},
		"a pause":             {[]time.Duration{time.Hour}, 5000 * ms, time.Hour},
		"a pause gives back":  {[]time.Duration{900 * ms, 900 * ms, time.Hour, 100 * ms}, 4900 * ms, time.Hour},
		"a pause at the end":  {[]time.Duration{900 * ms, 900 * ms, 900 * ms, 900 * ms, 900 * ms, 1400 * ms}, 5000 * ms, 1400 * ms},
		"pauses are added up": {[]time.Duration{time.Minute, 100 * ms, time.Minute}, 5000 * ms, 2 * time.Minute},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			m := newMeter(5000*ms, now)
			for _, gap := range test.gaps {
				now = now.Add(gap)
				m.look(now)
			}
			require.Equal(t, test.left, m.left)
			require.Equal(t, test.paused, m.paused)
		})
	}
}

func TestDeadlinePasses(t *testing.T) {
	began := time.Now()
	d := In(30 * time.Millisecond)
	<-d.Passed()
	require.GreaterOrEqual(t, time.Since(began), 30*time.Millisecond)
	require.LessOrEqual(t, d.Left(), time.Duration(0))
	d.Renew()
	require.Positive(t, d.Left())
	<-d.Passed()
	require.GreaterOrEqual(t, time.Since(began), 60*time.Millisecond)
	d.Stop()
	d.Stop()
}

func TestStoppedDeadlineDoesNotPass(t *testing.T) {
	d := In(20 * time.Millisecond)
	d.Stop()
	select {
	case <-d.Passed():
		require.Fail(t, "it passed")
	case <-time.After(100 * time.Millisecond):
	}
}

func TestShortenAndRenew(t *testing.T) {
	d := In(time.Hour)
	defer d.Stop()
	d.Shorten(time.Minute)
	require.LessOrEqual(t, d.Left(), time.Minute)
	d.Shorten(time.Hour)
	require.LessOrEqual(t, d.Left(), time.Minute, "it is never made longer")
	time.Sleep(20 * time.Millisecond)
	used := d.Left()
	d.Renew()
	require.Greater(t, d.Left(), used)
}

// A real process that is stopped for longer than its deadline gets all its time again.
func TestStoppedProcessIsNotLate(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	process := exec.CommandContext(t.Context(), self)
	process.Env = append(os.Environ(), waiter+"=1")
	require.NoError(t, process.Start())
	time.Sleep(waitTime / 3)
	require.NoError(t, process.Process.Signal(syscall.SIGSTOP))
	time.Sleep(2 * waitTime)
	require.NoError(t, process.Process.Signal(syscall.SIGCONT))
	resumed := time.Now()
	require.NoError(t, process.Wait(), "it must have seen the pause")
	require.Greater(t, time.Since(resumed), waitTime*9/10)
}
