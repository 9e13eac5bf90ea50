/*
 * Does to a plugin what Slurm does, step by step as its arguments say, and prints
 * one line about each step. Options that come first are srun's own, later ones
 * those of the user's program; the plugin may look at both:
 *
 *   context=NAME       local, allocator, remote, slurmd or job_script
 *   step=batch|N       the step's number
 *   env=NAME=VALUE     a variable of the job
 *   arg=TEXT           one more argument of the plugstack.conf line
 *   limit_as=BYTES     RLIMIT_AS
 *   block=N, ignore=N  block or ignore a signal
 *   sigwait            a thread that waits for srun's signals, as srun has one
 *   open               leave a pipe open, as srun does for its shepherd
 *   old_kernel         no close_range, as before Linux 5.9
 *   load=PATH          peek, close and load, as Slurm does
 *   HOOK               call slurm_spank_HOOK, task_init in a forked child
 *   clone=HOOK         the same in a child that shares our memory, as slurmstepd
 *                      does with contain_spank
 *   option=VALUE       call the option's callback; remote_option, fork_option:
 *                      as slurmstepd does; in a forked child; clone_option: in
 *                      one that shares our memory
 *   unload             close it, as Slurm does
 *   report             threads and what each blocks, whether the Go core is mapped,
 *                      the signal mask
 *   environment        the job's variables
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host.h"

static void *plugin;
static int plugstack_count;
static char *plugstack[HOST_MAX];

static _Noreturn void die(const char *what, const char *why)
{
	fprintf(stderr, "loader: %s: %s\n", what, why);
	exit(99);
}

static void set_context(const char *name)
{
	static const char *const names[] = {
		[S_CTX_LOCAL] = "local",   [S_CTX_REMOTE] = "remote",
		[S_CTX_ALLOCATOR] = "allocator", [S_CTX_SLURMD] = "slurmd",
		[S_CTX_JOB_SCRIPT] = "job_script",
	};

	for (int i = S_CTX_LOCAL; i <= S_CTX_JOB_SCRIPT; i++)
		if (strcmp(names[i], name) == 0)
			host.context = (spank_context_t)i;
}

static void set_step(const char *step)
{
	host.step = strcmp(step, "batch") == 0 ? SLURM_BATCH_SCRIPT
					       : (uint32_t)strtoul(step, NULL, 10);
}

static void set_arg(const char *text)
{
	plugstack[plugstack_count++] = strdup(text);
}

static void set_env(const char *var)
{
	host_setenv(strdup(var));
}

static void limit_as(const char *bytes)
{
	const struct rlimit limit = { strtoul(bytes, NULL, 10), RLIM_INFINITY };

	setrlimit(RLIMIT_AS, &limit);
}

static void block(const char *number)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, atoi(number));
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static void ignore(const char *number)
{
	signal(atoi(number), SIG_IGN);
}

static void *wait_for_signals(void *set)
{
	int sig;

	for (;;) {
		sigwait(set, &sig);
		printf("thread got %d\n", sig);
		fflush(stdout);
	}
	return NULL;
}

static void sigwait_thread(const char *unused)
{
	static sigset_t set;
	pthread_t thread;

	(void)unused;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (pthread_create(&thread, NULL, wait_for_signals, &set) != 0)
		die("sigwait", "no thread");
}

static void open_pipe(const char *unused)
{
	int fds[2];

	(void)unused;
	if (pipe(fds) != 0)
		die("pipe", "failed");
}

static void old_kernel(const char *unused)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	(void)unused;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		die("old_kernel", "seccomp is not to be had");
}

static void load(const char *path)
{
	void *peek = dlopen(path, RTLD_LAZY);

	if (peek == NULL)
		die("load", dlerror());
	dlclose(peek);
	plugin = dlopen(path, RTLD_LAZY);
	printf("load %s %s %#x\n", (const char *)dlsym(plugin, "plugin_name"),
	       (const char *)dlsym(plugin, "plugin_type"),
	       *(const uint32_t *)dlsym(plugin, "plugin_version"));
}

static spank_f *hook(const char *name)
{
	char symbol[64];
	spank_f *found;

	snprintf(symbol, sizeof(symbol), "slurm_spank_%s", name);
	found = (spank_f *)dlsym(plugin, symbol);
	if (found == NULL)
		die("no such hook", symbol);
	return found;
}

static void call(const char *name)
{
	host.in_init = strcmp(name, "init") == 0;
	printf("%s %d\n", name, hook(name)((spank_t)&host, plugstack_count, plugstack));
	host.in_init = false;
}

/* Whether a line of a file under /proc/self has this text; copies the lines that begin with it. */
static bool scan(const char *path, const char *text, const char *copy_as)
{
	char line[512];
	bool found = false;
	FILE *file = fopen(path, "r");

	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		if (strstr(line, text) == NULL)
			continue;
		found = true;
		if (copy_as != NULL)
			printf("%s%s", copy_as, line);
	}
	if (file != NULL)
		fclose(file);
	return found;
}

