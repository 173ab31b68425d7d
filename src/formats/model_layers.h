/*
 * Layers of a model as people write them down, for the stage level:
 *
 *	{"layers": [{"name": "l0", "bytes": 1048576, "compute_us": 250}, …], "order": ["l0", "l1", "l0"]}
 *
 * Without an order each layer is visited once, in turn. An order whose second half mirrors the first goes forward and then backward.
 */
#ifndef FORMATS_MODEL_LAYERS_H
#define FORMATS_MODEL_LAYERS_H

#include <strata/stage.h>

#include <jansson.h>

/* All of it in the arena. -EINVAL names what is wrong. */
int model_layers_read(const char *text, size_t length, struct strata_arena *arena,
		      struct strata_stage_model *ret_model, struct strata_error *err);
int model_layers_read_json(const json_t *json, struct strata_arena *arena,
			   struct strata_stage_model *ret_model, struct strata_error *err);

/* Sets how many of the visits go backward: half of them when that half mirrors the other. */
void model_layers_find_backward(struct strata_stage_model *model);

#endif
