package rootfs

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"slurm-preflight/tests/lab/cluster"
)

// nvidiaMajor is the character device number of NVIDIA's GPUs.
const nvidiaMajor = 195

// device is a character device's file.
type device struct {
	path         string
	major, minor uint32
}

// devices makes a node's own /dev: no device of the machine, its own terminals
// and shared memory, and a file for each GPU.
func devices(gpus int) error {
	if err := fresh("tmpfs", "/dev", "mode=755", unix.MS_NOSUID); err != nil {
		return err
	}
	nodes := []device{
		{"/dev/null", 1, 3},
		{"/dev/zero", 1, 5},
		{"/dev/full", 1, 7},
		{"/dev/random", 1, 8},
		{"/dev/urandom", 1, 9},
		{"/dev/tty", 5, 0},
	}
	for i := range gpus {
		nodes = append(nodes, device{cluster.GPUFile(i), nvidiaMajor, uint32(i)})
	}
	for _, d := range nodes {
		if err := d.make(); err != nil {
			return err
		}
	}
	if err := links(); err != nil {
		return err
	}
	return pseudo()
}

func (d device) make() error {
	if err := unix.Mknod(d.path, unix.S_IFCHR|0o666, int(unix.Mkdev(d.major, d.minor))); err != nil {
		return fmt.Errorf("making %s: %w", d.path, err)
	}
	return os.Chmod(d.path, 0o666) // whatever the umask
}

func links() error {
	for _, l := range [][2]string{
		{"/proc/self/fd", "/dev/fd"},
		{"/proc/self/fd/0", "/dev/stdin"},
		{"/proc/self/fd/1", "/dev/stdout"},
		{"/proc/self/fd/2", "/dev/stderr"},
		{"pts/ptmx", "/dev/ptmx"},
	} {
		if err := os.Symlink(l[0], l[1]); err != nil {
			return err
		}
	}
	return nil
}

// pseudo mounts what lives in memory. The machine's devpts may refuse to open
// its ptmx, and then `srun --pty` would fail.
func pseudo() error {
	const safe = unix.MS_NOSUID | unix.MS_NOEXEC
	for _, m := range []struct {
		kind, path, options string
		flags               uintptr
	}{
		{"devpts", "/dev/pts", "newinstance,ptmxmode=0666,mode=620,gid=5", safe},
		{"tmpfs", "/dev/shm", "mode=1777", safe | unix.MS_NODEV},
		{"mqueue", "/dev/mqueue", "", safe | unix.MS_NODEV},
	} {
		if err := os.Mkdir(m.path, 0o755); err != nil {
			return err
		}
		if err := fresh(m.kind, m.path, m.options, m.flags); err != nil {
			return err
		}
	}
	return nil
}
