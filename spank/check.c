/*
 * Whether an option's value is good. What can be seen at once is checked here;
 * the grammar is known to Go alone.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "front.h"

/* Where the first control character of value is; its length when there is none. */
static size_t first_control(const char *value)
{
	size_t at = 0;

	while (value[at] != '\0' && !iscntrl((unsigned char)value[at]))
		at++;
	return at;
}

/* Refuses what no option of ours can be: in every process, also where Go must not run. */
bool check_at_sight(const char *name, const char *value, char sentence[SENTENCE_BYTES])
{
	size_t bytes = value == NULL ? 0 : strlen(value);
	size_t control;

	if (bytes == 0) {
		snprintf(sentence, SENTENCE_BYTES, "preflight: --%s needs a value", name);
		return false;
	}
	if (bytes > OPTION_BYTES_MAX) {
		snprintf(sentence, SENTENCE_BYTES,
			 "preflight: the value of --%s has %zu bytes, at most %d are allowed", name,
			 bytes, OPTION_BYTES_MAX);
		return false;
	}
	control = first_control(value);
	if (control < bytes) {
		snprintf(sentence, SENTENCE_BYTES,
			 "preflight: the value of --%s has a control character (0x%02x) as byte %zu",
			 name, (unsigned char)value[control], control + 1);
		return false;
	}
	return true;
}

/* The whole check, for srun, sbatch and salloc. */
bool check_option(const char *name, const char *value, char sentence[SENTENCE_BYTES])
{
	if (!check_at_sight(name, value, sentence))
		return false;
	if (!door_may_open())
		return true; /* preflight begin checks again, in a process of its own */
	return door_fits() ? door_check(name, value, sentence)
			   : validate_check(name, value, sentence);
}
