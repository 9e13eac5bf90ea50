/*
 * The plugin's command line options. sbatch and salloc know an option only if it
 * is registered in slurm_spank_init (measured: a spank_options table is seen by
 * srun alone), and job_prolog could not ask for it if there were such a table.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front.h"

/* Slurm's name for an option in a job's environment; sbatch and salloc set it. */
#define OPTION_VARIABLE "SLURM_SPANK__SLURM_SPANK_OPTION_preflight_"

struct option options[OPTION_COUNT] = { { .name = "nccl-validate" } };

static int components_read; /* in sbatch, salloc and srun */

static int on_option(int index, const char *value, int remote);

static struct spank_option registered[OPTION_COUNT] = {
	{
		.name = "nccl-validate",
		.arginfo = "SPEC",
		.usage = "[preflight] measure collectives on the job's nodes before it starts, "
			 "and stop it where they are too slow, e.g. "
			 "allreduce,alltoall,min=400 "
			 "(or `off')",
		.has_arg = 1,
		.val = 0,
		.cb = on_option,
	},
};

/* Makes the options known to srun, sbatch, salloc and slurmstepd. */
void options_register(spank_t sp)
{
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		spank_err_t err = spank_option_register(sp, &registered[i]);

		if (err != ESPANK_SUCCESS)
			slurm_error("preflight: cannot register --%s: %s", registered[i].name,
				    spank_strerror(err));
	}
}

/* Keeps a copy: Slurm frees the value after the callback. */
static void keep(struct option *option, const char *value)
{
	snprintf(option->value, sizeof(option->value), "%s", value);
}

static void blame(struct option *option, const char *sentence)
{
	free(option->fault);
	option->fault = strdup(sentence);
}

/*
 * Called by sbatch, salloc and srun when the options of one component of a
 * heterogeneous job have been read; a plain job is one component.
 */
void options_end_component(void)
{
	components_read++;
}

/*
 * The first component of a heterogeneous job has the only batch step, and Slurm
 * gives that step no other component's options (measured): an option there would
 * be accepted and never seen. sbatch calls again for each component with what
 * the first one was given.
 */
static bool fits_components(const struct option *option, const char *value,
			    char sentence[SENTENCE_BYTES])
{
	if (components_read == 0 || strcmp(option->value, value) == 0)
		return true;
	snprintf(sentence, SENTENCE_BYTES,
		 "preflight: --%s=%s cannot be given to component %d of a heterogeneous job alone: give it "
		 "to component 0, it then holds for every component",
		 option->name, value, components_read);
	return false;
}

/*
 * Called by Slurm for each use of an option, the last use wins. In slurmstepd a
 * failure would only be logged, 22.05 calls twice, and the value may come from a
 * client that never loaded this plugin: a bad one ends the batch task later.
 */
static int on_option(int index, const char *value, int remote)
{
	struct option *option = &options[index];
	char sentence[SENTENCE_BYTES];
	bool good = remote ? check_at_sight(option->name, value, sentence)
			   : check_option(option->name, value, sentence) &&
				     fits_components(option, value, sentence);

	if (good) {
		keep(option, value);
		return 0;
	}
	slurm_error("%s", sentence);
	if (!remote)
		return -1;
	blame(option, sentence);
	return 0;
}

static void variable_name(const struct option *option, char *name, size_t size)
{
	snprintf(name, size, "%s%s", OPTION_VARIABLE, option->name);
	for (char *c = name; *c != '\0'; c++)
		if (*c == '-')
			*c = '_';
}

static void adopt(spank_t sp, struct option *option)
{
	char variable[sizeof(OPTION_VARIABLE) + SPANK_OPTION_MAXLEN];
	char value[OPTION_BYTES_MAX + 1], sentence[SENTENCE_BYTES];
	spank_err_t err;

	variable_name(option, variable, sizeof(variable));
	err = spank_getenv(sp, variable, value, sizeof(value));
	if (err == ESPANK_ENV_NOEXIST)
		return;
	spank_unsetenv(sp, variable);
	if (option->value[0] != '\0' || (err == ESPANK_SUCCESS && value[0] == '\0'))
		return;
	if (err != ESPANK_SUCCESS)
		snprintf(sentence, sizeof(sentence),
			 "preflight: the value of --%s has more than the %d bytes that are allowed",
			 option->name, OPTION_BYTES_MAX);
	if (err == ESPANK_SUCCESS && check_at_sight(option->name, value, sentence))
		keep(option, value);
	else
		blame(option, sentence);
}

/*
 * For the batch step alone: takes the options out of the job's environment, where
 * sbatch left them for every srun inside the script (measured on three releases),
 * so that the job is gated once and its steps are not. On 22.05 with
 * --export=NONE this is also the only place where the batch step finds them.
 */
void options_adopt(spank_t sp)
{
	for (size_t i = 0; i < OPTION_COUNT; i++)
		adopt(sp, &options[i]);
}

/* Says whether the job uses any of our options. */
bool options_given(void)
{
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (options[i].value[0] != '\0')
			return true;
	return false;
}

/* What is wrong with an option that reached the batch step; NULL when nothing is. */
const char *options_fault(void)
{
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (options[i].value[0] == '\0' && options[i].fault != NULL)
			return options[i].fault;
	return NULL;
}
