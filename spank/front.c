/*
 * The SPANK plugin of slurm-preflight: every hook that Slurm calls, in C.
 *
 * A gate that fails must end the job, and neither drain a node nor pass silently.
 * A hook's return code cannot do that: -1 from user_init ended a batch job
 * COMPLETED 0:0 and drained the node, and under `optional` every code is ignored.
 * So the job is ended with an exit code of the process itself, which was measured
 * to work on three releases of Slurm, under `required` and `optional` alike.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "exitcode.h"
#include "front.h"

/* Slurm loads only what was built for its own major.minor; packages for others override it. */
#ifdef PREFLIGHT_SLURM_VERSION
#undef SLURM_VERSION_NUMBER
#define SLURM_VERSION_NUMBER PREFLIGHT_SLURM_VERSION
#endif

#pragma GCC visibility push(default)
SPANK_PLUGIN(preflight, 1)
#pragma GCC visibility pop

static bool gates_this_task; /* set in slurmstepd, read in the task that it forks */

static bool has_options(spank_context_t context)
{
	return context == S_CTX_LOCAL || context == S_CTX_ALLOCATOR || context == S_CTX_REMOTE;
}

/* Called once in every process of Slurm, with or without a job. */
int slurm_spank_init(spank_t sp, int ac, char *av[])
{
	if (has_options(spank_context())) {
		door_remember_process();
		site_remember(ac, av);
		options_register(sp);
	}
	return 0;
}

static bool is_batch_step(spank_t sp)
{
	uint32_t step;

	return spank_context() == S_CTX_REMOTE &&
	       spank_get_item(sp, S_JOB_STEPID, &step) == ESPANK_SUCCESS &&
	       step == SLURM_BATCH_SCRIPT;
}

/*
 * Called in slurmstepd before it forks tasks. Nothing may take time here: scancel
 * does not reach a step in user_init, and after a minute the node is drained.
 */
int slurm_spank_user_init(spank_t sp, int ac, char *av[])
{
	(void)ac;
	(void)av;
	if (is_batch_step(sp)) {
		options_adopt(sp);
		gates_this_task = options_given() || options_fault() != NULL || site_may_gate();
	}
	return 0;
}

/*
 * Called in the forked child, already the user, with the job running and its
 * devices confined: the place where a wait is cancelled like any task. _exit,
 * because the handlers and buffers of this process are copies of slurmstepd's.
 */
int slurm_spank_task_init(spank_t sp, int ac, char *av[])
{
	int code;

	(void)ac;
	(void)av;
	if (!gates_this_task)
		return 0;
	if (options_fault() != NULL) {
		dprintf(STDERR_FILENO, "%s. The job stops with exit code %d.\n", options_fault(),
			EXITCODE_USAGE);
		_exit(EXITCODE_USAGE);
	}
	code = begin_in_batch(sp);
	if (code != EXITCODE_FIT)
		_exit(code);
	return 0;
}

static bool gates_this_srun(void)
{
	return options_given() || (site_may_gate() && !begin_is_our_parent());
}

/*
 * Once for each srun. Later releases of Slurm call a hook in a thread for each
 * component of a heterogeneous job; the others wait for the first. exit, because
 * srun's own handlers release the allocation that it made, in 0.2 s.
 */
static int gate_srun(spank_t sp, uint32_t job)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static bool gated;
	int code = EXITCODE_FIT;

	if (spank_context() != S_CTX_LOCAL || !gates_this_srun())
		return 0;
	pthread_mutex_lock(&mutex);
	if (!gated)
		code = begin_in_srun(sp, job);
	if (code != EXITCODE_FIT)
		exit(code);
	gated = true;
	pthread_mutex_unlock(&mutex);
	return 0;
}

/*
 * Called in sbatch, salloc and srun once the options of a component are read. An
 * srun inside a job is gated here, before it makes its step: a step that is made
 * and not launched keeps its nodes until the job ends, scancel or not, and every
 * later srun of the job waits for them (measured).
 */
int slurm_spank_init_post_opt(spank_t sp, int ac, char *av[])
{
	uint32_t job = allocation_of_srun();

	(void)ac;
	(void)av;
	options_end_component();
	return job == 0 ? 0 : gate_srun(sp, job);
}

/* Called in srun alone, between its allocation and its launch. */
int slurm_spank_local_user_init(spank_t sp, int ac, char *av[])
{
	(void)ac;
	(void)av;
	return gate_srun(sp, 0);
}
