/*
 * The plugin's command line options. sbatch and salloc know an option only if it
 * is registered in slurm_spank_init (measured: a spank_options table is seen by
 * srun alone), and job_prolog could not ask for it if there were such a table.
 */
#include <stdio.h>
#include <string.h>

#include "front.h"

/* Slurm's name for an option in a job's environment; sbatch and salloc set it. */
#define OPTION_VARIABLE "SLURM_SPANK__SLURM_SPANK_OPTION_preflight_"

struct option options[OPTION_COUNT] = { { .name = "nccl-validate" } };

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

/*
 * Called by Slurm for each use of an option, the last use wins. In slurmstepd a
 * failure would only be logged, 22.05 calls twice, and the value may come from a
 * client that never loaded this plugin: there a bad one is dropped.
 */
static int on_option(int index, const char *value, int remote)
{
	struct option *option = &options[index];
	char sentence[SENTENCE_BYTES];
	bool good = remote ? check_at_sight(option->name, value, sentence)
			   : check_option(option->name, value, sentence);

	if (good) {
		keep(option, value);
		return 0;
	}
	slurm_error("%s", sentence);
	return remote ? 0 : -1;
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
	if (option->value[0] != '\0')
		return;
	if (err == ESPANK_SUCCESS && check_at_sight(option->name, value, sentence))
		keep(option, value);
	else
		slurm_error("preflight: --%s ignored, its value is not a plain text of %d bytes",
			    option->name, OPTION_BYTES_MAX);
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
