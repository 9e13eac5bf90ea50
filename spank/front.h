/*
 * The parts of the SPANK front and how they fit together:
 *
 *   front.c        the hooks that Slurm calls
 *   allocation.c   which job srun was told to run in
 *   option.c       our command line options: registration, values, transport
 *   check.c        whether an option's value is good, and who decides that
 *   door.c         the one door to Go: libpreflight.so in this process
 *   validate.c     the same check by the program, where Go does not fit
 *   site.c         the administrator's arguments in plugstack.conf
 *   begin.c        running `preflight begin` before the user's program
 *   child.c        starting a program of ours and waiting for it
 *   environment.c  the variables such a program is given
 *   home.c         where our files and Slurm's commands are
 *
 * Go is never entered in slurmstepd, slurmd or any forked child: only a thread
 * that the fork copied would survive there, and a goroutine, a sleep or a garbage
 * collection hung every task and drained the node when it was tried.
 */
#ifndef PREFLIGHT_FRONT_H
#define PREFLIGHT_FRONT_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Slurm looks up what these headers declare; everything else of ours is hidden. */
#pragma GCC visibility push(default)
#include <slurm/slurm.h>
#include <slurm/spank.h>
#pragma GCC visibility pop

/* A longer value is refused: no real one comes near, and it travels in the job's environment. */
#define OPTION_BYTES_MAX 1024

/* Room for one sentence to a person, which may name two paths. */
#define SENTENCE_BYTES (2 * PATH_MAX + 512)

/* One command line option of the plugin, as this process knows it. */
struct option {
	const char *name;
	char value[OPTION_BYTES_MAX + 1]; /* empty: not given */
	char *fault; /* what is wrong with a value that no client of ours saw; NULL: nothing */
};

#define OPTION_COUNT 1
extern struct option options[OPTION_COUNT];

void options_register(spank_t sp);
void options_adopt(spank_t sp);
void options_end_component(void);
bool options_given(void);
const char *options_fault(void);

uint32_t allocation_of_srun(void);

/* Each is true for a good value; otherwise the sentence tells the user what is wrong. */
bool check_at_sight(const char *name, const char *value, char sentence[SENTENCE_BYTES]);
bool check_option(const char *name, const char *value, char sentence[SENTENCE_BYTES]);
bool door_check(const char *name, const char *value, char sentence[SENTENCE_BYTES]);
bool validate_check(const char *name, const char *value, char sentence[SENTENCE_BYTES]);
void door_remember_process(void);
bool door_may_open(void);
bool door_fits(void);

/* The plugin's arguments. */
struct site {
	int count;
	char **args;
};

extern struct site site;

void site_remember(int count, char *args[]);
bool site_may_gate(void);
bool site_stops_on_error(void);

bool begin_is_our_parent(void);
int begin_in_batch(spank_t sp);
int begin_in_srun(spank_t sp, uint32_t job);

/* A program of ours that was started and not yet waited for. */
struct child {
	pid_t pid;
	struct sigaction sigchld; /* the host's, put back by child_wait */
};

#define CHILD_INHERITS_OUTPUT (-1)
#define CHILD_NOT_STARTED 127 /* an exit code, as a shell's; no program of ours has it */

void child_start(struct child *child, const char *const argv[], const char *const envp[],
		 int output);
int child_wait(struct child *child);
void child_kill(const struct child *child);
int child_run(const char *const argv[], const char *const envp[]);

/* The environment of a program of ours, see environment.c. */
#define ENVIRONMENT_SET_MAX 8
struct environment {
	char *set[ENVIRONMENT_SET_MAX]; /* ours: NAME=VALUE, or NAME for none; these win */
	size_t set_count;
	const char **vars; /* all the program gets, ends in NULL */
};

void environment_set(struct environment *env, const char *name, const char *value);
const char *const *environment_build(struct environment *env, char *const source[]);
void environment_free(struct environment *env);

bool home_path(const char *below, char path[PATH_MAX]);

#define SLURM_PATH_BYTES (2 * PATH_MAX + 128)
void home_slurm_path(char path[SLURM_PATH_BYTES]);

#endif
