#include "test.h"

#include "core/text.h"

#include <string.h>

TEST(valid_text_is_told_from_broken)
{
	static const char *const good[] = { "", "abc", "é", "日本", "😀", "\xf4\x8f\xbf\xbf" };
	static const char *const bad[] = {
		"\x80", "\xc3",     "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
		"\xff", "\xe2\x82", "a\xc3("
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		CHECK(text_valid(good[i], strlen(good[i])));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!text_valid(bad[i], strlen(bad[i])));
}

TEST(width_is_what_a_screen_shows)
{
	CHECK_INT(text_width("abc", 3), 3);
	CHECK_INT(text_width("é…", 5), 2);
	CHECK_INT(text_width("日本", 6), 4);
	CHECK_INT(text_width("e\xcc\x81", 3), 1);
	CHECK_INT(text_width("\xff\xff", 2), 2);
}

TEST(what_fits_ends_between_characters)
{
	size_t width;

	CHECK_INT(text_fit("日本", 6, 3, &width), 3);
	CHECK_INT(width, 2);
	CHECK_INT(text_fit("éa", 3, 1, &width), 2);
	CHECK_INT(text_fit("ab", 2, 9, &width), 2);
	CHECK_INT(text_fit("ab", 2, 0, &width), 0);
}