static void report(const char *unused)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *task;
	char path[300];

	(void)unused;
	printf("core %s\n", scan("/proc/self/maps", "/libpreflight.so", NULL) ? "mapped" : "absent");
	printf("front %s\n",
	       scan("/proc/self/maps", "/spank_preflight.so", NULL) ? "mapped" : "absent");
	scan("/proc/self/status", "Threads:", "");
	scan("/proc/self/status", "SigBlk:", "");
	while ((task = readdir(tasks)) != NULL) {
		if (task->d_name[0] == '.' || atoi(task->d_name) == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", task->d_name);
		scan(path, "SigBlk:", "thread ");
	}
	closedir(tasks);
}

static void environment(const char *unused)
{
	(void)unused;
	for (int i = 0; host.env[i] != NULL; i++)
		printf("env %s\n", host.env[i]);
}

static void print_end(const char *name, pid_t child)
{
	int status;

	waitpid(child, &status, 0);
	if (WIFSIGNALED(status))
		printf("%s signal %d\n", name, WTERMSIG(status));
	else
		printf("%s exit %d\n", name, WEXITSTATUS(status));
}

static void task_init(const char *unused)
{
	pid_t child;

	(void)unused;
	fflush(stdout);
	child = fork();
	if (child == 0) {
		printf("task %d\n", getpid());
		fflush(stdout);
		call("task_init");
		report("");
		printf("user code\n");
		fflush(stdout);
		_exit(0);
	}
	print_end("task_init", child);
}

static int callback(const char *value, int remote)
{
	char *copy = strdup(value); /* Slurm's own string is gone after the call */
	int rc = host.options[0].cb(host.options[0].val, copy, remote);

	memset(copy, 'x', strlen(copy));
	free(copy);
	return rc;
}

static void option(const char *value)
{
	printf("option %d\n", callback(value, 0));
}

static void remote_option(const char *value)
{
	printf("remote_option %d\n", callback(value, 1));
}

static void fork_option(const char *value)
{
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		option(value);
		report("");
		fflush(stdout);
		_exit(0);
	}
	print_end("fork_option", child);
}

#define CLONE_STACK_BYTES (256 * 1024)

struct work {
	void (*run)(const char *value);
	const char *value;
};

static int run_work(void *work)
{
	const struct work *w = work;

	w->run(w->value);
	fflush(stdout);
	_exit(0);
}

/* As slurmstepd does since 24.05: another process, our memory and thread-local storage. */
static void in_clone(const char *name, void (*run)(const char *value), const char *value)
{
	struct work work = { run, value };
	char *stack = malloc(CLONE_STACK_BYTES);
	pid_t child;

	fflush(stdout);
	child = clone(run_work, stack + CLONE_STACK_BYTES, CLONE_VM | SIGCHLD, &work);
	if (child < 0)
		die(name, "no clone");
	print_end(name, child);
	free(stack);
}

static void clone_hook(const char *name)
{
	in_clone("clone", call, name);
}

static void clone_option(const char *value)
{
	in_clone("clone_option", option, value);
}

static void unload(const char *unused)
{
	(void)unused;
	printf("unload %d\n", dlclose(plugin));
}

static const struct {
	const char *name;
	void (*run)(const char *value);
} steps[] = {
	{ "context", set_context },
	{ "step", set_step },
	{ "env", set_env },
	{ "arg", set_arg },
	{ "limit_as", limit_as },
	{ "block", block },
	{ "ignore", ignore },
	{ "sigwait", sigwait_thread },
	{ "open", open_pipe },
	{ "old_kernel", old_kernel },
	{ "load", load },
	{ "report", report },
	{ "environment", environment },
	{ "task_init", task_init },
	{ "option", option },
	{ "remote_option", remote_option },
	{ "fork_option", fork_option },
	{ "clone_option", clone_option },
	{ "clone", clone_hook },
	{ "unload", unload },
};

static void step(const char *text)
{
	size_t bytes = strcspn(text, "=");

	if (text[0] == '-')
		return;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (strlen(steps[i].name) == bytes && strncmp(steps[i].name, text, bytes) == 0) {
			steps[i].run(text[bytes] == '=' ? text + bytes + 1 : "");
			return;
		}
	call(text);
}

static void at_exit(void)
{
	printf("atexit\n");
}

int main(int argc, char *argv[])
{
	atexit(at_exit);
	while (optind < argc && argv[optind][0] == '-')
		optind += strchr(argv[optind], '=') == NULL ? 2 : 1;
	for (int i = optind; i < argc; i++) {
		step(argv[i]);
		fflush(stdout);
	}
	return 0;
}
