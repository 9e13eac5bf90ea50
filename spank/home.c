/*
 * Where our files are: HOME/lib holds this plugin and the core, HOME/bin the
 * programs. HOME is found from the plugin's own path, links resolved, so that an
 * administrator may link the plugin into Slurm's plugin directory and a clone
 * works from wherever it was built.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front.h"

static bool cut_last(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash == NULL)
		return false;
	*slash = '\0';
	return true;
}

/* Puts HOME/BELOW into path; false when this plugin cannot be found on disk any more. */
bool home_path(const char *below, char path[PATH_MAX])
{
	Dl_info self;
	char home[PATH_MAX];

	if (dladdr(&options, &self) == 0 || realpath(self.dli_fname, home) == NULL)
		return false;
	if (!cut_last(home) || !cut_last(home))
		return false;
	return snprintf(path, PATH_MAX, "%s/%s", home, below) < PATH_MAX;
}
