/* A plug-in as a stranger would write it, against the public headers and libstrata.so: flat "noise" for tests of what
 * uses noise. BREAK_* make the broken ones that must be refused. */
#include <strata/noise.h>
#include <strata/rng.h>

struct flat_conf {
	double value;
};

static const struct strata_option flat_options[] = {
#ifdef BREAK_DEFAULT
	{ "value", STRATA_REAL, offsetof(struct flat_conf, value), .real = { 7, -1, 1 },
	  .help = "the number" },
#else
	{ "value", STRATA_REAL, offsetof(struct flat_conf, value), .real = { 0.5, -1, 1 },
	  .help = "the number" },
#endif
	{ 0 }
};

struct flat_state {
	float value;
};

static void flat_start(const void *conf_any, uint64_t seed, void *state_any)
{
	const struct flat_conf *conf = conf_any;
	struct flat_state *state = state_any;
	struct strata_rng rng;

	strata_rng_init(&rng, seed, 0); /* a call into libstrata */
	state->value = strata_rng_u32(&rng) == 0 && seed == 1 ? 0 : (float)conf->value;
}

static void flat_normal(void *state_any, float *ret_values, size_t count)
{
	const struct flat_state *state = state_any;

	for (size_t i = 0; i < count; i++)
		ret_values[i] = state->value;
}

static const struct strata_noise_class flat = {
	.base = {
#ifdef BREAK_NAME
		.name = "torch",
#else
		.name = "flat",
#endif
		.summary = "the same number again and again",
		.conf_size = sizeof(struct flat_conf),
		.options = flat_options,
	},
	.state_size = sizeof(struct flat_state),
	.start = flat_start,
	.normal = flat_normal,
};

static const struct strata_class *const classes[] = { &flat.base, NULL };

#ifndef BREAK_SYMBOL
const struct strata_plugin strata_plugin = {
#ifdef BREAK_ABI
	.abi = STRATA_ABI + 1,
#else
	.abi = STRATA_ABI,
#endif
#ifdef BREAK_KIND
	.kind = "tractor",
#else
	.kind = "noise",
#endif
	.classes = classes,
};
#else
const struct strata_class *const *strata_no_plugin = classes;
#endif
