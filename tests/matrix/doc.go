// Package matrix drives every fault and every pause at every moment of a gate.
// It takes a quarter of an hour: `make matrix` runs it, `make test` does not.
package matrix
