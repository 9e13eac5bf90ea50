package hostccl_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"slurm-preflight/cgo/dl"
	"slurm-preflight/cgo/hostccl"
	"slurm-preflight/cgo/hostccl/hostccltest"
)

// library is libhostccl.so, built once for all tests.
var library string

func TestMain(m *testing.M) {
	path, remove, err := hostccltest.Build("lib", "test-programs")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	library = path
	code := m.Run()
	remove()
	os.Exit(code)
}

func open(t *testing.T) *hostccl.Device {
	t.Helper()
	device, err := hostccl.Open(library)
	require.NoError(t, err)
	return device
}

func create(t *testing.T, make func() (uintptr, error)) uintptr {
	t.Helper()
	handle, err := make()
	require.NoError(t, err)
	return handle
}

func TestOpenRefusesAnotherLibrary(t *testing.T) {
	_, err := hostccl.Open("libc.so.6")
	var missing *dl.SymbolError
	require.ErrorAs(t, err, &missing)
}

func TestMemoryRoundTrip(t *testing.T) {
	device := open(t)
	require.Equal(t, "0.1", device.Version())
	memory, err := device.Alloc(5)
	require.NoError(t, err)
	require.NoError(t, device.Upload(memory, []byte("hello")))
	got := make([]byte, 4)
	require.NoError(t, device.Download(got, memory+1))
	require.Equal(t, "ello", string(got))
	require.NoError(t, device.Upload(memory, nil))
	require.NoError(t, device.Free(memory))

	_, err = device.Alloc(0)
	require.EqualError(t, err, "allocating 0 bytes is not possible")
	_, err = device.Alloc(1 << 60)
	require.ErrorContains(t, err, "out of memory")
	require.ErrorContains(t, device.Upload(0, []byte("x")), "invalid value")
}

func TestEventsMeasureTime(t *testing.T) {
	device := open(t)
	stream := create(t, device.NewStream)
	first, second := create(t, device.NewEvent), create(t, device.NewEvent)
	_, err := device.Elapsed(first, second)
	require.ErrorContains(t, err, "invalid value", "never recorded")

	require.NoError(t, device.Record(first, stream))
	waitDone(t, device, stream)
	pause := 20 * time.Millisecond
	time.Sleep(pause)
	require.NoError(t, device.Record(second, stream))
	waitDone(t, device, stream)
	elapsed, err := device.Elapsed(first, second)
	require.NoError(t, err)
	require.GreaterOrEqual(t, elapsed, pause)
	require.Less(t, elapsed, time.Second)
	backwards, err := device.Elapsed(second, first)
	require.NoError(t, err)
	require.Equal(t, -elapsed, backwards)

	require.NoError(t, device.FreeEvent(first))
	require.NoError(t, device.FreeStream(stream))
}

func waitDone(t *testing.T, device *hostccl.Device, stream uintptr) {
	t.Helper()
	require.Eventually(t, func() bool {
		done, err := device.StreamDone(stream)
		require.NoError(t, err)
		return done
	}, 5*time.Second, time.Millisecond)
}

func TestStaleHandlesAreErrors(t *testing.T) {
	device := open(t)
	stream, event := create(t, device.NewStream), create(t, device.NewEvent)
	require.NoError(t, device.FreeStream(stream))
	require.NoError(t, device.FreeEvent(event))
	_, err := device.StreamDone(stream)
	for _, err := range []error{
		err, device.FreeStream(stream), device.FreeEvent(event), device.Record(event, stream),
		device.Record(event, 0), device.FreeStream(1),
	} {
		require.ErrorContains(t, err, "invalid value")
	}
}
