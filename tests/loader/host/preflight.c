/*
 * Stands where bin/preflight does and writes down, into `record` beside itself,
 * how it was started. Then it does what the plugstack arguments ask:
 *
 *   stub.exit=N  stub.kill=N  stub.wait (for a signal; exit 128 + its number)
 *   stub.say=N (prints begun; exit N)
 *
 * As `preflight host PROGRAM ARG...` it runs an srun of its own, and ends with its code.
 *
 * As `preflight validate` it knows one good value, allreduce; mute and hang give
 * no answer, and any other one is refused.
 */
#include <dirent.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void print_list(FILE *out, const char *what, char *const list[])
{
	for (int i = 0; list[i] != NULL; i++)
		fprintf(out, "%s %s\n", what, list[i]);
}

static void print_signals(FILE *out)
{
	char line[256];
	FILE *status = fopen("/proc/self/status", "r");
	int death = 0;

	while (fgets(line, sizeof(line), status) != NULL)
		if (strncmp(line, "SigBlk:", 7) == 0 || strncmp(line, "SigIgn:", 7) == 0)
			fputs(line, out);
	fclose(status);
	prctl(PR_GET_PDEATHSIG, &death);
	fprintf(out, "death signal %d\n", death);
}

static void print_descriptors(FILE *out)
{
	DIR *list = opendir("/proc/self/fd");
	const struct dirent *entry;
	char target[PATH_MAX];
	ssize_t bytes = readlink("/proc/self/fd/0", target, sizeof(target) - 1);

	target[bytes < 0 ? 0 : bytes] = '\0';
	fprintf(out, "stdin %s\n", target);
	while ((entry = readdir(list)) != NULL) {
		int fd = atoi(entry->d_name);

		if (entry->d_name[0] != '.' && fd != dirfd(list) && fd != fileno(out))
			fprintf(out, "fd %d\n", fd);
	}
	closedir(list);
}

/* Written under another name first, so that who waits for it finds it whole. */
static void record(char *argv[])
{
	char path[PATH_MAX], part[PATH_MAX + 8], self[PATH_MAX];
	FILE *out;

	snprintf(self, sizeof(self), "%s", argv[0]);
	snprintf(path, sizeof(path), "%s/record", dirname(self));
	snprintf(part, sizeof(part), "%s.part", path);
	out = fopen(part, "w");
	if (out == NULL)
		exit(98);
	print_list(out, "arg", argv);
	print_list(out, "env", environ);
	print_signals(out);
	print_descriptors(out);
	fprintf(out, "pid %d\n", getpid());
	fclose(out);
	rename(part, path);
}

static int wait_for_signal(void)
{
	sigset_t all;
	int sig = 0;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	printf("waiting\n");
	fflush(stdout);
	sigwait(&all, &sig);
	return 128 + sig;
}

static int validate(const char *option)
{
	const char *value = strchr(option, '=') + 1;

	if (strcmp(value, "allreduce") == 0)
		return 0;
	if (strcmp(value, "mute") == 0)
		return 3;
	if (strcmp(value, "hang") == 0)
		pause();
	fprintf(stderr, "preflight: %s is refused by the program\n", option);
	return 64;
}

static int host(char *argv[])
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		execv(argv[0], argv);
		_exit(97);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 96;
}

int main(int argc, char *argv[])
{
	char action[32];
	int number = 0;

	if (argc > 2 && strcmp(argv[1], "host") == 0)
		return host(argv + 2);
	record(argv);
	if (argc > 2 && strcmp(argv[1], "validate") == 0)
		return validate(argv[2]);
	if (strcmp(argv[argc - 1], "stub.wait") == 0)
		return wait_for_signal();
	if (sscanf(argv[argc - 1], "stub.%31[a-z]=%d", action, &number) != 2)
		return 0;
	if (strcmp(action, "kill") == 0)
		raise(number);
	if (strcmp(action, "say") == 0)
		printf("begun\n");
	return number;
}
