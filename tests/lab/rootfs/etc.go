package rootfs

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"slurm-preflight/tests/lab/cluster"
)

// PlugstackPath is the lab's plugstack.conf, which `lab set` rewrites.
const PlugstackPath = cluster.Etc + "/slurm/plugstack.conf"

// etc writes the lab's configuration and binds it over the machine's.
func etc(spec cluster.Spec) error {
	files, err := render(spec)
	if err != nil {
		return err
	}
	for path, text := range files {
		path = filepath.Join(cluster.Etc, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := mungeKey(files["passwd"]); err != nil {
		return err
	}
	for _, name := range []string{"passwd", "group", "hosts", "nsswitch.conf", "slurm", "munge"} {
		err := bind(filepath.Join(cluster.Etc, name), filepath.Join("/etc", name))
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("this machine has no /etc/%s: `make deps` installs Slurm and munge (%w)", name, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// render is every file of the lab's /etc but the key.
func render(spec cluster.Spec) (map[string]string, error) {
	passwd, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return nil, err
	}
	group, err := os.ReadFile("/etc/group")
	if err != nil {
		return nil, err
	}
	files := map[string]string{
		"passwd":               cluster.Passwd(string(passwd)),
		"group":                cluster.Group(string(group)),
		"hosts":                spec.HostsFile(),
		"nsswitch.conf":        cluster.NSSwitch,
		"slurm/slurm.conf":     spec.SlurmConf(),
		"slurm/plugstack.conf": spec.Plugin.Conf(Built(spec.Build)),
	}
	if spec.GPUs > 0 {
		files["slurm/gres.conf"] = spec.GresConf()
	}
	if spec.Cgroup {
		files["slurm/cgroup.conf"] = cluster.CgroupConf
	}
	return files, nil
}

// Built says whether a build tree has the plugin in it.
func Built(build string) bool {
	_, err := os.Stat(filepath.Join(build, "lib", filepath.Base(cluster.Plugin)))
	return err == nil
}

// mungeKey makes the lab's own key: no credential of the machine's cluster is
// good here, and none of the lab's there.
func mungeKey(passwd string) error {
	munge, err := cluster.Lookup(passwd, "munge")
	if err != nil {
		return fmt.Errorf("%w: `make deps` installs munge", err)
	}
	key := make([]byte, 128)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	dir := filepath.Join(cluster.Etc, "munge")
	if err := (Directory{dir, munge.UID, munge.GID, 0o700}).make(); err != nil {
		return err
	}
	path := filepath.Join(dir, "munge.key")
	if err := os.WriteFile(path, key, 0o400); err != nil {
		return err
	}
	return os.Chown(path, int(munge.UID), int(munge.GID))
}
