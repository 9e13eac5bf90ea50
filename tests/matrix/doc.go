// Package matrix drives every fault at every moment.
package matrix
