/*
 * Running `preflight begin` before the user's program: the gate, later also the
 * restore of a checkpoint. Both starts hand over the same arguments:
 *
 *   HOME/bin/preflight begin --start=batch|srun [--OPTION=VALUE]... -- PLUGSTACK_ARGS...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exitcode.h"
#include "front.h"

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

static bool fill(struct arguments *args, const char *start)
{
	size_t count = 0;

	if (!home_path("bin/preflight", args->program))
		return false;
	args->argv = calloc(FIXED_ARGS + OPTION_COUNT + (size_t)site.count + 2,
			    sizeof(*args->argv));
	if (args->argv == NULL)
		return false;
	snprintf(args->start, sizeof(args->start), "--start=%s", start);
	args->argv[count++] = args->program;
	args->argv[count++] = "begin";
	args->argv[count++] = args->start;
	count = add_options(args, count);
	args->argv[count++] = "--";
	for (int i = 0; i < site.count; i++)
		args->argv[count++] = site.args[i];
	return true;
}

/* Whether a code is one by which the gate itself stops a job. */
static bool is_verdict(int code)
{
	return code == EXITCODE_UNFIT || code == EXITCODE_UNAVAILABLE ||
	       code == EXITCODE_INTERRUPTED || code == EXITCODE_TERMINATED;
}

/*
 * What becomes of the job. A gate that breaks before it has a verdict stops the job
 * of a user who asked for one, and not that of a user who asked for nothing.
 */
static int decide(int code)
{
	bool asked = options_given();

	if (code == EXITCODE_FIT || is_verdict(code) || (asked && code != CHILD_NOT_STARTED))
		return code;
	if (!asked && !site_stops_on_error()) {
		dprintf(STDERR_FILENO,
			"preflight: the gate of this site ended with code %d and no verdict; the "
			"job runs, since it did not ask for one.\n",
			code);
		return EXITCODE_FIT;
	}
	dprintf(STDERR_FILENO, "preflight: the gate ended without a verdict. Exit code %d.\n",
		EXITCODE_UNAVAILABLE);
	return EXITCODE_UNAVAILABLE;
}

static int begin(const char *start, struct environment *env, char *const source[])
{
	struct arguments args = { .argv = NULL };
	char path[SLURM_PATH_BYTES];
	const char *const *vars;
	int code = CHILD_NOT_STARTED;

	home_slurm_path(path);
	environment_set(env, "PATH", path);
	environment_set(env, "SLURM_CONF", getenv("SLURM_CONF"));
	environment_set(env, "SLURMD_NODENAME", getenv("SLURMD_NODENAME"));
	vars = environment_build(env, source);
	if (vars != NULL && fill(&args, start))
		code = child_run(args.argv, vars);
	else
		dprintf(STDERR_FILENO,
			"preflight: cannot start bin/preflight, which was looked for beside the "
			"plugin: the plugin's own file is gone.\n");
	free(args.argv);
	environment_free(env);
	return decide(code);
}

/*
 * Whether this srun was started by `preflight begin` or `preflight gate`, for the
 * measurement itself, which must not be measured. Asked of the kernel: a variable
 * could be set by anybody.
 */
bool begin_is_our_parent(void)
{
	char exe[32], program[PATH_MAX];
	struct stat parent, ours;

	snprintf(exe, sizeof(exe), "/proc/%d/exe", getppid());
	return home_path("bin/preflight", program) && stat(exe, &parent) == 0 &&
	       stat(program, &ours) == 0 && parent.st_dev == ours.st_dev &&
	       parent.st_ino == ours.st_ino;
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

/* In the task that will become the batch script. Returns the exit code; 0: go on. */
int begin_in_batch(spank_t sp)
{
	struct environment env = { .set_count = 0 };
	char **job = NULL;

	if (spank_get_item(sp, S_JOB_ENV, &job) != ESPANK_SUCCESS)
		job = NULL;
	set_number(&env, sp, "SLURM_JOB_ID", S_JOB_ID);
	return begin("batch", &env, job);
}

/*
 * In srun, before it launches anything. The job is the one that srun was told to
 * run in; 0: the one that it has made, and then Slurm knows its number.
 */
int begin_in_srun(spank_t sp, uint32_t job)
{
	struct environment env = { .set_count = 0 };
	char number[16];

	snprintf(number, sizeof(number), "%u", job);
	if (job != 0)
		environment_set(&env, "SLURM_JOB_ID", number);
	else
		set_number(&env, sp, "SLURM_JOB_ID", S_JOB_ID);
	return begin("srun", &env, environ);
}
