/* The files of place_settings.h. */
#include "formats/place_settings.h"

#include <string.h>

static const char first_line[] =
	"# written by strata place wizard; strata place --settings reads it\n";

static void add_list(struct buf *buf, const char *key, unsigned features)
{
	const char *comma = "";

	if (!features)
		return;
	buf_printf(buf, "%s = ", key);
	for (int i = 0; i < STRATA_FEATURE_COUNT; i++)
		if (features >> i & 1) {
			buf_printf(buf, "%s%s", comma, strata_feature_name((enum strata_feature)i));
			comma = ",";
		}
	buf_add(buf, "\n");
}

void place_settings_print(const struct strata_profile *profile, unsigned features,
			  struct buf *ret_text)
{
	buf_printf(ret_text, "%sprofile = %s\n", first_line, profile->name);
	add_list(ret_text, "enable", features & ~profile->features);
	add_list(ret_text, "disable", profile->features & ~features);
}

bool place_settings_ours(const char *text, size_t length)
{
	size_t own = sizeof(first_line) - 1;

	return length >= own && memcmp(text, first_line, own) == 0;
}
