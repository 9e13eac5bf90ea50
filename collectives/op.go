// Package collectives holds what the gate knows about collective operations:
// their names, their arithmetic, the grammar of --nccl-validate and the
// judgement of a measurement. It is pure Go and starts nothing.
package collectives

import "strings"

// Op is a collective operation, spelled as users spell it in --nccl-validate.
type Op string

// AllReduce is the sum over all ranks, delivered to all ranks.
const AllReduce Op = "allreduce"

// Ops lists every operation that the gate can measure, in the order of its documentation.
var Ops = []Op{AllReduce}

// ParseOp reads an operation's name. The spelling of nccl-tests (all_reduce)
// and any case are accepted.
func ParseOp(name string) (Op, bool) {
	canonical := Op(strings.ReplaceAll(strings.ToLower(name), "_", ""))
	for _, op := range Ops {
		if op == canonical {
			return op, true
		}
	}
	return "", false
}
