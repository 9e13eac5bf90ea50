package cluster_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"slurm-preflight/tests/lab/cluster"
)

func TestPasswd(t *testing.T) {
	got := cluster.Passwd("root:x:0:0::/root:/bin/bash\nuser:x:1000:1000::/home/u:/bin/sh\nx:x:20002:5::/x:/x\nlast:x:5:5::/l:/l")
	golden(t, "passwd", got)
	golden(t, "group", cluster.Group("root:x:0:\nuser:x:1000:\n"))
	for _, want := range cluster.Users() {
		have, err := cluster.Lookup(got, want.Name)
		require.NoError(t, err)
		require.Equal(t, want, have)
	}
}

func TestLookupRefuses(t *testing.T) {
	for _, passwd := range []string{"", "a:x:1", "a:x:-1:1:::", "a:x:1:4294967296:::", "b:x:1:1::/:/"} {
		_, err := cluster.Lookup(passwd, "a")
		require.Error(t, err, "%q", passwd)
	}
}

func FuzzLookup(f *testing.F) {
	f.Add("root:x:0:0::/root:/bin/bash\n", "root")
	f.Add("a:x:1", "a")
	f.Fuzz(func(t *testing.T, passwd, name string) {
		account, err := cluster.Lookup(passwd, name)
		if err == nil {
			require.Equal(t, name, account.Name)
		}
	})
}
