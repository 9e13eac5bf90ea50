// Package collectives holds what the gate knows about collective operations:
// their names, their arithmetic, the grammar of --nccl-validate and the
// judgement of a measurement. It is pure Go and starts nothing.
package collectives

import "strings"

// Op is a collective operation, spelled as users spell it in --nccl-validate.
type Op string

// The operations, named and defined as in nccl-tests. The root is rank 0.
const (
	AllReduce     Op = "allreduce"     // the sum over all ranks, delivered to all
	AllGather     Op = "allgather"     // the blocks of all ranks, delivered to all
	ReduceScatter Op = "reducescatter" // the sum over all ranks, one block of it delivered to each
	AllToAll      Op = "alltoall"      // a block from every rank to every rank
	Broadcast     Op = "broadcast"     // the root's message, delivered to all
	Reduce        Op = "reduce"        // the sum over all ranks, delivered to the root
	SendRecv      Op = "sendrecv"      // a ring: to the next rank, from the one before
)

// Ops lists every operation that the gate can measure, in the order of its documentation.
var Ops = []Op{AllReduce, AllGather, ReduceScatter, AllToAll, Broadcast, Reduce, SendRecv}

// ParseOp reads an operation's name. The spelling of nccl-tests (all_reduce),
// underscores between other words (all_to_all) and any case are accepted.
func ParseOp(name string) (Op, bool) {
	canonical := Op(strings.ReplaceAll(strings.ToLower(name), "_", ""))
	for _, op := range Ops {
		if op == canonical {
			return op, true
		}
	}
	return "", false
}
