package nccl_test

import (
	"encoding/binary"
	"encoding/hex"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rendezvous reads the root's address out of an id; it stands behind the 8
// bytes of the key, as in NCCL's own ids.
func rendezvous(t *testing.T, hexID string) netip.AddrPort {
	t.Helper()
	id, err := hex.DecodeString(hexID)
	require.NoError(t, err)
	address, _ := netip.AddrFromSlice(id[12:16])
	return netip.AddrPortFrom(address, binary.BigEndian.Uint16(id[10:12]))
}

// Whoever finds the port without knowing the key can do nothing.
func TestStrangersAtTheRendezvous(t *testing.T) {
	ranks := startRanks(t, 3)
	id := ranks[0].ok("id")
	address := rendezvous(t, id).String()
	frame := func(kind byte, payload []byte) []byte {
		return append(append(binary.LittleEndian.AppendUint32(nil, uint32(len(payload))), kind), payload...)
	}
	for i, message := range [][]byte{
		nil,
		[]byte("GET / HTTP/1.1\r\n\r\n"),
		frame(1, make([]byte, 200)), // the greeting, without the key
		frame(1, nil),
		frame(3, nil),
		frame(5, []byte("bye")),
		frame(1, nil)[:3],
		{0xff, 0xff, 0xff, 0xff, 1},
	} {
		connection, err := net.Dial("tcp", address)
		require.NoError(t, err)
		_, err = connection.Write(message)
		require.NoError(t, err)
		if i%2 == 0 {
			t.Cleanup(func() { _ = connection.Close() })
			continue
		}
		require.NoError(t, connection.Close())
	}
	for i, rank := range ranks {
		rank.ok("init world %s %d %d", id, len(ranks), i)
	}
	all(ranks, "wait world")
	all(ranks, "run world allreduce 1000")
}

func TestInterfaceChoice(t *testing.T) {
	interfaces, err := net.Interfaces()
	require.NoError(t, err)
	var others []string
	for _, one := range interfaces {
		if one.Flags&net.FlagLoopback == 0 {
			others = append(others, one.Name)
		}
	}
	exceptLoopback := "^=" + strings.Join(append(others, "none"), ",")
	for _, names := range []string{"lo", "=lo", "l,nosuch", "=nosuch,lo", exceptLoopback} {
		id := startRank(t, "NCCL_SOCKET_IFNAME="+names).ok("id")
		require.True(t, rendezvous(t, id).Addr().IsLoopback(), "NCCL_SOCKET_IFNAME=%s", names)
	}
	for _, names := range []string{"=l", exceptLoopback + ",lo"} {
		answer := startRank(t, "NCCL_SOCKET_IFNAME="+names).do("id")
		require.Contains(t, answer, "matches NCCL_SOCKET_IFNAME="+names)
	}
}
