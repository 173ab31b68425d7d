/* Texts that are like a pattern of * and ?, in time that is at most the product of both lengths. */
#include "core/text.h"

bool text_like(const char *text, const char *pattern)
{
	const char *star = NULL,
		   *tried = NULL; /* the last *, and how much of the text it has taken */

	while (*text) {
		if (*pattern == '*') {
			star = pattern++;
			tried = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++tried;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}
