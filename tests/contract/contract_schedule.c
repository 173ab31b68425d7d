/* What every schedule must keep: falling levels above 0, the same every time. */
#include "test.h"

#include "core/class.h"

#include "solver/schedule.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRAIN = 1000, STEPS_MAX = 60 };

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static double train[TRAIN];

static struct strata_schedule_range training(void)
{
	for (int t = 0; t < TRAIN; t++) /* about what Stable Diffusion has */
		train[t] = 0.0292 * pow(14.61 / 0.0292, (double)t / (TRAIN - 1));
	return (struct strata_schedule_range){ train[0], train[TRAIN - 1], train, TRAIN };
}

static void each(void (*check)(const struct strata_schedule_class *schedule, const void *conf))
{
	for (const struct strata_class *const *at = strata_schedule_kind.classes; *at; at++) {
		struct strata_schema schema = class_schema(*at);

		strata_arena_init(&arena, &memory, 0);
		void *conf = strata_arena_get(&arena, schema.conf_size);

		CHECK_OK(strata_schema_defaults(&schema, &arena, conf, &err));
		check((const struct strata_schedule_class *)*at, conf);
		strata_arena_fini(&arena);
	}
}

static void falls(const struct strata_schedule_class *schedule, const void *conf)
{
	struct strata_schedule_range range = training();

	for (size_t n = 1; n <= STEPS_MAX; n++) {
		double sigmas[STEPS_MAX + 1], again[STEPS_MAX];

		sigmas[n] = -1;
		CHECK_OK(schedule->fill(conf, &range, n, sigmas, &err));
		CHECK_OK(schedule->fill(conf, &range, n, again, &err));
		CHECK_BYTES(sigmas, again, n * sizeof(double));
		CHECK(sigmas[n] == -1);
		for (size_t i = 0; i < n; i++) {
			CHECK(isfinite(sigmas[i]) && sigmas[i] > 0);
			CHECK(i == 0 || sigmas[i] < sigmas[i - 1]);
			CHECK(sigmas[i] <= range.sigma_max * (1 + 1e-3));
		}
	}
}

TEST(levels_fall_and_stay_above_0)
{
	each(falls);
}

static double level(const char *name, size_t count, size_t i)
{
	struct strata_schedule_range range = training();
	struct strata_registry *registry;
	struct strata_spec spec;
	double sigmas[STEPS_MAX];

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_registry_new(&strata_schedule_kind, &memory, &registry, &err));
	CHECK_OK(strata_spec_read(registry, name, strlen(name), &arena, &spec, &err));
	CHECK_OK(((const struct strata_schedule_class *)spec.cls)
			 ->fill(spec.conf, &range, count, sigmas, &err));
	strata_registry_free(registry);
	strata_arena_fini(&arena);
	return sigmas[i];
}

TEST(levels_lie_where_the_formulas_say)
{
	double low = 0.0292, high = 14.61, middle;

	CHECK_NEAR(level("exponential", 3, 1), sqrt(low * high), 1e-9);
	CHECK_NEAR(level("polyexponential", 3, 1), sqrt(low * high), 1e-9);
	CHECK_NEAR(level("polyexponential:rho=2", 3, 1), low * pow(high / low, 0.25), 1e-9);
	middle = (pow(low, 1 / 7.0) + pow(high, 1 / 7.0)) / 2;
	CHECK_NEAR(level("karras", 3, 1), pow(middle, 7), 1e-9);
	CHECK_NEAR(level("kl_optimal", 3, 1), tan((atan(low) + atan(high)) / 2), 1e-9);
	CHECK_NEAR(level("beta", 3, 1), (low + high) / 2, 1e-9); /* it is symmetric */
	CHECK_NEAR(level("beta:alpha=1:beta=1", 5, 1), low + 0.75 * (high - low), 1e-9);
	/* scipy.stats.beta.ppf(0.75, 0.6, 0.6) */
	CHECK_NEAR((level("beta", 5, 1) - low) / (high - low), 0.8243196, 1e-6);
	CHECK_NEAR(level("normal", 4, 3), low, 1e-9);
	CHECK_NEAR(level("sgm_uniform", 2, 1), (train[499] + train[500]) / 2, 1e-9);
	CHECK_NEAR(level("simple", 4, 1), train[749], 1e-12);
	CHECK_NEAR(level("ddim_uniform", 4, 3), train[1], 1e-12);
	/* Two arcs of five and four points that meet in the middle. */
	CHECK_NEAR(level("bong_tangent", 6, 0), high, 1e-9);
	CHECK_NEAR((level("bong_tangent", 6, 1) - low) / (high - low), 0.928970, 1e-6);
	CHECK_NEAR(level("bong_tangent", 6, 3), (low + high) / 2, 1e-9);
	CHECK_NEAR((level("bong_tangent", 6, 5) - low) / (high - low), 0.056802, 1e-6);
	CHECK_NEAR(level("flux", 4, 0), high, 1e-12);
	CHECK_NEAR(level("flux", 4, 2) / high, 1 / (1 + exp(-1.15)), 1e-9);
	CHECK_NEAR(level("flux:image_seq_len=256", 4, 2) / high, 1 / (1 + exp(-0.5)), 1e-9);
	CHECK_NEAR(level("align_your_steps", 10, 1), 6.475, 1e-9);
	CHECK_NEAR(level("align_your_steps:model=sdxl", 10, 1), 6.315, 1e-9);
	CHECK_NEAR(level("gits", 2, 1), 0.803307, 1e-12);
	CHECK_NEAR(level("gits", 10, 4), 1.08895338, 1e-12);
	CHECK_NEAR(level("gits", 20, 19), 0.09824532, 1e-12);
	CHECK_NEAR(level("gits", 40, 2), 7.49001646, 1e-12);
}

