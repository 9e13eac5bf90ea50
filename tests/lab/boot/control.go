package boot

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"slurm-preflight/tests/lab/cluster"
)

// Done is the answer to an order that was carried out.
const Done = "done"

// serve takes orders at the lab's socket, one line each. Only this process can
// power a node: the node must be its child, to be reaped and to die with it.
func (l *login) serve() error {
	listener, err := net.Listen("unix", cluster.Socket)
	if err != nil {
		return fmt.Errorf("taking orders: %w", err)
	}
	if err := os.Chmod(cluster.Socket, 0o600); err != nil {
		return err
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return fmt.Errorf("taking orders: %w", err)
		}
		if err := l.obey(conn); err != nil {
			slog.Error("order failed", "err", err)
		}
	}
}

func (l *login) obey(conn net.Conn) error {
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(Deadline)); err != nil {
		return err
	}
	order, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	answer := Done
	if err := l.start(strings.TrimSpace(order)); err != nil {
		answer = err.Error()
	}
	_, err = io.WriteString(conn, answer+"\n")
	return err
}

// start powers a node that has been killed, and waits until its daemon
// listens: until then Slurm may believe that it never was away.
func (l *login) start(node string) error {
	index, err := l.spec.Index(node)
	if err != nil {
		return err
	}
	if l.children.has(node) {
		return fmt.Errorf("node %s has power already", node)
	}
	start, err := l.power(node)
	if err != nil {
		return err
	}
	if err := begin(start); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), Deadline)
	defer cancel()
	return listens(ctx, cluster.Addr(index), cluster.SlurmdPort)
}
