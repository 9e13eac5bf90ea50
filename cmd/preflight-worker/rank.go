package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"slurm-preflight/cgo/hostccl"
	"slurm-preflight/cgo/nccl"
	"slurm-preflight/collectives/protocol"
	"slurm-preflight/collectives/rank"
	"slurm-preflight/collectives/supervisor"
)

// serveRank is one rank: it loads the library and obeys its supervisor.
func serveRank(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	// The library prints on descriptor 1, which the supervisor keeps as last words.
	answers := os.NewFile(supervisor.AnswersFD, "answers")
	commands := lease(os.NewFile(supervisor.CommandsFD, "commands"))
	device, err := hostccl.Open(o.library)
	if err != nil {
		return rank.Refuse(answers, err)
	}
	library, err := nccl.Open(o.library)
	if err != nil {
		return rank.Refuse(answers, err)
	}
	return rank.Serve(ctx, commands, answers, o.makesID, vendor{library, "libhostccl", device.Version() + ", Gloo"}, device)
}

// lease reads the supervisor's commands in a goroutine of its own and ends the
// process when they end, even while the main thread is stuck in a library.
func lease(commands *os.File) io.Reader {
	syscall.CloseOnExec(supervisor.CommandsFD)
	syscall.CloseOnExec(supervisor.AnswersFD)
	reader, writer := io.Pipe()
	go func() {
		_, _ = io.Copy(writer, commands) // how it ended does not matter
		os.Exit(0)
	}()
	return reader
}

// vendor makes a rank.Library of an NCCL-like library.
type vendor struct {
	library       *nccl.Library
	name, version string
}

func (v vendor) Info() (protocol.Library, error) {
	code, err := v.library.Version()
	if err != nil {
		return protocol.Library{}, err
	}
	version := v.version
	if version == "" {
		version = fmt.Sprintf("%d.%d.%d", code/10000, code/100%100, code%100)
	}
	return protocol.Library{Name: v.name, Path: v.library.Path(), Version: version}, nil
}

func (v vendor) UniqueID() ([128]byte, error) { return v.library.UniqueID() }

func (v vendor) Init(id [128]byte, ranks, number int) (rank.Communicator, error) {
	comm, err := v.library.Init(id, ranks, number)
	if err != nil {
		return nil, err
	}
	return communicator{comm}, nil
}

// communicator makes a rank.Communicator of an NCCL communicator.
type communicator struct{ *nccl.Comm }

// Settled reads NCCL's asynchronous state.
func (c communicator) Settled() (bool, error) {
	err := c.AsyncError()
	if errors.Is(err, nccl.ErrInProgress) {
		return false, nil
	}
	return err == nil, err
}
