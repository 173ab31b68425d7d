#include "test.h"

#include "formats/place_settings.h"

#include <stdio.h>
#include <string.h>

static const struct strata_profile profile = {
	"mine", "for a test", 1u << STRATA_FEATURE_COST | 1u << STRATA_FEATURE_EXPERIMENTAL
};

static void printed(unsigned features, const char *want)
{
	struct strata_memory memory = { 0 };
	struct buf buf;

	buf_init(&buf, &memory, 0);
	place_settings_print(&profile, features, &buf);
	CHECK(place_settings_ours(buf.text, buf.length));
	CHECK_TEXT(strchr(buf.text, '\n') + 1, want);
	CHECK(!place_settings_ours(buf.text, (size_t)(strchr(buf.text, '\n') - buf.text)));
	buf_fini(&buf);
}

TEST(only_what_differs_from_the_profile_is_written)
{
	char want[200];

	printed(profile.features, "profile = mine\n");
	snprintf(want, sizeof(want), "profile = mine\nenable = %s\ndisable = %s\n",
		 strata_feature_name((enum strata_feature)1),
		 strata_feature_name(STRATA_FEATURE_EXPERIMENTAL));
	printed(1u << STRATA_FEATURE_COST | 1u << 1, want);
}

TEST(files_of_others_are_told_apart)
{
	CHECK(!place_settings_ours("", 0));
	CHECK(!place_settings_ours("profile = mine\n", 15));
}
