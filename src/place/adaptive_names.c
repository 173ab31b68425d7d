/* Modes, features and profiles: their names and what they hold. */
#include <strata/adaptive.h>

#include "core/text.h"

#include <errno.h>
#include <string.h>

#define BIT(feature) (1u << STRATA_FEATURE_##feature)

const char *strata_mode_name(enum strata_mode mode)
{
	static const char *const names[STRATA_MODE_COUNT] = {
		[STRATA_MODE_AUTO] = "auto",
		[STRATA_MODE_BASIC] = "basic",
		[STRATA_MODE_SEMANTIC] = "semantic",
		[STRATA_MODE_ADVANCED] = "advanced",
	};

	return (unsigned)mode < STRATA_MODE_COUNT ? names[mode] : "unknown";
}

const char *strata_feature_name(enum strata_feature feature)
{
	static const char *const names[STRATA_FEATURE_COUNT] = {
		[STRATA_FEATURE_COST] = "cost_estimation",
		[STRATA_FEATURE_SEMANTIC] = "semantic_optimization",
		[STRATA_FEATURE_MEMORY] = "memory_optimization",
		[STRATA_FEATURE_ADVANCED] = "advanced_optimization",
		[STRATA_FEATURE_EXPERIMENTAL] = "experimental_optimizations",
	};

	return (unsigned)feature < STRATA_FEATURE_COUNT ? names[feature] : "unknown";
}

int strata_feature_find(const char *name, enum strata_feature *ret_feature,
			struct strata_error *err)
{
	struct text_closest closest;

	text_closest_init(&closest, name, strlen(name));
	for (int i = 0; i < STRATA_FEATURE_COUNT; i++) {
		const char *known = strata_feature_name((enum strata_feature)i);

		if (strcmp(known, name) == 0) {
			*ret_feature = (enum strata_feature)i;
			return 0;
		}
		text_closest_offer(&closest, known);
	}
	return strata_fail(err, -ENOENT, "there is no feature \"%.64s\"%s%s%s", name,
			   closest.best ? "; did you mean " : "", closest.best ? closest.best : "",
			   closest.best ? "?" : "");
}

static const struct strata_profile profiles[] = {
	{ "basic_inference", "costs only: balances load, for simple inference", BIT(COST) },
	{ "diffusion_serving", "denoising and image decoding, phases and memory known",
	  BIT(COST) | BIT(SEMANTIC) | BIT(MEMORY) },
	{ "llm_serving", "language models: KV caches beside their attention, memory by phase",
	  BIT(COST) | BIT(SEMANTIC) | BIT(MEMORY) },
	{ "research_training", "everything, for those who measure what it does",
	  BIT(COST) | BIT(SEMANTIC) | BIT(MEMORY) | BIT(ADVANCED) },
};

const struct strata_profile *strata_profile_at(size_t index)
{
	return index < sizeof(profiles) / sizeof(profiles[0]) ? &profiles[index] : NULL;
}

int strata_profile_find(const char *name, const struct strata_profile **ret_profile,
			struct strata_error *err)
{
	const struct strata_profile *profile;
	struct text_closest closest;

	text_closest_init(&closest, name, strlen(name));
	for (size_t i = 0; (profile = strata_profile_at(i)); i++) {
		if (strcmp(profile->name, name) == 0) {
			*ret_profile = profile;
			return 0;
		}
		text_closest_offer(&closest, profile->name);
	}
	return strata_fail(err, -ENOENT, "there is no profile \"%.64s\"%s%s%s", name,
			   closest.best ? "; did you mean " : "", closest.best ? closest.best : "",
			   closest.best ? "?" : "");
}

const struct strata_profile *strata_profile_recommend(const char *workload)
{
	const struct strata_profile *found = &profiles[0];
	const char *name = strcmp(workload, "llm") == 0 || strcmp(workload, "multimodal") == 0
				   ? "llm_serving"
			   : strcmp(workload, "diffusion") == 0 ? "diffusion_serving"
								: "basic_inference";

	(void)strata_profile_find(name, &found, NULL);
	return found;
}
