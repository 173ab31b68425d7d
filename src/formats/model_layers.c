/* The document of model_layers.h, by an option table. */
#include "formats/model_layers.h"

#include "core/map.h"
#include "core/option.h"

#include <strata/limits.h>
#include <strata/option.h>

#include <errno.h>
#include <string.h>

struct layer_conf {
	const char *name;
	int64_t bytes;
	double compute_us;
};

static const struct strata_option layer_options[] = {
	{ "name", STRATA_TEXT, offsetof(struct layer_conf, name),
	  .text = { NULL, STRATA_NAME_BYTES_MAX }, .flags = STRATA_OPAQUE | STRATA_REQUIRED,
	  .help = "of the layer" },
	{ "bytes", STRATA_BYTES, offsetof(struct layer_conf, bytes),
	  .integer = { 0, 1, INT64_C(1) << 50 }, .flags = STRATA_REQUIRED,
	  .help = "of its parameters" },
	{ "compute_us", STRATA_REAL, offsetof(struct layer_conf, compute_us),
	  .real = { 0, 0, 1e12 }, .help = "of one visit" },
	{ 0 }
};
static const struct strata_schema layer_schema = { "layer", NULL, sizeof(struct layer_conf),
						   layer_options };

struct layers_conf {
	struct strata_list layers, order;
};

static const struct strata_option layer_item = { .type = STRATA_TABLE, .table = &layer_schema };
static const struct strata_option name_item = { .type = STRATA_TEXT, .flags = STRATA_OPAQUE };
static const struct strata_option layers_options[] = {
	{ "layers", STRATA_LIST, offsetof(struct layers_conf, layers),
	  .list = { &layer_item, STRATA_STAGE_VISITS_MAX }, .flags = STRATA_REQUIRED,
	  .help = "of the model" },
	{ "order", STRATA_LIST, offsetof(struct layers_conf, order),
	  .list = { &name_item, STRATA_STAGE_VISITS_MAX },
	  .help = "of visits in one step; each layer once when left out" },
	{ 0 }
};
static const struct strata_schema layers_schema = { "model", NULL, sizeof(struct layers_conf),
						    layers_options };

static int read_order(const struct layers_conf *conf, struct strata_arena *arena,
		      struct strata_stage_model *model, struct strata_error *err)
{
	const struct layer_conf *layers = conf->layers.items;
	const char *const *names = conf->order.items;
	uint32_t *order = strata_arena_array(arena, conf->order.count, sizeof(*order));
	struct map_text known;
	int rc = order ? 0 : strata_fail_memory(err);

	map_text_init(&known, arena->memory);
	for (size_t i = 0; rc == 0 && i < conf->layers.count; i++)
		if (map_text_get(&known, layers[i].name, strlen(layers[i].name)))
			rc = strata_fail_at(err, -EINVAL, "layers", "there are two layers '%.64s'",
					    layers[i].name);
		else if (map_text_put(&known, layers[i].name, strlen(layers[i].name),
				      (void *)&layers[i], NULL))
			rc = strata_fail_memory(err);
	for (size_t v = 0; rc == 0 && v < conf->order.count; v++) {
		const struct layer_conf *layer = map_text_get(&known, names[v], strlen(names[v]));

		if (layer)
			order[v] = (uint32_t)(layer - layers);
		else
			rc = strata_fail_at(err, -EINVAL, "order", "there is no layer '%.64s'",
					    names[v]);
	}
	map_text_fini(&known);
	model->order = order;
	model->visit_count = conf->order.count;
	return rc;
}

void model_layers_find_backward(struct strata_stage_model *model)
{
	size_t half = model->visit_count / 2, at = 0;

	while (model->order && at < half &&
	       model->order[at] == model->order[model->visit_count - 1 - at])
		at++;
	bool mirrors = model->visit_count == 2 * half && half > 1 && at == half;

	model->backward_count = mirrors ? half : 0;
}

int model_layers_read_json(const json_t *json, struct strata_arena *arena,
			   struct strata_stage_model *ret_model, struct strata_error *err)
{
	struct layers_conf conf;
	int rc = strata_schema_defaults(&layers_schema, arena, &conf, err);

	if (rc == 0)
		rc = option_read_json(&layers_schema, json, 0, arena, &conf, err);
	if (rc)
		return rc;
	const struct layer_conf *from = conf.layers.items;
	struct strata_stage_layer *layers =
		strata_arena_array(arena, conf.layers.count, sizeof(*layers));
	struct strata_stage_model model = { .layers = layers,
					    .layer_count = conf.layers.count,
					    .visit_count = conf.layers.count };

	if (!layers)
		return strata_fail_memory(err);
	for (size_t i = 0; i < conf.layers.count; i++)
		layers[i] = (struct strata_stage_layer){ from[i].name, from[i].bytes,
							 (int64_t)(from[i].compute_us * 1000) };
	if (conf.order.count)
		rc = read_order(&conf, arena, &model, err);
	if (rc)
		return rc;
	model_layers_find_backward(&model);
	*ret_model = model;
	return 0;
}

int model_layers_read(const char *text, size_t length, struct strata_arena *arena,
		      struct strata_stage_model *ret_model, struct strata_error *err)
{
	json_t *json;
	int rc = option_load_json(text, length, &json, err);

	if (rc)
		return rc;
	rc = model_layers_read_json(json, arena, ret_model, err);
	json_decref(json);
	return rc;
}
