/*
 * Noise: where the normals of a picture come from, as a kind of classes. Users choose one by the program whose pictures
 * they want to see again: torch on the CPU, torch on CUDA, or numbers that do not depend on the batch.
 *
 * A source is started for a seed and then asked for tensors, one after the other. Its state is plain memory of
 * state_size bytes that belongs to the caller: copy it to save it.
 */
#ifndef STRATA_NOISE_H
#define STRATA_NOISE_H

#include <strata/class.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct strata_noise_class {
	struct strata_class base;
	size_t state_size; /* bytes, aligned for any type */
	/* Called once per seed, before anything else. conf is base.conf_size bytes, filled. */
	void (*start)(const void *conf, uint64_t seed, void *state);
	/* The next tensor: count standard normals, as one call of the program it stands for. */
	void (*normal)(void *state, float *ret_values, size_t count);
	/* The next tensor will be number `tensor` (0 the first) of a source whose tensors all have `count` elements. NULL: it
	 * can only be come to by drawing those before. */
	void (*seek)(void *state, uint64_t tensor, size_t count);
	/* A batch is not one tensor: each member is drawn as if it were alone, with a seed of its own. */
	bool independent;
	/* Rows of an SDE take stretches of the seed's Brownian path in place of tensors (<strata/brownian.h>). */
	bool tree;
};

extern const struct strata_kind strata_noise_kind;

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
