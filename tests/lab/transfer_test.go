package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// transferRole makes this test's own program one end of a transfer between two
// nodes: "serve" or "send".
const transferRole = "LAB_TEST_TRANSFER"

const (
	transferPort  = "5555"
	transferBytes = 30 << 20
)

// transfer is one end. The receiving one prints bytes per second.
func transfer(role string) {
	var err error
	if role == "serve" {
		err = serve()
	} else {
		err = send(role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve() error {
	listener, err := net.Listen("tcp", ":"+transferPort)
	if err != nil {
		return err
	}
	fmt.Println("listening")
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	begin := time.Now()
	n, err := io.Copy(io.Discard, conn)
	fmt.Println(int(float64(n) / time.Since(begin).Seconds()))
	return err
}

func send(to string) error {
	conn, err := net.Dial("tcp", net.JoinHostPort(to, transferPort))
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write(make([]byte, transferBytes))
	return err
}

// speed is how many bytes per second go from one node to another.
func (c *fixture) speed(from, to string) float64 {
	c.t.Helper()
	self, err := os.Executable()
	require.NoError(c.t, err)
	end := func(node, role string) []string {
		return []string{"run", "--name", c.name, "--root", "--node", node, "--chdir", "/", "--", "env", transferRole + "=" + role, self}
	}
	cmd := exec.Command(program, end(to, "serve")...)
	out, err := cmd.StdoutPipe()
	require.NoError(c.t, err)
	require.NoError(c.t, cmd.Start())
	buffer := make([]byte, 64)
	n, err := out.Read(buffer)
	require.NoError(c.t, err)
	require.Equal(c.t, "listening\n", string(buffer[:n]))
	r := lab(c.t, end(from, to)...)
	require.Zero(c.t, r.code, r.err)
	rest, err := io.ReadAll(out)
	require.NoError(c.t, err)
	require.NoError(c.t, cmd.Wait())
	speed, err := strconv.ParseFloat(strings.TrimSpace(string(rest)), 64)
	require.NoError(c.t, err)
	return speed
}

// TestLink checks that a slow link is slow in both directions and no other is,
// and that it can be cut and mended.
func TestLink(t *testing.T) {
	machine(t)
	c := up(t, "--nodes", "3", "--rate", "2gbit")
	c.must("link", "n3", "200mbit")
	require.Regexp(t, `n3 .* 200mbit `, c.must("status"))
	full, in, outward := c.speed("n1", "n2"), c.speed("n1", "n3"), c.speed("n3", "n1")
	t.Logf("2gbit: %.0f MB/s; 200mbit: %.0f MB/s in, %.0f MB/s out", full/1e6, in/1e6, outward/1e6)
	require.InDelta(t, 10, full/in, 5)
	require.InDelta(t, 10, full/outward, 5)

	c.must("link", "n3", "down")
	require.Regexp(t, `n3 .* down `, c.must("status"))
	const ping = "timeout 1 bash -c ': < /dev/tcp/n3/6818'"
	require.NotZero(t, c.lab("run", "--chdir", "/", "--", "bash", "-c", ping).code)
	c.must("link", "n3", "up")
	require.Regexp(t, `n3 .* 2gbit `, c.must("status"))
	c.must("run", "--chdir", "/", "--", "bash", "-c", ping)
	require.InDelta(t, 1, full/c.speed("n1", "n3"), 0.5)

	for _, wrong := range [][]string{{"n4", "up"}, {"n3", "fast"}, {"login", "down"}} {
		require.NotZero(t, c.lab("link", wrong...).code, wrong)
	}
}
