/*
 * Starting a program of ours and waiting for it. It gets nothing of its host but
 * the working directory, the output and its process group: neither srun's pipe to
 * its shepherd (which would never see srun's end), nor the signals that srun and
 * slurmstepd block, nor their environment.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exitcode.h"
#include "front.h"

#ifndef SYS_close_range /* headers older than Linux 5.9; the number is the same on every machine */
#define SYS_close_range 436
#endif

static void close_listed(int first)
{
	DIR *list = opendir("/proc/self/fd");
	const struct dirent *entry;

	if (list == NULL)
		return;
	while ((entry = readdir(list)) != NULL) {
		int fd = atoi(entry->d_name);

		if (fd >= first && fd != dirfd(list))
			close(fd);
	}
	closedir(list);
}

static void close_from(int first)
{
	if (syscall(SYS_close_range, first, ~0U, 0) != 0)
		close_listed(first); /* a kernel before 5.9, as on EL 8 */
}

static void default_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void set_streams(int output)
{
	int null = open("/dev/null", O_RDWR);

	if (output != CHILD_INHERITS_OUTPUT) {
		dup2(output, STDOUT_FILENO);
		dup2(output, STDERR_FILENO);
	}
	if (null >= 0)
		dup2(null, STDIN_FILENO);
	close_from(STDERR_FILENO + 1);
}

/*
 * The forked child's side. The death signal ends the program when the process
 * that waits for it is killed, by scancel's SIGKILL or by hand; the parent may
 * have died before it was armed.
 */
static _Noreturn void become(const char *const argv[], const char *const envp[], int output,
			     pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXITCODE_TERMINATED);
	set_streams(output);
	default_signals();
	execve(argv[0], (char *const *)argv, (char *const *)envp);
	dprintf(STDERR_FILENO,
		"preflight: cannot start %s, which was looked for in ../bin of the plugin's "
		"directory: %s.\n",
		argv[0], strerror(errno));
	_exit(CHILD_NOT_STARTED);
}

/*
 * Starts argv[0], an absolute path, its output into a descriptor or the host's
 * own. To be followed by child_wait. Signals are blocked over the fork, so that no
 * handler of the host runs in the child. SIGCHLD gets its default meanwhile: where
 * the user's shell ignored it, the exit code would be lost.
 */
void child_start(struct child *child, const char *const argv[], const char *const envp[],
		 int output)
{
	const struct sigaction reap = { .sa_handler = SIG_DFL };
	sigset_t all, before;
	pid_t self = getpid();

	sigaction(SIGCHLD, &reap, &child->sigchld);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	child->pid = fork();
	if (child->pid == 0)
		become(argv, envp, output, self);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (child->pid < 0)
		dprintf(STDERR_FILENO, "preflight: cannot start %s: %s.\n", argv[0],
			strerror(errno));
}

/* The exit code as a shell would give it. */
static int exit_code(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Waits for the program and returns its exit code. */
int child_wait(struct child *child)
{
	int status = 0;
	pid_t ended = -1;

	while (child->pid > 0 && (ended = waitpid(child->pid, &status, 0)) < 0 && errno == EINTR)
		;
	sigaction(SIGCHLD, &child->sigchld, NULL);
	return ended < 0 ? CHILD_NOT_STARTED : exit_code(status);
}

/* Ends a program that has not answered. */
void child_kill(const struct child *child)
{
	if (child->pid > 0)
		kill(child->pid, SIGKILL);
}

/* The signals that cancel a job, and the one that tells of the program's end. */
static void cancelling(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGHUP);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGQUIT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGCHLD);
}

/*
 * Hands signals on until the program has ended; leaves reaping it to child_wait.
 * There is no deadline: the program has one for each of its phases, and the job its
 * time limit. It looks again now and then, because a thread of the host's that has
 * SIGCHLD open, as Go's have, may get the signal instead.
 */
static void forward_until_end(pid_t pid, const sigset_t *set)
{
	const struct timespec pause = { .tv_nsec = 100 * 1000 * 1000 };
	siginfo_t info = { .si_pid = 0 };

	while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == 0) {
		int sig = sigtimedwait(set, NULL, &pause);

		if (sig > 0 && sig != SIGCHLD)
			kill(pid, sig);
	}
}

/*
 * Runs a program with the host's output, and hands on to it what cancels the job,
 * so that the program's end decides. In the task that stands for the batch script
 * SIGTERM's default would end this process, and slurmstepd would kill the program
 * before it could say a word; some of Slurm's process trackers signal only their
 * own child, which is this process. In srun a thread waits for the same signals,
 * would answer SIGTERM by killing tasks that are not there yet, and go on; Linux
 * prefers the main thread, which is this one. The program may see a signal twice.
 */
int child_run(const char *const argv[], const char *const envp[])
{
	struct child child;
	sigset_t set, before;
	int code;

	cancelling(&set);
	pthread_sigmask(SIG_BLOCK, &set, &before);
	child_start(&child, argv, envp, CHILD_INHERITS_OUTPUT);
	if (child.pid > 0)
		forward_until_end(child.pid, &set);
	code = child_wait(&child);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	/* Its own codes end at 143. A program that was killed cannot say so itself. */
	if (code > 128 && code != EXITCODE_INTERRUPTED && code != EXITCODE_TERMINATED)
		dprintf(STDERR_FILENO, "preflight: %s was killed by signal %d. Exit code %d.\n",
			argv[0], code - 128, code);
	return code;
}
