package collectives

import (
	"fmt"
	"time"

	"slurm-preflight/internal/config"
)

// GBps is a bandwidth in 10^9 bytes per second, the unit of nccl-tests.
type GBps = config.GBps

// ElementBytes is the size of one float32, the type that the gate measures with.
const ElementBytes = 4

// blockBytes is what nccl-tests rounds the blocks of a message down to.
const blockBytes = 16

// Bandwidth gives the algorithm and the bus bandwidth of one operation over a
// message of bytes that took d, by the formulas of nccl-tests: algbw is the
// message, rounded as Count rounds it, over the time, and busbw is that times
// the factor that makes it comparable with the slowest link whatever the number
// of ranks. Both are 0 where nothing was measured.
func (op Op) Bandwidth(bytes int64, ranks int, d time.Duration) (algbw, busbw GBps) {
	_, actual, err := op.Count(bytes, ranks)
	if err != nil || d <= 0 {
		return 0, 0
	}
	algbw = GBps(float64(actual) / d.Seconds() / 1e9)
	return algbw, algbw * GBps(op.busFactor(ranks))
}

// busFactor relates what the user's program sees (algbw) to what the slowest link carries.
func (op Op) busFactor(ranks int) float64 {
	n := float64(ranks)
	switch op {
	case AllReduce:
		return 2 * (n - 1) / n
	case AllGather, ReduceScatter, AllToAll:
		return (n - 1) / n
	case Broadcast, Reduce, SendRecv:
		return 1
	default:
		return 0
	}
}

// Count gives the number of float32 elements that the library is called with
// for a message of bytes, and the bytes that the message then really has. A
// message of blocks, one for each rank, is called with the elements of one
// block, rounded down to 16 bytes; all others with the whole message.
func (op Op) Count(bytes int64, ranks int) (elements int, actual int64, err error) {
	blocks, unit := int64(1), int64(ElementBytes)
	if op.inBlocks() {
		blocks, unit = int64(ranks), blockBytes
	}
	if ranks < 1 || bytes < unit*blocks {
		return 0, 0, fmt.Errorf("%s: a message of %d bytes is too small for %d ranks: at least %d bytes are needed",
			op, bytes, ranks, unit*blocks)
	}
	block := bytes / blocks / unit * unit
	return int(block / ElementBytes), block * blocks, nil
}

// inBlocks reports that the message has one block for each rank.
func (op Op) inBlocks() bool {
	return op == AllGather || op == ReduceScatter || op == AllToAll
}
