/*
 * The keys that leave a terminal without ending what runs in it: Ctrl-] and then d. Every other key
 * goes on to the program, Ctrl-] too: twice it is one, and what follows within half a second, or
 * nothing, lets it go on as it is, so that no program loses a key.
 */
#include "console/console.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

size_t console_keys_pass(struct console_keys *keys, const char *typed, size_t count,
			 char *ret_passed)
{
	size_t passed = 0;

	for (size_t i = 0; i < count && !keys->detached; i++) {
		char key = typed[i];

		if (keys->held) {
			keys->held = false;
			keys->detached = key == 'd' || key == 'D';
			if (keys->detached)
				break;
			ret_passed[passed++] = keys->prefix;
			if (key == keys->prefix)
				continue;
			ret_passed[passed++] = key;
		} else if (keys->prefix && key == keys->prefix) {
			keys->held = true;
		} else {
			ret_passed[passed++] = key;
		}
	}
	return passed;
}

size_t console_keys_release(struct console_keys *keys, char *ret_passed)
{
	if (!keys->held)
		return 0;
	keys->held = false;
	ret_passed[0] = keys->prefix;
	return 1;
}

int console_keys_parse(const char *text, char *ret_prefix, struct strata_error *err)
{
	const char *key = strncasecmp(text, "ctrl-", 5) == 0 ? text + 5
			  : text[0] == '^'                   ? text + 1
							     : NULL;
	int upper = key && key[0] && !key[1] ? toupper((unsigned char)key[0]) : 0;

	if (strcmp(text, "none") == 0)
		*ret_prefix = 0;
	else if (upper > '@' && upper <= '_')
		*ret_prefix = (char)(upper & 31);
	else
		return strata_fail_at(err, -EINVAL, "detach_key",
				      "'%.40s' is no control key; expected ctrl-] or another of "
				      "ctrl-a to ctrl-z, or none",
				      text);
	return 0;
}
