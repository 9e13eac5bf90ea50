package nccl_test

import (
	"fmt"
	"testing"
)

func TestAllReduceSumsEveryElement(t *testing.T) {
	for _, size := range []int{1, 2, 3, 8} {
		t.Run(fmt.Sprintf("%d ranks", size), func(t *testing.T) {
			ranks := startRanks(t, size)
			connect("world", ranks)
			for _, count := range []int{1, 2, 7, 1023, 262147} {
				all(ranks, "reduce world %d", count)
			}
			all(ranks, "destroy world")
		})
	}
}

func TestTwoCommunicatorsAtOnce(t *testing.T) {
	ranks := startRanks(t, 3)
	connect("first", ranks)
	// Another order, so that the two rings differ.
	connect("second", []*process{ranks[2], ranks[0], ranks[1]})
	all(ranks, "busy first 100003")
	all(ranks, "reduce second 100003")
	all(ranks, "abort first")
	all(ranks, "reduce second 10")
	all(ranks, "destroy second")
}
