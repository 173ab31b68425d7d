/*
 * Layers of a model as people write them down, for the stage level:
 *
 *	{"layers": [{"name": "l0", "bytes": 1048576, "compute_us": 250}, …], "order": ["l0", "l1", "l0"]}
 *
 * Without an order each layer is visited once, in turn.
 */
#ifndef FORMATS_MODEL_LAYERS_H
#define FORMATS_MODEL_LAYERS_H

#include <strata/stage.h>

/* All of it in the arena. -EINVAL names what is wrong. */
int model_layers_read(const char *text, size_t length, struct strata_arena *arena,
		      struct strata_stage_model *ret_model, struct strata_error *err);

#endif
