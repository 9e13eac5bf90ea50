/*
 * The one door to Go: libpreflight.so is loaded here, and its functions are
 * called nowhere else.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "front.h"

/*
 * The Go runtime reserves 1.6 GB of address space when it starts, and where it
 * cannot it ends the process that loaded it (measured under ulimit -v 800000).
 */
#define ADDRESS_SPACE_MIN (4UL << 30)

typedef char *check_f(const char *name, const char *value, int count, char **args);
typedef void free_f(char *sentence);

static pid_t home_process; /* the process that Slurm loaded us in */

/* To be called from slurm_spank_init. */
void door_remember_process(void)
{
	home_process = getpid();
}

/* Go lives only in srun, sbatch and salloc themselves, never in a fork of them. */
bool door_may_open(void)
{
	spank_context_t context = spank_context();

	return getpid() == home_process &&
	       (context == S_CTX_LOCAL || context == S_CTX_ALLOCATOR);
}

/* Whether the user's limits leave room for Go. */
bool door_fits(void)
{
	struct rlimit space;

	return getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur >= ADDRESS_SPACE_MIN;
}

static bool unusable(const char *name, const char *why, char sentence[SENTENCE_BYTES])
{
	snprintf(sentence, SENTENCE_BYTES,
		 "preflight: --%s cannot be checked: libpreflight.so was looked for beside the "
		 "plugin: %s",
		 name, why);
	return false;
}

static bool ask(void *core, const char *name, const char *value, char sentence[SENTENCE_BYTES])
{
	check_f *check = (check_f *)dlsym(core, "preflight_check_option");
	free_f *release = (free_f *)dlsym(core, "preflight_free");
	char *answer;

	if (check == NULL || release == NULL)
		return unusable(name, "it is of another release", sentence);
	answer = check(name, value, site.count, site.args);
	if (answer == NULL)
		return true;
	snprintf(sentence, SENTENCE_BYTES, "%s", answer);
	release(answer);
	return false;
}

static bool load_and_ask(const char *name, const char *value, char sentence[SENTENCE_BYTES])
{
	char path[PATH_MAX];
	void *core;

	if (!home_path("lib/libpreflight.so", path))
		return unusable(name, "the plugin's own file is gone", sentence);
	core = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (core == NULL)
		return unusable(name, dlerror(), sentence);
	return ask(core, name, value, sentence);
}

/*
 * Loads Go on first use and asks it. Every signal is blocked meanwhile, because
 * the runtime's threads inherit the mask: with signals open they took the SIGINT
 * that srun's own thread waits for, and srun died of it (3 of 3; 0 of 3 this way).
 */
bool door_check(const char *name, const char *value, char sentence[SENTENCE_BYTES])
{
	sigset_t all, before;
	bool good;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	good = load_and_ask(name, value, sentence);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return good;
}
