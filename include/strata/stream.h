/*
 * Running a model larger than memory: the doing half of the stage level.
 *
 * Weights are files: which bytes of them a layer is, its extents, comes from safetensors headers or from the host program itself.
 */
#ifndef STRATA_STREAM_H
#define STRATA_STREAM_H

#include <strata/error.h>
#include <strata/memory.h>
#include <strata/safetensors.h>
#include <strata/stage.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- weights ---- */

/* Bytes of a file. */
struct strata_extent {
	uint32_t file; /* an index of the files of its model */
	int64_t offset, bytes;
};

struct strata_weights_layer {
	const char *name;
	const struct strata_tensor *tensors;
	const struct strata_extent *extents; /* of each tensor, where it is */
	size_t tensor_count;
	int64_t bytes; /* in memory: whole blocks of the disk, so a little more than the tensors have */
};

/* A model's weights: its files and, of each layer, which bytes of them it is. */
struct strata_weights {
	const char *const *paths;
	size_t path_count;
	const struct strata_weights_layer *layers; /* none without bytes */
	size_t layer_count;
};

/*
 * Reads the headers of a model: of a .safetensors file, of the files that a model.safetensors.index.json names, or of a directory that has
 * either. The weights are not read. group: patterns that say which tensors are one layer, "model.layers.*.mlp, model.layers.*"; NULL: by
 * the number in their names. All of it is in the arena. -ENOENT, -EBADMSG … with the file at fault.
 */
int strata_weights_read(const char *path, const char *group, struct strata_arena *arena,
			struct strata_weights *ret_weights, struct strata_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
