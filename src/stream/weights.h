/* Tensors of weights become layers: what weights.c and weights_graph.c share. */
#ifndef STREAM_WEIGHTS_H
#define STREAM_WEIGHTS_H

#include <strata/stream.h>

/* Tensors, in the order in which layers are to be made of them. */
struct weights_found {
	const char **paths;
	size_t path_count;
	struct strata_weight *tensors;
	uint32_t *file; /* of each tensor */
	size_t tensor_count;
};

/* Sorts tensors into layers by names, which are the tensors' own or others (NULL: their own). Each layer is visited once, in turn.
 * ret_layer_of, which may be NULL: the layer of each tensor that has bytes. */
int weights_make(const struct weights_found *found, const char *const *names, const char *group,
		 struct strata_arena *arena, struct strata_weights *ret_weights,
		 uint32_t *ret_layer_of, struct strata_error *err);

#endif
