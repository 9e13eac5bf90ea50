/*
 * The exit codes of the gate, the same numbers as internal/exitcode. The front
 * itself ends only with EXITCODE_UNAVAILABLE, and EXITCODE_USAGE for an option that no
 * client of ours has seen; every other code is the helper's, handed on. A test in tests/loader compares this list with the Go package.
 */
#ifndef PREFLIGHT_EXITCODE_H
#define PREFLIGHT_EXITCODE_H

#define EXITCODE_FIT          0   /* the nodes are fit, or there was nothing to judge */
#define EXITCODE_USAGE        64  /* EX_USAGE: a bad option, refused at submission */
#define EXITCODE_UNAVAILABLE  69  /* EX_UNAVAILABLE: the gate could not measure */
#define EXITCODE_UNFIT        75  /* EX_TEMPFAIL: the gate found the nodes unfit */
#define EXITCODE_CONFIG       78  /* EX_CONFIG: the site's configuration cannot be used */
#define EXITCODE_INTERRUPTED  130 /* cancelled by SIGINT */
#define EXITCODE_TERMINATED   143 /* cancelled by SIGTERM */

#endif
