/* A pipeline's folder: its small files, its models, each opened when it is first needed. */
#include "engine/pipeline.h"

#include "core/env.h"
#include "core/option.h"
#include "core/text.h"
#include "formats/npy.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WHOLE_MAX 9007199254740992.0 /* up to here every whole number is a double */

/* A path in the folder that comes before ours if it has it, else in ours. */
static const char *path_of(const struct strata_pipeline *it, const char *over, const char *name,
			   struct strata_arena *arena)
{
	return strata_arena_printf(arena, "%s/%s", over ? over : it->folder, name);
}

/* The bytes of a file of the folder; *ret_bytes NULL where it is absent and may be. */
static int read_file(const struct strata_pipeline *it, const char *name, size_t limit,
		     bool optional, struct strata_arena *arena, char **ret_bytes, size_t *ret_count,
		     struct strata_error *err)
{
	const char *overs[] = { it->over, NULL };
	int rc = -ENOENT;

	*ret_bytes = NULL;
	for (size_t i = it->over ? 0 : 1; rc == -ENOENT && i < 2; i++) {
		const char *path = path_of(it, overs[i], name, arena);

		if (!path)
			return strata_fail_memory(err);
		rc = env_read_file(env_system(), AT_FDCWD, path, limit, arena, ret_bytes, ret_count,
				   err);
	}
	if (rc == -ENOENT && optional)
		return 0;
	return rc;
}

/* A file of JSON, with its name in front of what is wrong with it. */
int pipeline_read_json(const struct strata_pipeline *it, const char *name, bool optional,
		       json_t **ret_json, struct strata_error *err)
{
	struct strata_error why = { 0 };
	struct strata_arena arena;
	size_t count = 0;
	char *bytes;

	strata_arena_init(&arena, it->memory, 0);
	int rc = read_file(it, name, STRATA_PIPELINE_CONFIG_BYTES_MAX, optional, &arena, &bytes,
			   &count, err);

	if (rc == 0 && bytes) {
		rc = option_load_json(bytes, count, ret_json, &why);
		if (rc == 0 && !json_is_object(*ret_json)) {
			json_decref(*ret_json);
			*ret_json = NULL;
			rc = -EBADMSG;
			strata_fail(&why, rc, "it is not an object");
		}
		if (rc)
			rc = strata_fail(err, rc, "%.200s/%s: %s", it->folder, name, why.text);
	}
	strata_arena_fini(&arena);
	return rc;
}

double pipeline_number(const json_t *config, const char *key, double otherwise)
{
	const json_t *value = json_object_get(config, key);

	return json_is_number(value) ? json_number_value(value) : otherwise;
}

int64_t pipeline_whole(const json_t *config, const char *key, int64_t otherwise)
{
	double value = pipeline_number(config, key, (double)otherwise);

	return value >= -WHOLE_MAX && value <= WHOLE_MAX ? (int64_t)value : -1;
}

/* ---- the class ---- */

static const struct pipeline_class *class_named(const char *name)
{
	const struct strata_class *const *classes = strata_pipeline_kind.classes;

	for (size_t i = 0; classes[i]; i++) {
		const char *at = classes[i]->aliases;
		size_t length = strlen(name);

		if (strcmp(classes[i]->name, name) == 0)
			return (const struct pipeline_class *)classes[i];
		while ((at = strstr(at, name))) {
			if ((at == classes[i]->aliases || at[-1] == ' ') &&
			    (at[length] == ',' || at[length] == '\0'))
				return (const struct pipeline_class *)classes[i];
			at += length;
		}
	}
	return NULL;
}

int pipeline_find_class(const char *folder, const char *name, struct strata_arena *arena,
			const struct pipeline_class **ret_class, struct strata_error *err)
{
	const struct strata_pipeline it = { .folder = folder, .memory = arena->memory };
	char shown[TEXT_EXCERPT_BYTES];
	json_t *index = NULL;
	int rc = name ? 0 : pipeline_read_json(&it, "model_index.json", false, &index, err);

	if (rc)
		return rc;
	if (!name)
		name = json_string_value(json_object_get(index, "_class_name"));
	*ret_class = name && *name ? class_named(name) : NULL;
	if (!*ret_class)
		rc = strata_fail(
			err, -ENOTSUP,
			"%.200s is a %s; expected a pipeline of class stable_diffusion, sd3, "
			"flux or class_conditional",
			folder,
			name ? text_excerpt(name, strlen(name), shown) : "folder without class");
	json_decref(index);
	return rc;
}

