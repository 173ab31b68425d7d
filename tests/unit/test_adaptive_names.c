/* Names of modes, features and profiles, and what each profile holds. */
#include "test.h"

#include <strata/adaptive.h>

#include <errno.h>
#include <string.h>

static struct strata_error err;

TEST(names_are_those_that_users_know)
{
	enum strata_feature feature;

	CHECK_TEXT(strata_mode_name(STRATA_MODE_AUTO), "auto");
	CHECK_TEXT(strata_mode_name(STRATA_MODE_ADVANCED), "advanced");
	for (int i = 0; i < STRATA_FEATURE_COUNT; i++) {
		CHECK_OK(strata_feature_find(strata_feature_name((enum strata_feature)i), &feature,
					     &err));
		CHECK_INT(feature, i);
	}
	CHECK_ERROR(strata_feature_find("semantic_optimisation", &feature, &err), -ENOENT,
		    "did you mean semantic_optimization?");
}

TEST(profiles_hold_what_they_say)
{
	const struct strata_profile *profile;

	CHECK_OK(strata_profile_find("basic_inference", &profile, &err));
	CHECK_INT(profile->features, 1 << STRATA_FEATURE_COST);
	CHECK_OK(strata_profile_find("llm_serving", &profile, &err));
	CHECK_INT(profile->features, 1 << STRATA_FEATURE_COST | 1 << STRATA_FEATURE_SEMANTIC |
					     1 << STRATA_FEATURE_MEMORY);
	CHECK_OK(strata_profile_find("research_training", &profile, &err));
	CHECK(profile->features >> STRATA_FEATURE_ADVANCED & 1);
	CHECK_ERROR(strata_profile_find("llm_servin", &profile, &err), -ENOENT,
		    "did you mean llm_serving?");
	CHECK_TEXT(strata_profile_recommend("llm")->name, "llm_serving");
	CHECK_TEXT(strata_profile_recommend("diffusion")->name, "diffusion_serving");
	CHECK_TEXT(strata_profile_recommend("other")->name, "basic_inference");
	for (size_t i = 0; (profile = strata_profile_at(i)); i++)
		CHECK(profile->features & 1 && *profile->summary);
}
