package rank

import "slurm-preflight/collectives"

// root is the root of a broadcast and a reduction, as in nccl-tests.
const root = 0

// layout is what one rank's buffers hold in an operation.
type layout struct {
	send stretch
	// recv is what must have been received, one stretch after the other.
	recv []stretch
	// room is the number of elements of the receive buffer.
	room int
}

// place is one rank's part in an operation that the library is called with count elements for.
type place struct {
	op                 collectives.Op
	count, ranks, rank int
}

// layout lays out the operation's buffers. Ranks send data that depends on the
// rank and on the position in its buffer, so that a block that came from or
// went to a wrong place is seen.
func (p place) layout() layout {
	switch p.op {
	case collectives.AllReduce:
		return layout{send: p.summand(p.count), recv: []stretch{p.sum(0)}, room: p.count}
	case collectives.ReduceScatter:
		return layout{send: p.summand(p.count * p.ranks), recv: []stretch{p.sum(p.rank * p.count)}, room: p.count}
	case collectives.Reduce:
		l := layout{send: p.summand(p.count), room: p.count}
		if p.rank == root {
			l.recv = []stretch{p.sum(0)}
		}
		return l
	case collectives.AllGather:
		return layout{send: p.from(p.rank, 0, p.count), recv: p.fromAll(0), room: p.count * p.ranks}
	case collectives.AllToAll:
		all := p.count * p.ranks
		return layout{send: p.from(p.rank, 0, all), recv: p.fromAll(p.rank * p.count), room: all}
	case collectives.Broadcast:
		return layout{send: p.from(p.rank, 0, p.count), recv: []stretch{p.from(root, 0, p.count)}, room: p.count}
	case collectives.SendRecv:
		return layout{send: p.from(p.rank, 0, p.count), recv: []stretch{p.from(p.previous(), 0, p.count)}, room: p.count}
	default:
		return layout{}
	}
}

func (p place) next() int     { return (p.rank + 1) % p.ranks }
func (p place) previous() int { return (p.rank + p.ranks - 1) % p.ranks }

// summand is what this rank brings to a sum.
func (p place) summand(count int) stretch {
	return stretch{count: count, factor: 1, offset: p.rank % rankValues}
}

// sum is the block of the sum over all ranks that begins at first.
func (p place) sum(first int) stretch {
	return stretch{count: p.count, first: first, factor: p.ranks, offset: rankSum(p.ranks)}
}

// from is what a rank sends that nobody adds to anything, so that each rank can have values of its own.
func (p place) from(rank, first, count int) stretch {
	return stretch{count: count, first: first, factor: 1, offset: rank * patternValues}
}

// fromAll is the block from the same place of every rank's buffer.
func (p place) fromAll(first int) []stretch {
	blocks := make([]stretch, p.ranks)
	for rank := range blocks {
		blocks[rank] = p.from(rank, first, p.count)
	}
	return blocks
}
