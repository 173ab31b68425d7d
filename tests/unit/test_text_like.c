#include "test.h"

#include "core/text.h"

#include <string.h>

TEST(stars_and_question_marks_stand_for_others)
{
	CHECK(text_like("train", "train"));
	CHECK(text_like("train", "tr*"));
	CHECK(text_like("train", "*ain"));
	CHECK(text_like("train", "*"));
	CHECK(text_like("train", "t?a?n"));
	CHECK(text_like("train", "t*a*i*n*"));
	CHECK(text_like("train-7", "train-?"));
	CHECK(text_like("ababab", "*ab"));
	CHECK(text_like("", "*"));
	CHECK(text_like("", ""));
	CHECK(!text_like("train", "trai"));
	CHECK(!text_like("trai", "train"));
	CHECK(!text_like("train", "t?ain?"));
	CHECK(!text_like("train", ""));
	CHECK(!text_like("", "?"));
	CHECK(!text_like("ababa", "*ab"));
}

/* What makes others search for years. */
TEST(many_stars_are_looked_through_at_once)
{
	char text[128], pattern[128];

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (size_t i = 0; i + 3 < sizeof(pattern); i += 2)
		memcpy(pattern + i, "*a", 3);
	CHECK(text_like(text, pattern));
	strcpy(pattern + 120, "*b");
	CHECK(!text_like(text, pattern));
}
