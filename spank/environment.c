/*
 * The environment of our helper. It is built from an allow-list, because the
 * user's own settings (LD_PRELOAD, LD_LIBRARY_PATH, PATH of a container or a
 * module) are meant for the user's program. SLURM_SPANK_* is left out although
 * it begins with SLURM_: it carries our option, and with it the helper's own
 * srun would gate itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front.h"

static const char *const allowed_prefixes[] = { "SLURM_", "NCCL_", "RCCL_", NULL };
static const char *const allowed_names[] = { "HOME", "USER",   "LOGNAME", "LANG",
					     "TERM", "LC_ALL", "TMPDIR",  NULL };

static bool has_prefix(const char *var, const char *prefix)
{
	return strncmp(var, prefix, strlen(prefix)) == 0;
}

static bool has_name(const char *var, const char *name)
{
	return has_prefix(var, name) && var[strlen(name)] == '=';
}

static bool allowed(const char *var)
{
	if (has_prefix(var, "SLURM_SPANK_"))
		return false;
	for (const char *const *prefix = allowed_prefixes; *prefix != NULL; prefix++)
		if (has_prefix(var, *prefix))
			return true;
	for (const char *const *name = allowed_names; *name != NULL; name++)
		if (has_name(var, *name))
			return true;
	return false;
}

static bool overridden(const struct environment *env, const char *var)
{
	size_t name_bytes = strcspn(var, "=");

	for (size_t i = 0; i < env->set_count; i++)
		if (strcspn(env->set[i], "=") == name_bytes &&
		    strncmp(env->set[i], var, name_bytes) == 0)
			return true;
	return false;
}

/* Gives the helper NAME=VALUE, whatever the user's environment says; no value, no variable. */
void environment_set(struct environment *env, const char *name, const char *value)
{
	char *var;

	if (env->set_count == ENVIRONMENT_SET_MAX)
		return;
	if (asprintf(&var, "%s%s%s", name, value == NULL ? "" : "=", value == NULL ? "" : value) >=
	    0)
		env->set[env->set_count++] = var;
}

/* Returns our variables, then the allowed ones of source; NULL when there is no memory. */
const char *const *environment_build(struct environment *env, char *const source[])
{
	size_t source_count = 0, count = 0;

	while (source != NULL && source[source_count] != NULL)
		source_count++;
	env->vars = calloc(env->set_count + source_count + 1, sizeof(*env->vars));
	if (env->vars == NULL)
		return NULL;
	for (size_t i = 0; i < env->set_count; i++)
		if (strchr(env->set[i], '=') != NULL)
			env->vars[count++] = env->set[i];
	for (size_t i = 0; i < source_count; i++)
		if (allowed(source[i]) && !overridden(env, source[i]))
			env->vars[count++] = source[i];
	return env->vars;
}

/* Gives back what the two functions above took. */
void environment_free(struct environment *env)
{
	for (size_t i = 0; i < env->set_count; i++)
		free(env->set[i]);
	free(env->vars);
	*env = (struct environment){ .set_count = 0 };
}
