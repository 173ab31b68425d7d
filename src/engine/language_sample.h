/* Choosing a token: greedy, or by chance with a seed. */
#ifndef ENGINE_LANGUAGE_SAMPLE_H
#define ENGINE_LANGUAGE_SAMPLE_H

#include <strata/language.h>
#include <strata/rng.h>

/* The likeliest; the first of equals. NaN is never chosen while there is a number. */
int64_t language_likeliest(const float *logits, size_t count);

/* By chance in [0, 1): pure, the same for the same numbers. -ENOMEM. */
int language_sample(const struct strata_sampling *how, const float *logits, size_t count,
		    double chance, struct strata_arena *arena, int64_t *ret_id,
		    struct strata_error *err);

#endif
