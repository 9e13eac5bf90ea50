/* The functions of Slurm that the plugin calls, over the state in `host`. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host.h"

struct host host = { .job = 12, .nodes = 4 };

static void say(const char *level, const char *format, va_list args)
{
	fprintf(stderr, "loader: %s", level);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	fflush(stderr);
}

void slurm_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("error: ", format, args);
	va_end(args);
}

const char *spank_strerror(spank_err_t err)
{
	return err == ESPANK_SUCCESS ? "Success" : "Failure";
}

spank_context_t spank_context(void)
{
	return host.context;
}

spank_err_t spank_option_register(spank_t sp, struct spank_option *opt)
{
	(void)sp;
	if (!host.in_init || opt->name == NULL || opt->usage == NULL)
		return ESPANK_BAD_ARG;
	host.options[host.option_count++] = *opt;
	return ESPANK_SUCCESS;
}

static spank_err_t put(uint32_t *to, uint32_t value, bool available)
{
	if (!available)
		return ESPANK_NOT_AVAIL;
	*to = value;
	return ESPANK_SUCCESS;
}

spank_err_t spank_get_item(spank_t sp, spank_item_t item, ...)
{
	bool remote = host.context == S_CTX_REMOTE;
	bool job = remote || host.context == S_CTX_LOCAL;
	spank_err_t err = ESPANK_BAD_ARG;
	va_list args;

	(void)sp;
	va_start(args, item);
	if (item == S_JOB_ID)
		err = put(va_arg(args, uint32_t *), host.job, job);
	else if (item == S_JOB_STEPID)
		err = put(va_arg(args, uint32_t *), host.step, job);
	else if (item == S_JOB_NNODES)
		err = put(va_arg(args, uint32_t *), host.nodes, job);
	else if (item == S_JOB_ENV && remote) {
		*va_arg(args, char ***) = host.env;
		err = ESPANK_SUCCESS;
	}
	va_end(args);
	return err;
}

/* The place of a variable in the job's environment, or the end. */
static int place(const char *name, size_t bytes)
{
	int at = 0;

	while (host.env[at] != NULL &&
	       (strncmp(host.env[at], name, bytes) != 0 || host.env[at][bytes] != '='))
		at++;
	return at;
}

void host_setenv(char *var)
{
	host.env[place(var, strcspn(var, "="))] = var;
}

spank_err_t spank_getenv(spank_t sp, const char *name, char *buf, int len)
{
	const char *var = host.env[place(name, strlen(name))];

	(void)sp;
	if (host.context != S_CTX_REMOTE)
		return ESPANK_NOT_REMOTE;
	if (var == NULL)
		return ESPANK_ENV_NOEXIST;
	return snprintf(buf, (size_t)len, "%s", var + strlen(name) + 1) < len ? ESPANK_SUCCESS
									     : ESPANK_NOSPACE;
}

spank_err_t spank_unsetenv(spank_t sp, const char *name)
{
	(void)sp;
	if (host.context != S_CTX_REMOTE)
		return ESPANK_NOT_REMOTE;
	for (int at = place(name, strlen(name)); host.env[at] != NULL; at++)
		host.env[at] = host.env[at + 1];
	return ESPANK_SUCCESS;
}
