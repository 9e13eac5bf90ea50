/*
 * The check by `preflight validate`, for a process whose limits leave no room for
 * Go: a program of its own fails softly. It exits 0 for a good value; otherwise
 * what it prints is the sentence for the user.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "front.h"

/* The check takes 8 ms; a file system that hangs must not hang sbatch for ever. */
#define DEADLINE_MS 5000

static int milliseconds_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int)((now.tv_sec - start->tv_sec) * 1000 + (now.tv_nsec - start->tv_nsec) / 1000000);
}

/* Waits until there is something to read or the other end is closed; false after the deadline. */
static bool wait_readable(int fd, const struct timespec *start)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	int n;

	do {
		int left = DEADLINE_MS - milliseconds_since(start);

		n = left > 0 ? poll(&ready, 1, left) : 0;
	} while (n < 0 && errno == EINTR);
	return n != 0;
}

/* Reads until the program closes its output or the sentence is full; false after the deadline. */
static bool read_sentence(int fd, char sentence[SENTENCE_BYTES])
{
	struct timespec start;
	size_t have = 0;
	ssize_t got = 1;

	clock_gettime(CLOCK_MONOTONIC, &start);
	while (got > 0 && have < SENTENCE_BYTES - 1) {
		if (!wait_readable(fd, &start))
			return false;
		got = read(fd, sentence + have, SENTENCE_BYTES - 1 - have);
		have += got > 0 ? (size_t)got : 0;
	}
	while (have > 0 && isspace((unsigned char)sentence[have - 1]))
		have--;
	sentence[have] = '\0';
	return true;
}

/* Runs the program; whatever is still running after its sentence or the deadline is killed. */
static bool run(const char *const argv[], const char *const envp[], int output[2],
		char sentence[SENTENCE_BYTES])
{
	struct child child;
	bool in_time;
	int code;

	child_start(&child, argv, envp, output[1]);
	close(output[1]);
	in_time = read_sentence(output[0], sentence);
	close(output[0]);
	if (!in_time)
		child_kill(&child);
	code = child_wait(&child);
	if (!in_time)
		snprintf(sentence, SENTENCE_BYTES, "preflight: %s gave no answer in %d s", argv[0],
			 DEADLINE_MS / 1000);
	else if (code != 0 && sentence[0] == '\0')
		snprintf(sentence, SENTENCE_BYTES, "preflight: %s ended with code %d", argv[0],
			 code);
	return in_time && code == 0;
}

static bool run_in(struct environment *env, const char *const argv[],
		   char sentence[SENTENCE_BYTES])
{
	const char *const *vars = environment_build(env, environ);
	int output[2];

	if (vars == NULL || pipe2(output, O_CLOEXEC) != 0) {
		snprintf(sentence, SENTENCE_BYTES, "preflight: cannot start %s: %s", argv[0],
			 strerror(errno));
		return false;
	}
	return run(argv, vars, output, sentence);
}

#define FIXED_ARGS 4 /* the program, validate, the option, -- */

/* Whether `preflight validate --NAME=VALUE -- ARGS...` calls the value good. */
bool validate_check(const char *name, const char *value, char sentence[SENTENCE_BYTES])
{
	char program[PATH_MAX], option[OPTION_BYTES_MAX + SPANK_OPTION_MAXLEN + 4];
	const char *argv[FIXED_ARGS + site.count + 1];
	struct environment env = { .set_count = 0 };
	bool good;

	if (!home_path("bin/preflight", program)) {
		snprintf(sentence, SENTENCE_BYTES,
			 "preflight: --%s cannot be checked: the plugin's own file is gone", name);
		return false;
	}
	snprintf(option, sizeof(option), "--%s=%s", name, value);
	argv[0] = program;
	argv[1] = "validate";
	argv[2] = option;
	argv[3] = "--";
	for (int i = 0; i < site.count; i++)
		argv[FIXED_ARGS + i] = site.args[i];
	argv[FIXED_ARGS + site.count] = NULL;
	good = run_in(&env, argv, sentence);
	environment_free(&env);
	return good;
}
