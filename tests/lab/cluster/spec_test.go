package cluster_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"slurm-preflight/tests/lab/cluster"
)

func spec() cluster.Spec {
	return cluster.Spec{Name: "default", Nodes: 4, Rate: 1_000_000_000, Build: "/somewhere/build"}
}

// golden compares with a file; TESTS_UPDATE_GOLDEN=1 writes it anew.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("TESTS_UPDATE_GOLDEN") == "1" {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestFiles(t *testing.T) {
	plain, gpus := spec(), spec()
	gpus.Nodes, gpus.GPUs, gpus.Cgroup, gpus.Conf = 2, 8, true, []string{"Prolog=/bin/true"}
	golden(t, "slurm.conf", plain.SlurmConf())
	golden(t, "slurm-gpus.conf", gpus.SlurmConf())
	golden(t, "gres.conf", gpus.GresConf())
	golden(t, "hosts", plain.HostsFile())
	require.Empty(t, plain.GresConf())
	gpus.GPUs = 1
	require.Contains(t, gpus.GresConf(), "File=/dev/nvidia0\n")
}

func TestSpecTravels(t *testing.T) {
	want := spec()
	want.Plugin = cluster.Plugstack{Optional: true, Args: []string{"gate.min.allreduce=1"}}
	got, err := cluster.ParseSpec(want.String())
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestSpecIsChecked(t *testing.T) {
	for name, spoil := range map[string]func(*cluster.Spec){
		"no nodes":       func(s *cluster.Spec) { s.Nodes = 0 },
		"too many nodes": func(s *cluster.Spec) { s.Nodes = cluster.MaxNodes + 1 },
		"negative GPUs":  func(s *cluster.Spec) { s.GPUs = -1 },
		"too many GPUs":  func(s *cluster.Spec) { s.GPUs = cluster.MaxGPUs + 1 },
		"no name":        func(s *cluster.Spec) { s.Name = "" },
		"path as name":   func(s *cluster.Spec) { s.Name = "../x" },
		"long name":      func(s *cluster.Spec) { s.Name = "abcdefghijklmnopqrstuvwxyz0123456" },
	} {
		t.Run(name, func(t *testing.T) {
			s := spec()
			require.NoError(t, s.Check())
			spoil(&s)
			require.Error(t, s.Check())
		})
	}
}

func TestIndex(t *testing.T) {
	i, err := spec().Index("n3")
	require.NoError(t, err)
	require.Equal(t, 3, i)
	for _, name := range []string{"n0", "n5", "login", "", "n03"} {
		_, err := spec().Index(name)
		require.ErrorContains(t, err, "n1 to n4", name)
	}
}

func FuzzParseSpec(f *testing.F) {
	f.Add(spec().String())
	f.Add(`{"nodes":-1}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := cluster.ParseSpec(text)
		if err != nil {
			return
		}
		again, err := cluster.ParseSpec(s.String())
		require.NoError(t, err)
		require.Equal(t, s.String(), again.String())
		require.LessOrEqual(t, len(s.NodeNames()), cluster.MaxNodes)
	})
}
