/*
 * Which job srun was told to run in. SPANK does not say it before srun has made
 * its step, so it is read where srun reads it: on its command line, then in its
 * environment. A wrong guess could only come from an option's value that looks
 * like another option.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "front.h"

/* More than anybody's options to srun; the user's program and its arguments come behind them. */
#define COMMAND_LINE_BYTES (128 * 1024)

/* The number that text is; 0 where it is none. */
static uint32_t number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	return text[0] >= '0' && text[0] <= '9' && *end == '\0' && value < NO_VAL ? (uint32_t)value
										    : 0;
}

/* Whether arg is srun's --jobid, which may be abbreviated down to --jobi. */
static bool is_jobid(const char *arg, size_t bytes)
{
	return bytes >= strlen("--jobi") && bytes <= strlen("--jobid") &&
	       strncmp(arg, "--jobid", bytes) == 0;
}

/* What the last --jobid among srun's own options says; NULL without one. */
static const char *last_jobid(char *args, size_t size, int own_count)
{
	const char *found = NULL;
	bool follows = false;
	char *arg = args;

	for (int i = 0; i < own_count && arg < args + size; i++, arg += strlen(arg) + 1) {
		size_t bytes = strcspn(arg, "=");

		if (follows)
			found = arg;
		follows = is_jobid(arg, bytes) && arg[bytes] == '\0';
		if (is_jobid(arg, bytes) && arg[bytes] == '=')
			found = arg + bytes + 1;
	}
	return found;
}

/* Looks at the options alone: getopt has stopped at the user's program. */
static bool on_command_line(uint32_t *job)
{
	char args[COMMAND_LINE_BYTES + 1];
	FILE *file = fopen("/proc/self/cmdline", "r");
	const char *found;
	size_t size;

	if (file == NULL)
		return false;
	size = fread(args, 1, COMMAND_LINE_BYTES, file);
	fclose(file);
	args[size] = '\0';
	found = last_jobid(args, size, optind);
	if (found != NULL)
		*job = number(found);
	return found != NULL;
}

/* The job's number; 0 where srun makes a job of its own, or nothing can be told. */
uint32_t allocation_of_srun(void)
{
	uint32_t job = 0;
	const char *variable = getenv("SLURM_JOB_ID");

	if (spank_context() != S_CTX_LOCAL)
		return 0;
	if (variable == NULL)
		variable = getenv("SLURM_JOBID");
	if (!on_command_line(&job) && variable != NULL)
		job = number(variable);
	return job;
}
