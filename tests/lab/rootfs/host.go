package rootfs

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"slurm-preflight/tests/lab/cluster"
)

// Cgroups is where the controllers are mounted.
const Cgroups = "/sys/fs/cgroup"

// Login makes the files of the login host, which the nodes start from.
func Login(spec cluster.Spec) error {
	if err := private(); err != nil {
		return err
	}
	build, err := detach(spec.Build)
	if err != nil {
		return err
	}
	if err := build.readOnly(); err != nil {
		return err
	}
	if err := fresh("tmpfs", "/run", "mode=755", unix.MS_NOSUID|unix.MS_NODEV); err != nil {
		return err
	}
	if err := kernel(); err != nil {
		return err
	}
	if err := etc(spec); err != nil {
		return err
	}
	if err := homes(); err != nil {
		return err
	}
	if err := cover("/opt", filepath.Base(cluster.Product)); err != nil {
		return err
	}
	if err := os.Mkdir(cluster.Product, 0o755); err != nil {
		return err
	}
	return build.attach(cluster.Product)
}

// Node makes the files of a node out of those of the login host.
func Node(gpus int) error {
	if err := private(); err != nil {
		return err
	}
	home, err := detach(cluster.Home)
	if err != nil {
		return err
	}
	if err := fresh("tmpfs", "/run", "mode=755", unix.MS_NOSUID|unix.MS_NODEV); err != nil {
		return err
	}
	if err := os.Mkdir(cluster.Home, 0o755); err != nil {
		return err
	}
	if err := home.attach(cluster.Home); err != nil {
		return err
	}
	if err := kernel(); err != nil {
		return err
	}
	return devices(gpus)
}

// kernel mounts /proc for this PID namespace and /sys for this network
// namespace. A new /sys has no cgroups in it: they are brought back.
func kernel() error {
	groups, err := detach(Cgroups)
	if err != nil {
		return err
	}
	safe := uintptr(unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC)
	if err := fresh("proc", "/proc", "", safe); err != nil {
		return err
	}
	if err := fresh("sysfs", "/sys", "", safe); err != nil {
		return err
	}
	return groups.attach(Cgroups)
}

// homes makes the homes of the cluster's users, which all hosts share.
func homes() error {
	var own []string
	for _, u := range cluster.Users() {
		own = append(own, filepath.Base(u.Home))
	}
	if err := cover("/home", own...); err != nil {
		return err
	}
	for _, u := range cluster.Users() {
		if err := (Directory{u.Home, u.UID, u.GID, 0o700}).make(); err != nil {
			return err
		}
	}
	return nil
}

// Prepare makes the directories that a host's daemons want.
func Prepare(host string, munge, slurm cluster.Account) error {
	dirs := []Directory{
		{Path: cluster.LogDir(host), Mode: 0o755},
		{cluster.MungeDir, munge.UID, munge.GID, 0o755},
		{Path: "/run/lock", Mode: 0o777 | os.ModeSticky},
		{Path: cluster.SpoolDir, Mode: 0o755},
	}
	if host == cluster.Login {
		dirs[3] = Directory{cluster.StateDir, slurm.UID, slurm.GID, 0o755}
		dirs[0].UID, dirs[0].GID = slurm.UID, slurm.GID
	}
	if err := makeAll(dirs); err != nil {
		return fmt.Errorf("preparing %s: %w", host, err)
	}
	return nil
}
