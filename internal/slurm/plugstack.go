package slurm

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// configTimeout bounds a question that has an answer of second choice.
const configTimeout = 5 * time.Second

// Where Slurm looks for slurm.conf that nobody names: the usual place, and the
// copy that slurmd keeps on a configless host.
const (
	usualConf  = "/etc/slurm/slurm.conf"
	cachedConf = "/run/slurm/conf/slurm.conf"
)

// Plugstack finds the plugstack.conf that Slurm uses on this host: the one that
// slurm.conf names, which slurmctld knows, or the one beside slurm.conf.
func Plugstack(ctx context.Context) string {
	if conf := os.Getenv("SLURM_CONF"); conf != "" && !exists(conf) {
		return PlugstackBesideConf() // scontrol would look for the file for a minute (measured)
	}
	ctx, cancel := context.WithTimeout(ctx, configTimeout)
	defer cancel()
	text, err := scontrol(ctx, "show", "config")
	if err != nil {
		return PlugstackBesideConf()
	}
	named, conf := parseConfig(text)
	if named != "" && exists(named) {
		return named
	}
	return beside(os.Getenv("SLURM_CONF"), conf, usualConf, cachedConf)
}

// PlugstackBesideConf finds the plugstack.conf beside slurm.conf, without asking anybody.
func PlugstackBesideConf() string {
	return beside(os.Getenv("SLURM_CONF"), usualConf, cachedConf)
}

// beside is plugstack.conf beside the first slurm.conf that there is. One that
// the environment names is used, there or not, as Slurm does.
func beside(named string, others ...string) string {
	conf := named
	for _, other := range others {
		if conf == "" && exists(other) {
			conf = other
		}
	}
	if conf == "" {
		conf = usualConf
	}
	return filepath.Join(filepath.Dir(conf), "plugstack.conf")
}

func exists(path string) bool {
	_, err := os.Stat(path) //nolint:gosec // the user's own SLURM_CONF, as the user
	return path != "" && err == nil
}

// parseConfig reads PlugStackConfig and SLURM_CONF out of "scontrol show config";
// they are empty where Slurm prints a word for none.
func parseConfig(text string) (plugstack, conf string) {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, "=")
		value = strings.TrimSpace(value)
		if value == "(null)" {
			continue
		}
		switch strings.TrimSpace(key) {
		case "PlugStackConfig":
			plugstack = value
		case "SLURM_CONF":
			conf = value
		}
	}
	return plugstack, conf
}