/* ---- models ---- */

int pipeline_open_share(struct strata_engine *engine, const char *path, double share,
			const struct strata_engine_model_conf *conf,
			struct strata_engine_model **ret_model, struct strata_error *err)
{
	struct strata_engine_model_conf how = *conf;
	struct strata_engine_model *model;
	int rc = strata_engine_open(engine, path, &how, &model, err);

	if (rc == 0 && share > 0) {
		how.budget_bytes = (int64_t)(share * (double)strata_engine_weight_bytes(model)) + 1;
		strata_engine_close(model);
		rc = strata_engine_open(engine, path, &how, &model, err);
	}
	if (rc == 0)
		*ret_model = model;
	return rc;
}

int pipeline_share_budget(struct strata_engine *engine, const char *const *paths, size_t count,
			  int64_t budget_bytes, double *ret_share, struct strata_error *err)
{
	struct strata_engine_model *model;
	double all = 0;

	for (size_t i = 0; i < count; i++) {
		int rc = strata_engine_open(engine, paths[i], NULL, &model, err);

		if (rc && rc != -ENOENT)
			return rc;
		if (rc == 0) {
			all += (double)strata_engine_weight_bytes(model);
			strata_engine_close(model);
		}
	}
	*ret_share = all > (double)budget_bytes ? (double)budget_bytes / all : 0;
	return 0;
}

/* Where a model of the folder is, if it is anywhere. */
static const char *model_path(const struct strata_pipeline *it, const char *part,
			      struct strata_arena *arena)
{
	const char *path = it->over ? strata_arena_printf(arena, "%s/%s/model.onnx", it->over, part)
				    : NULL;

	return path && access(path, F_OK) == 0
		       ? path
		       : strata_arena_printf(arena, "%s/%s/model.onnx", it->folder, part);
}

/* A budget of bytes is the pipeline's: its models share it by what they weigh. */
static int share_budget(struct strata_pipeline *it, struct strata_error *err)
{
	const char *const parts[] = { it->cls->denoiser, "text_encoder", "text_encoder_2",
				      "text_encoder_3",  "vae_decoder",  "vae_encoder" };
	const char *paths[sizeof(parts) / sizeof(parts[0])];
	struct strata_arena arena;
	int rc = 0;

	if (!it->budget_bytes)
		return 0;
	strata_arena_init(&arena, it->memory, 0);
	for (size_t i = 0; rc == 0 && i < sizeof(parts) / sizeof(parts[0]); i++) {
		paths[i] = model_path(it, parts[i], &arena);
		if (!paths[i])
			rc = strata_fail_memory(err);
	}
	if (rc == 0)
		rc = pipeline_share_budget(it->engine, paths, sizeof(parts) / sizeof(parts[0]),
					   it->budget_bytes, &it->budget_share, err);
	strata_arena_fini(&arena);
	return rc;
}

static int open_model(struct strata_pipeline *pipeline, const char *part, double share,
		      const struct strata_engine_model_conf *conf,
		      struct strata_engine_model **ret_model, struct strata_error *err)
{
	struct strata_arena arena;

	strata_arena_init(&arena, pipeline->memory, 0);
	const char *path = model_path(pipeline, part, &arena);
	int rc = path ? pipeline_open_share(pipeline->engine, path, share, conf, ret_model, err)
		      : strata_fail_memory(err);

	if (rc == -ENOENT)
		rc = strata_fail(err, -ENOTSUP, "%.200s has no %s/model.onnx, which this needs",
				 pipeline->folder, part);
	strata_arena_fini(&arena);
	return rc;
}

int pipeline_model(struct strata_pipeline *pipeline, const char *part,
		   struct strata_engine_model **model, struct strata_error *err)
{
	const struct strata_engine_model_conf conf = { .per_member_input = "timestep",
						       .wide = true };

	return *model ? 0 : open_model(pipeline, part, pipeline->budget_share, &conf, model, err);
}

/* What takes features has few weights, the outermost: they stay. */
int pipeline_denoiser(struct strata_pipeline *pipeline, enum pipeline_features which,
		      struct strata_engine_model **ret_model, struct strata_error *err)
{
	bool gives = which == PIPELINE_GIVES_FEATURES;
	const struct strata_engine_model_conf conf = {
		.per_member_input = "timestep",
		.wide = true,
		.give_features_of = gives ? pipeline->cls->sample : NULL,
		.take_features_of = gives ? NULL : pipeline->cls->sample,
	};

