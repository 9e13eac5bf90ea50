// Package matrix drives every fault and every pause at every moment of a gate.
// It takes minutes: `make matrix` runs it, `make test` does not.
package matrix
