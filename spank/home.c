/*
 * Where our files are: HOME/lib holds this plugin and the core, HOME/bin the
 * programs. HOME is found from the plugin's own path, links resolved, so that an
 * administrator may link the plugin into Slurm's plugin directory and a clone
 * works from wherever it was built.
 *
 * Slurm's commands are where the running program of Slurm is: bin, for which
 * slurmstepd stands in sbin.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "front.h"

/*
 * Fixed, because a PATH of the user's may lead to another srun, or to none. Packages
 * put Slurm's commands there.
 */
#define STANDARD_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

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

/* The PATH of our programs: beside the running program of Slurm first. */
void home_slurm_path(char path[SLURM_PATH_BYTES])
{
	char self[PATH_MAX], parent[PATH_MAX];
	ssize_t bytes = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[bytes < 0 ? 0 : bytes] = '\0';
	if (!cut_last(self) || strchr(self, ':') != NULL) {
		snprintf(path, SLURM_PATH_BYTES, "%s", STANDARD_PATH);
		return;
	}
	memcpy(parent, self, sizeof(parent));
	cut_last(parent);
	snprintf(path, SLURM_PATH_BYTES, "%s:%s/bin:%s", self, parent, STANDARD_PATH);
}
