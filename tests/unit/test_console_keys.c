#include "test.h"

#include "console/console.h"

#include <errno.h>
#include <string.h>

static struct strata_error err;
static char passed[64];

static const char *type(struct console_keys *keys, const char *typed)
{
	size_t count = console_keys_pass(keys, typed, strlen(typed), passed);

	passed[count] = '\0';
	return passed;
}

TEST(keys_pass_as_they_are)
{
	struct console_keys keys = { .prefix = CONSOLE_KEYS_DEFAULT };

	CHECK_TEXT(type(&keys, "ls -d\x03\x04\x1a\r"), "ls -d\x03\x04\x1a\r");
	CHECK(!keys.held && !keys.detached);
}

TEST(the_prefix_and_d_detach)
{
	struct console_keys keys = { .prefix = CONSOLE_KEYS_DEFAULT };

	CHECK_TEXT(type(&keys, "a\x1d"), "a");
	CHECK(keys.held && !keys.detached);
	CHECK_TEXT(type(&keys, "drm"), "");
	CHECK(keys.detached);
	CHECK_TEXT(type(&keys, "x"), ""); /* there is nobody to type to */
}

TEST(the_prefix_is_not_lost)
{
	struct console_keys keys = { .prefix = CONSOLE_KEYS_DEFAULT };

	CHECK_TEXT(type(&keys, "\x1d\x1d"), "\x1d");
	CHECK_TEXT(type(&keys, "\x1dx"), "\x1dx");
	CHECK_TEXT(type(&keys, "\x1d"), "");
	CHECK_INT(console_keys_release(&keys, passed), 1);
	CHECK_INT(passed[0], 0x1d);
	CHECK_INT(console_keys_release(&keys, passed), 0);
	CHECK_TEXT(type(&keys, "d"), "d");
	CHECK(!keys.detached);
}

TEST(there_may_be_no_prefix)
{
	struct console_keys keys = { 0 };

	CHECK_TEXT(type(&keys, "\x1d"
			       "d"),
		   "\x1d"
		   "d");
	CHECK(!keys.detached);
}

TEST(keys_have_names)
{
	static const struct {
		const char *text;
		char prefix;
	} rows[] = { { "ctrl-]", 0x1d }, { "ctrl-a", 1 }, { "Ctrl-Z", 26 },
		     { "^]", 0x1d },     { "^_", 31 },    { "none", 0 } };
	char prefix;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CHECK_OK(console_keys_parse(rows[i].text, &prefix, &err));
		CHECK_INT(prefix, rows[i].prefix);
	}
	static const char *const wrong[] = {
		"", "d", "ctrl-", "ctrl-ab", "ctrl-1", "^@", "ctrl-é"
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK_ERROR(console_keys_parse(wrong[i], &prefix, &err), -EINVAL,
			    "is no control key; expected ctrl-]");
}
