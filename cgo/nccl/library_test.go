package nccl_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"slurm-preflight/cgo/dl"
	"slurm-preflight/cgo/nccl"
)

// compile makes a shared library from testdata.
func compile(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lib"+name+".so")
	output, err := exec.Command("gcc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
		"-o", path, filepath.Join("testdata", name+".c")).CombinedOutput()
	require.NoError(t, err, string(output))
	return path
}

func TestOpenRefusesAnotherLibrary(t *testing.T) {
	_, err := nccl.Open("libc.so.6")
	var missing *dl.SymbolError
	require.ErrorAs(t, err, &missing)
	require.Equal(t, "ncclAllGather", missing.Symbol)
}

func TestVersionAndPath(t *testing.T) {
	opened, err := nccl.Open(library)
	require.NoError(t, err)
	require.Equal(t, library, opened.Path())
	version, err := opened.Version()
	require.NoError(t, err)
	require.Equal(t, 21400, version)
}

func TestInitPassesTheConfigOf214(t *testing.T) {
	picky, err := nccl.Open(compile(t, "picky"))
	require.NoError(t, err)
	id, err := picky.UniqueID()
	require.NoError(t, err)
	_, err = picky.Init(id, 8, 5)
	require.Equal(t, &nccl.Error{
		Call: "ncclCommInitRankConfig", Code: 42, Name: "a code of the future",
		Detail: "comm null id 1..128 ranks 8 rank 5 size 24 magic cafebeef version 21400 blocking 0 last undefined",
	}, err)
}

func TestBlockingInitWhereThereIsNoOther(t *testing.T) {
	t.Setenv("NCCL_TEST_TARGET", library)
	old := compile(t, "before214")
	ranks := make([]*process, 3)
	for i := range ranks {
		ranks[i] = startRankOf(t, old)
	}
	id := ranks[0].ok("id")
	for i, rank := range ranks {
		rank.send("init world %s %d %d", id, len(ranks), i)
	}
	for _, rank := range ranks {
		require.Equal(t, "ok ", rank.answer(rankLimit))
	}
	all(ranks, "status world") // ready without waiting
	all(ranks, "run world allreduce 1000")
	all(ranks, "destroy world")
}

func TestClosedCommunicator(t *testing.T) {
	opened, err := nccl.Open(library)
	require.NoError(t, err)
	id, err := opened.UniqueID()
	require.NoError(t, err)
	comm, err := opened.Init(id, 2, 0)
	require.NoError(t, err)
	require.ErrorIs(t, comm.AsyncError(), nccl.ErrInProgress)
	var refused *nccl.Error
	require.ErrorAs(t, comm.AllReduce(1, 1, 1, 0), &refused, "not initialised yet")
	require.Equal(t, 4, refused.Code)
	require.NoError(t, comm.Abort())
	for _, err := range []error{
		comm.AsyncError(), comm.Abort(), comm.Destroy(),
		comm.AllReduce(1, 1, 1, 0), comm.AllGather(1, 1, 1, 0), comm.ReduceScatter(1, 1, 1, 0), comm.Broadcast(1, 1, 1, 0, 0),
		comm.Reduce(1, 1, 1, 0, 0), comm.AllToAll(1, 1, 1, 2, 0), comm.SendRecv(1, 0, 1, 0, 1, 0),
	} {
		require.ErrorIs(t, err, nccl.ErrClosed)
	}
}

// Programs in C that drive several ranks from one thread.
func TestGroupsFromC(t *testing.T) {
	for _, name := range []string{"group", "messages"} {
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), name)
			directory := filepath.Dir(library)
			output, err := exec.Command("gcc", "-Wall", "-Wextra", "-Werror", "-I../hostccl/lib", "-o", program,
				"testdata/"+name+".c", "-L"+directory, "-Wl,-rpath,"+directory, "-lhostccl").CombinedOutput()
			require.NoError(t, err, string(output))
			ctx, cancel := context.WithTimeout(t.Context(), rankLimit)
			defer cancel()
			output, err = exec.CommandContext(ctx, program).CombinedOutput()
			require.NoError(t, err, string(output))
		})
	}
}