	return open_model(pipeline, pipeline->cls->denoiser, gives ? pipeline->budget_share : 0,
			  &conf, ret_model, err);
}

static int find_inputs(struct strata_pipeline *it, struct strata_error *err)
{
	const struct strata_engine_port *timestep;

	it->sample_input = strata_engine_input_find(it->denoiser, it->cls->sample);
	it->timestep_input = strata_engine_input_find(it->denoiser, "timestep");
	if (it->sample_input < 0 || it->timestep_input < 0)
		return strata_fail(err, -ENOTSUP, "%.200s/%s/model.onnx has no input '%s'",
				   it->folder, it->cls->denoiser,
				   it->sample_input < 0 ? it->cls->sample : "timestep");
	timestep = strata_engine_input_at(it->denoiser, (size_t)it->timestep_input);
	if (timestep->ranked && timestep->rank > 1)
		return strata_fail(err, -ENOTSUP,
				   "timestep of %.200s has %u dimensions; expected none or one",
				   it->folder, timestep->rank);
	return 0;
}

bool pipeline_has_file(const struct strata_pipeline *pipeline, const char *name)
{
	const char *folders[] = { pipeline->over, pipeline->folder };
	char path[PATH_MAX];

	for (size_t i = 0; i < 2; i++)
		if (folders[i] &&
		    (size_t)snprintf(path, sizeof(path), "%s/%s", folders[i], name) <
			    sizeof(path) &&
		    access(path, F_OK) == 0)
			return true;
	return false;
}

/* ---- tokenizers ---- */

int pipeline_tokenizer(struct strata_pipeline *pipeline, const char *part,
		       struct strata_tokenizer **ret_tokenizer, struct strata_error *err)
{
	enum { VOCAB, MERGES, CONFIG, SPECIALS, JSON, COUNT };
	static const char *const names[COUNT] = { "vocab.json", "merges.txt",
						  "tokenizer_config.json",
						  "special_tokens_map.json", "tokenizer.json" };
	struct strata_error why = { 0 };
	struct strata_arena arena;
	char *bytes[COUNT], path[64];
	size_t counts[COUNT];
	int rc = 0;

	strata_arena_init(&arena, pipeline->memory, 0);
	for (size_t i = 0; rc == 0 && i < COUNT; i++) {
		snprintf(path, sizeof(path), "%s/%s", part, names[i]);
		rc = read_file(pipeline, path, STRATA_JSON_BYTES_MAX, true, &arena, &bytes[i],
			       &counts[i], err);
	}
	bool pairs = rc == 0 && bytes[VOCAB] && bytes[MERGES];

	if (rc == 0 && !pairs && !bytes[JSON])
		rc = strata_fail(err, -ENOTSUP,
				 "%.200s has no %s (vocab.json and merges.txt, or tokenizer.json)",
				 pipeline->folder, part);
	else if (rc == 0) {
		const struct strata_tokenizer_files files = {
			.vocab = bytes[VOCAB],
			.vocab_length = counts[VOCAB],
			.merges = bytes[MERGES],
			.merges_length = counts[MERGES],
			.config = bytes[CONFIG],
			.config_length = counts[CONFIG],
			.specials = bytes[SPECIALS],
			.specials_length = counts[SPECIALS],
			.json = pairs ? NULL : bytes[JSON],
			.json_length = counts[JSON],
		};

		rc = strata_tokenizer_new(&files, pipeline->memory, ret_tokenizer, &why);
		if (rc)
			rc = strata_fail(err, rc, "%.200s/%s: %s", pipeline->folder, part,
					 why.text);
	}
	strata_arena_fini(&arena);
	return rc;
}

/* ---- opening ---- */

