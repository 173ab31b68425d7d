#include "test.h"

#include "server/url.h"

#include <string.h>

TEST(escapes_are_told_from_what_is_none)
{
	static const char *const good[] = { "", "/api/v1/jobs", "/a%2Fb?c=%e2%80%ae", "%ff",
					    "%01" };
	static const char *const bad[] = { "%",   "%1",    "a%",   "%zz", "%1g",
					   "%00", "a%00b", "%%41", "%2" };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		CHECK(url_is_well_formed(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!url_is_well_formed(bad[i]));
}

TEST(escapes_are_taken_out_in_place)
{
	static const struct {
		const char *text, *plain;
	} cases[] = {
		{ "abc", "abc" },
		{ "a%2Fb%2f", "a/b/" },
		{ "%41%zz%00%", "A%zz%00%" },
		{ "%e9", "\xe9" },
		{ "", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[32];

		strcpy(text, cases[i].text);
		CHECK_INT(url_unescape(text), strlen(cases[i].plain));
		CHECK_TEXT(text, cases[i].plain);
	}
}
