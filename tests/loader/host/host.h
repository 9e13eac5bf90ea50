/*
 * A stand-in for the programs of Slurm that load SPANK plugins. host.c is what a
 * plugin sees of Slurm, loader.c what Slurm does to a plugin.
 */
#ifndef HOST_H
#define HOST_H

#include <stdbool.h>
#include <stdint.h>

#include <slurm/slurm.h>
#include <slurm/spank.h>

#define HOST_MAX 64

/* What Slurm knows of a job and its step. */
struct host {
	spank_context_t context;
	uint32_t job, step, nodes;
	char *env[HOST_MAX]; /* the job's, ends in NULL */
	struct spank_option options[HOST_MAX];
	int option_count;
	bool in_init; /* options may be registered */
};

extern struct host host;

void host_setenv(char *var);

#endif
