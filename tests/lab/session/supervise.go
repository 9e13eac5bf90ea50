package session

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"slurm-preflight/tests/lab/namespace"
	"slurm-preflight/tests/lab/process"
)

// forwarded are the signals that reach the command.
var forwarded = []unix.Signal{ //nolint:gochecknoglobals // a constant table
	unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2,
}

// Replace makes this process the one that waits. It is a new program image,
// because the signals must be blocked before the first thread of Go's runtime
// exists: only then can they be read together with where they came from. The
// caller has locked its thread.
func Replace(s Session) error {
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, mask(), nil); err != nil {
		return fmt.Errorf("blocking signals: %w", err)
	}
	err := unix.Exec("/proc/self/exe", process.Argv(s.Lab, process.Run, s.text()), os.Environ())
	return fmt.Errorf("starting the session: %w", err)
}

// Supervise is what the waiting process does. It returns the exit code. The
// caller has locked its thread, and the command's life hangs on it.
func Supervise(text string) (int, error) {
	s, err := parse(text)
	if err != nil {
		return 0, err
	}
	signals, err := unix.Signalfd(-1, mask(), unix.SFD_CLOEXEC)
	if err != nil {
		return 0, fmt.Errorf("reading signals: %w", err)
	}
	if err := namespace.ChildrenOf(s.Host); err != nil {
		return 0, err
	}
	cmd := exec.Cmd{
		Path:   "/proc/self/exe",
		Args:   s.EnterArgv(),
		Env:    os.Environ(),
		Stdin:  os.Stdin,
		Stdout: os.Stdout,
		Stderr: os.Stderr,
	}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("starting the session: %w", err)
	}
	go forward(signals, cmd.Process)
	err = cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, fmt.Errorf("waiting for the session: %w", err)
	}
	return code(cmd.ProcessState), nil
}

// forward passes on the signals that somebody sent to this process. Those of
// the terminal have reached the command already: it is in the same process
// group, and srun takes a second interrupt for an order to give up at once.
func forward(fd int, to *os.Process) {
	buffer := make([]byte, unsafe.Sizeof(unix.SignalfdSiginfo{}))
	for {
		n, err := unix.Read(fd, buffer)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n != len(buffer) {
			return
		}
		signal := binary.NativeEndian.Uint32(buffer[0:])
		origin := int32(binary.NativeEndian.Uint32(buffer[8:]))
		if origin != siKernel {
			_ = to.Signal(syscall.Signal(signal))
		}
	}
}

// siKernel is the origin of a signal that the terminal sends.
const siKernel = 0x80

func code(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

func mask() *unix.Sigset_t {
	var set unix.Sigset_t
	for _, signal := range forwarded {
		bit := uint(signal) - 1
		set.Val[bit/64] |= 1 << (bit % 64)
	}
	return &set
}