static int read_vae(struct strata_pipeline *it, struct strata_error *err)
{
	int rc = pipeline_read_json(it, "vae_decoder/config.json", true, &it->vae_config, err);
	size_t blocks = json_array_size(json_object_get(it->vae_config, "block_out_channels"));

	if (rc)
		return rc;
	it->scaling_factor = pipeline_number(it->vae_config, "scaling_factor", 0.18215);
	it->shift_factor = pipeline_number(it->vae_config, "shift_factor", 0);
	it->latent_channels = pipeline_whole(it->vae_config, "latent_channels", 4);
	if (blocks > 8 || it->latent_channels < 1 || it->latent_channels > 64)
		return strata_fail(err, -EBADMSG,
				   "%.200s/vae_decoder/config.json has %zu blocks and %g latent "
				   "channels; expected up to 8 and 1 to 64",
				   it->folder, blocks,
				   pipeline_number(it->vae_config, "latent_channels", 4));
	if (!(it->scaling_factor >= 1e-6 && it->scaling_factor <= 1e6) ||
	    !(fabs(it->shift_factor) <= 1e6))
		return strata_fail(err, -EBADMSG,
				   "%.200s/vae_decoder/config.json has the scaling factor %g and "
				   "the shift factor %g; expected 1e-6 to 1e6 and -1e6 to 1e6",
				   it->folder, it->scaling_factor, it->shift_factor);
	it->latent_scale = INT64_C(1) << (blocks ? blocks - 1 : 3);
	return 0;
}

static int read_configs(struct strata_pipeline *it, struct strata_error *err)
{
	char name[64];
	int rc;

	snprintf(name, sizeof(name), "%s/config.json", it->cls->denoiser);
	rc = pipeline_read_json(it, name, true, &it->denoiser_config, err);
	it->latent_channels = pipeline_whole(it->denoiser_config, "in_channels", 4);
	it->latent_scale = 1;
	it->scaling_factor = 1;
	if (rc == 0 && it->cls->has_vae)
		rc = read_vae(it, err);
	if (rc)
		return rc;
	double side = pipeline_number(it->denoiser_config, "sample_size", 64);

	if (!(side >= 1 && side * (double)it->latent_scale <= STRATA_IMAGE_SIDE_MAX) ||
	    it->latent_channels < 1 || it->latent_channels > 64)
		return strata_fail(err, -EBADMSG,
				   "%.200s/%s has the sample size %g and %lld channels; expected "
				   "up to %lld and 1 to 64",
				   it->folder, name, side, (long long)it->latent_channels,
				   (long long)(STRATA_IMAGE_SIDE_MAX / it->latent_scale));
	it->default_side = (uint32_t)side * (uint32_t)it->latent_scale;
	it->default_guidance =
		pipeline_number(it->denoiser_config, "default_guidance", it->cls->guidance);
	double steps =
		pipeline_number(it->denoiser_config, "default_steps", (double)it->cls->steps);

	if (!(steps >= 1 && steps <= STRATA_SOLVER_STEPS_MAX) ||
	    !(it->default_guidance >= 0 && it->default_guidance <= 1000))
		return strata_fail(err, -EBADMSG,
				   "%.200s/%s has default_steps %g and default_guidance %g; "
				   "expected 1 to %d and 0 to 1000",
				   it->folder, name, steps, it->default_guidance,
				   STRATA_SOLVER_STEPS_MAX);
	it->default_steps = (int64_t)steps;
	return read_file(it, "scheduler/scheduler_config.json", STRATA_PIPELINE_CONFIG_BYTES_MAX,
			 true, &it->arena, &it->scheduler_json, &it->scheduler_length, err);
}

int pipeline_folder_open(struct strata_pipeline *pipeline, struct strata_error *err)
{
	int rc = read_configs(pipeline, err);

	if (rc == 0)
		rc = share_budget(pipeline, err);
	if (rc == 0)
		rc = pipeline_model(pipeline, pipeline->cls->denoiser, &pipeline->denoiser, err);
	if (rc == 0)
		rc = find_inputs(pipeline, err);
	if (rc == 0 && pipeline->cls->open)
		rc = pipeline->cls->open(pipeline, err);
	return rc;
}

int pipeline_read_array(struct strata_pipeline *pipeline, const char *path,
			struct strata_array *ret_array, struct strata_error *err)
{
	struct strata_error why = { 0 };
	struct strata_arena arena;
	struct npy npy;
	size_t count;
	char *bytes;

	strata_arena_init(&arena, pipeline->memory, 0);
	int rc = read_file(pipeline, path, STRATA_PIPELINE_STATE_BYTES_MAX, false, &arena, &bytes,
			   &count, err);

	if (rc == 0) {
		rc = npy_read(bytes, count, &npy, &why);
		if (rc)
			strata_fail(err, rc, "%.200s/%.64s: %s", pipeline->folder, path, why.text);
	}
	if (rc == 0)
		rc = strata_array_make(pipeline->engine, npy.dtype, npy.rank, npy.dims, ret_array,
				       err);
	if (rc == 0)
		memcpy(ret_array->data, npy.data, npy.data_bytes);
	strata_arena_fini(&arena);
	return rc;
}
