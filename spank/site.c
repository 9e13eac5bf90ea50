/*
 * What the administrator wrote behind the plugin's name in plugstack.conf. Go
 * reads it; the front only sees whether it may have to ask Go.
 */
#include <string.h>

#include "front.h"

struct site site;

/* To be called from slurm_spank_init; Slurm keeps the arguments as long as the plugin is loaded. */
void site_remember(int count, char *args[])
{
	site.count = count;
	site.args = args;
}

static bool has(const char *prefix)
{
	for (int i = 0; i < site.count; i++)
		if (strncmp(site.args[i], prefix, strlen(prefix)) == 0)
			return true;
	return false;
}

/*
 * Whether a job may have to be measured that did not ask for it. The YAML file may
 * say so too; `preflight begin` reads it, and ends at once if not.
 */
bool site_may_gate(void)
{
	return has("gate.default=") || has("gate.enforce=") || has("config=");
}

/* Whether a job must stop where its gate breaks before it can say what the site wants. */
bool site_stops_on_error(void)
{
	return has("gate.on_error=fail");
}
