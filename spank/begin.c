/*
 * Running `preflight begin` before the user's program: the gate, later also the
 * restore of a checkpoint. Both starts hand over the same arguments:
 *
 *   HOME/bin/preflight begin --start=batch|srun --OPTION=VALUE... -- PLUGSTACK_ARGS...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exitcode.h"
#include "front.h"

/*
 * Fixed, because a PATH of the user's may lead to another srun, or to none.
 * Slurm's own directories are where packages put them.
 */
#define HELPER_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

#define FIXED_ARGS 3 /* begin, --start, -- */

/* The arguments of the program, which live as long as this does. */
struct arguments {
	char program[PATH_MAX];
	char start[16];
	char options[OPTION_COUNT][OPTION_BYTES_MAX + SPANK_OPTION_MAXLEN + 4];
	const char **argv;
};

static size_t add_options(struct arguments *args, size_t count)
{
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		if (options[i].value[0] == '\0')
			continue;
		snprintf(args->options[i], sizeof(args->options[i]), "--%s=%s", options[i].name,
			 options[i].value);
		args->argv[count++] = args->options[i];
	}
	return count;
}

static bool fill(struct arguments *args, const char *start, int plugstack_count,
		 char *const *plugstack)
{
	size_t count = 0;

	if (!home_path("bin/preflight", args->program))
		return false;
	args->argv = calloc(FIXED_ARGS + OPTION_COUNT + (size_t)plugstack_count + 2,
			    sizeof(*args->argv));
	if (args->argv == NULL)
		return false;
	snprintf(args->start, sizeof(args->start), "--start=%s", start);
	args->argv[count++] = args->program;
	args->argv[count++] = "begin";
	args->argv[count++] = args->start;
	count = add_options(args, count);
	args->argv[count++] = "--";
	for (int i = 0; i < plugstack_count; i++)
		args->argv[count++] = plugstack[i];
	return true;
}

static int begin(const char *start, struct environment *env, char *const source[],
		 int plugstack_count, char *const *plugstack)
{
	struct arguments args = { .argv = NULL };
	const char *const *vars;
	int code = EXITCODE_UNAVAILABLE;

	environment_set(env, "PATH", HELPER_PATH);
	environment_set(env, "SLURM_CONF", getenv("SLURM_CONF"));
	environment_set(env, "SLURMD_NODENAME", getenv("SLURMD_NODENAME"));
	vars = environment_build(env, source);
	if (vars != NULL && fill(&args, start, plugstack_count, plugstack))
		code = child_run(args.argv, vars);
	else
		dprintf(STDERR_FILENO,
			"preflight: cannot start bin/preflight, which was looked for beside the "
			"plugin: the plugin's own file is gone. Exit code %d.\n",
			code);
	free(args.argv);
	environment_free(env);
	return code;
}

/* In the task that will become the batch script. Returns the exit code; 0: go on. */
int begin_in_batch(spank_t sp, int plugstack_count, char *const *plugstack)
{
	struct environment env = { .set_count = 0 };
	char **job = NULL;

	if (spank_get_item(sp, S_JOB_ENV, &job) != ESPANK_SUCCESS)
		job = NULL;
	return begin("batch", &env, job, plugstack_count, plugstack);
}

static void set_number(struct environment *env, spank_t sp, const char *name, spank_item_t item)
{
	char text[16];
	uint32_t number;

	if (spank_get_item(sp, item, &number) != ESPANK_SUCCESS)
		return;
	snprintf(text, sizeof(text), "%u", number);
	environment_set(env, name, text);
}

/*
 * In srun, which has its allocation and has launched nothing yet. Slurm's own
 * number of the job wins: srun --jobid=7 may be called inside another job.
 */
int begin_in_srun(spank_t sp, int plugstack_count, char *const *plugstack)
{
	struct environment env = { .set_count = 0 };

	set_number(&env, sp, "SLURM_JOB_ID", S_JOB_ID);
	if (getenv("SLURM_JOB_NUM_NODES") == NULL)
		set_number(&env, sp, "SLURM_JOB_NUM_NODES", S_JOB_NNODES);
	return begin("srun", &env, environ, plugstack_count, plugstack);
}
