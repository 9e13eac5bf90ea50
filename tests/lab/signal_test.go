package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// counting says when it listens, counts the signals that it gets, and ends
// when there was none for a while.
const counting = `n=0; trap 'n=$((n+1))' INT TERM HUP; echo listening
while sleep 0.3; do [ $n -gt 0 ] && break; done; sleep 0.3; echo got $n`

func TestSignalReachesTheCommand(t *testing.T) {
	c := up(t, "--nodes", "1")
	for _, signal := range []syscall.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			cmd := exec.Command(program, "run", "--name", c.name, "--", "bash", "-c", counting)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			lines := bufio.NewReader(out)
			await(t, lines, "listening")
			require.NoError(t, cmd.Process.Signal(signal))
			await(t, lines, "got 1")
			require.NoError(t, cmd.Wait())
		})
	}
}

func TestCommandDiesOfSignal(t *testing.T) {
	c := up(t, "--nodes", "1")
	cmd := exec.Command(program, "run", "--name", c.name, "--", "bash", "-c", "echo listening; exec sleep 600")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	await(t, bufio.NewReader(out), "listening")
	require.NoError(t, cmd.Process.Signal(unix.SIGTERM))
	require.Error(t, cmd.Wait())
	require.Equal(t, 143, cmd.ProcessState.ExitCode())
}

func TestCommandDoesNotOutliveItsWaiter(t *testing.T) {
	c := up(t, "--nodes", "1")
	cmd := exec.Command(program, "run", "--name", c.name, "--", "bash", "-c", "echo listening; exec sleep 600")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(out)
	await(t, lines, "listening")
	require.NoError(t, cmd.Process.Kill())
	closed := make(chan error, 1)
	go func() {
		_, err := lines.ReadString('\n')
		closed <- err
	}()
	select {
	case err := <-closed:
		require.ErrorIs(t, err, io.EOF)
	case <-time.After(10 * time.Second):
		require.Fail(t, "the command still has the pipe")
	}
	require.Error(t, cmd.Wait())
}

// TestControlC types Ctrl-C at a terminal: the command gets one interrupt, not
// one from the terminal and one more from the lab.
func TestControlC(t *testing.T) {
	c := up(t, "--nodes", "1")
	terminal, cmd := c.atTerminal(t, counting)
	lines := bufio.NewReader(terminal)
	await(t, lines, "listening")
	typeControlC(t, terminal)
	await(t, lines, "got 1")
	require.NoError(t, cmd.Wait())
}

// TestControlCEndsSrun types it twice, as srun wants it.
func TestControlCEndsSrun(t *testing.T) {
	c := up(t, "--nodes", "1")
	terminal, cmd := c.atTerminal(t, "trap : INT; srun bash -c 'echo listening; exec sleep 600'; echo ended $?")
	lines := bufio.NewReader(terminal)
	await(t, lines, "listening")
	typeControlC(t, terminal)
	await(t, lines, "one more within 1 sec to abort")
	typeControlC(t, terminal)
	await(t, lines, "ended")
	require.NoError(t, cmd.Wait())
	require.Eventually(t, func() bool { return c.user("squeue -h") == "" }, 5*time.Second, 50*time.Millisecond)
}

func typeControlC(t *testing.T, terminal io.Writer) {
	t.Helper()
	_, err := terminal.Write([]byte{3})
	require.NoError(t, err)
}

func TestTerminalOnANode(t *testing.T) {
	c := up(t, "--nodes", "1")
	terminal, cmd := c.atTerminal(t, "srun --pty tty")
	await(t, bufio.NewReader(terminal), "/dev/pts/0")
	require.NoError(t, cmd.Wait())
}

// atTerminal runs a shell command with a new terminal as its own.
func (c *fixture) atTerminal(t *testing.T, command string) (*os.File, *exec.Cmd) {
	t.Helper()
	master, slave := pty(t)
	cmd := exec.Command(program, "run", "--name", c.name, "--chdir", "/home/user", "--", "bash", "-c", command)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, cmd.Start())
	require.NoError(t, slave.Close())
	return master, cmd
}

func pty(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = master.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, master.Fd(), unix.TIOCGPTPEER, uintptr(unix.O_RDWR|unix.O_NOCTTY))
	require.Zero(t, errno)
	return master, os.NewFile(fd, "slave")
}

// await reads lines until one of them holds the word; a reader that never
// brings it fails the test.
func await(t *testing.T, lines *bufio.Reader, word string) {
	t.Helper()
	found := make(chan error, 1)
	go func() {
		for {
			line, err := lines.ReadString('\n')
			if err != nil || strings.Contains(line, word) {
				found <- err
				return
			}
		}
	}()
	select {
	case err := <-found:
		require.NoError(t, err, "waiting for %q", word)
	case <-time.After(20 * time.Second):
		require.Fail(t, "no answer", "waiting for %q", word)
	}
}