/* The levels that k-diffusion made of the same range. */
static void check_kept(const json_t *one)
{
	const char *name = json_string_value(json_object_get(one, "schedule"));
	const json_t *want = json_object_get(one, "sigmas");
	struct strata_schedule_range range = training();
	size_t count = json_array_size(want) - 1;
	const struct strata_class *const *at = strata_schedule_kind.classes;
	double sigmas[STEPS_MAX];

	while (*at && strcmp((*at)->name, name) != 0)
		at++;
	CHECK(*at && count <= STEPS_MAX);
	range.sigma_min = json_number_value(json_object_get(one, "sigma_min"));
	range.sigma_max = json_number_value(json_object_get(one, "sigma_max"));
	CHECK_OK(schedule_fill((const struct strata_schedule_class *)*at, NULL, &range, count,
			       &arena, sigmas, &err));
	for (size_t i = 0; i < count; i++) {
		double sigma = json_number_value(json_array_get(want, i));

		CHECK_NEAR(sigmas[i], sigma, 2e-6 * sigma);
	}
}

TEST(levels_are_those_of_k_diffusion)
{
	char path[4096];
	size_t size;

	snprintf(path, sizeof(path), "%s/solver/samplers.json", test_data_dir());
	char *text = test_read_file(path, &size);
	json_t *file = json_loads(text, 0, NULL);
	const json_t *cases = json_object_get(file, "cases");

	strata_arena_init(&arena, &memory, 0);
	CHECK(json_array_size(cases) > 10);
	for (size_t i = 0; i < json_array_size(cases); i++)
		check_kept(json_array_get(cases, i));
	strata_arena_fini(&arena);
	json_decref(file);
	free(text);
}

TEST(timesteps_and_sigmas_are_inverse)
{
	struct strata_schedule_range range = training();

	for (double t = 0; t <= 999; t += 1)
		CHECK_NEAR(schedule_timestep(&range, schedule_sigma(&range, t)), t, 2e-4);
	CHECK(schedule_timestep(&range, 1e9) == 999);
	CHECK(schedule_timestep(&range, 0) == 0);
	CHECK(schedule_sigma(&range, 5000) == train[999]);
	CHECK(schedule_sigma(&range, -3) == train[0]);
}

TEST(a_range_that_does_not_fall_is_refused)
{
	struct strata_schedule_range range = training();
	double sigmas[4];

	strata_arena_init(&arena, &memory, 0);
	range.sigma_max = range.sigma_min / 2;
	CHECK_ERROR(schedule_fill(&strata_schedule_karras, NULL, &range, 4, &arena, sigmas, &err),
		    -EINVAL, "falling sigmas above 0");
	range = training();
	range.sigma_min = 0;
	CHECK_ERROR(schedule_fill(&strata_schedule_karras, NULL, &range, 4, &arena, sigmas, &err),
		    -EINVAL, "falling sigmas above 0");
	strata_arena_fini(&arena);
}
