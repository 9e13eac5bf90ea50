// Package exitcode names the exit codes of every program of this project.
//
// The values are those of sysexits.h where it has one, so that a user's own
// tools already know them. spank/front.c includes the same numbers from
// spank/exitcode.h; a test compares the two.
package exitcode

// Exit codes; see design section 2 for who meets which.
const (
	Fit         = 0   // the nodes are fit, or there was nothing to judge
	Usage       = 64  // EX_USAGE: a bad option, refused at submission
	Unavailable = 69  // EX_UNAVAILABLE: the gate could not measure
	Unfit       = 75  // EX_TEMPFAIL: the gate found the nodes unfit
	Config      = 78  // EX_CONFIG: the site's configuration cannot be used
	Interrupted = 130 // cancelled by SIGINT
	Terminated  = 143 // cancelled by SIGTERM
)
