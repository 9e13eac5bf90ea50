package collectives

import (
	"time"

	"slurm-preflight/internal/config"
)

// GBps is a bandwidth in 10^9 bytes per second, the unit of nccl-tests.
type GBps = config.GBps

// ElementBytes is the size of one float32, the type that the gate measures with.
const ElementBytes = 4

// Bandwidth gives the algorithm and the bus bandwidth of one operation over
// bytes per rank that took d. The formulas are those of nccl-tests
// (doc/PERFORMANCE.md): for an all-reduce algbw = bytes/time and
// busbw = algbw * 2(n-1)/n. Both are 0 where nothing was measured, and busbw is
// 0 for a single rank, which moves nothing over a link.
func (op Op) Bandwidth(bytes int64, ranks int, d time.Duration) (algbw, busbw GBps) {
	if d <= 0 || ranks < 1 || bytes <= 0 {
		return 0, 0
	}
	algbw = GBps(float64(bytes) / d.Seconds() / 1e9)
	return algbw, algbw * GBps(op.busFactor(ranks))
}

// busFactor relates what the user's program sees (algbw) to what the slowest link carries.
func (op Op) busFactor(ranks int) float64 {
	n := float64(ranks)
	switch op {
	case AllReduce:
		return 2 * (n - 1) / n
	default:
		return 0
	}
}

// Count gives the number of float32 elements per rank for a message of bytes,
// rounded down as nccl-tests does, and the bytes that they really have.
func (op Op) Count(bytes int64) (elements int, actual int64) {
	elements = int(bytes / ElementBytes)
	return elements, int64(elements) * ElementBytes
}
