/*
 * Which tensors are one layer, from their names alone. A layer is what has a number: "model.layers.12.mlp.up.weight" belongs to
 * "model.layers.12", by the first part that is digits. A name without a number stands for a part of the model on its own and keeps all but
 * its last part: "lm_head.weight" belongs to "lm_head".
 *
 * Who knows better says so with patterns, "model.layers.*.mlp, model.layers.*": a tensor belongs to the parts of its name that the first
 * pattern which fits covers, '*' standing for any one part.
 *
 * Layers that differ in their number only are in the order of the numbers, and otherwise in that of their first tensor: files are often
 * sorted by name, which puts 10 before 2.
 */
#ifndef FORMATS_TENSOR_LAYERS_H
#define FORMATS_TENSOR_LAYERS_H

#include <strata/error.h>
#include <strata/memory.h>

struct tensor_layer {
	const char *name;
	const uint32_t *members; /* indices of its tensors, ascending */
	size_t member_count;
};

/* Sorts tensors into layers, none left out. patterns: separated by commas; NULL: by number. All of it in the arena. -EINVAL for a pattern
 * that is none. */
int tensor_layers_make(const char *const *names, size_t name_count, const char *patterns,
		       struct strata_arena *arena, struct tensor_layer **ret_layers,
		       size_t *ret_layer_count, struct strata_error *err);

#endif
