// Package house holds the rules that keep the tree simple, as tests: which
// package may import which, where C may stand, how long a file may be, and what
// an installation looks like.
package house
