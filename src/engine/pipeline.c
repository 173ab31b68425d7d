/* Pipelines: opening and closing, and what can be asked of a run. The work is in pipeline_encode.c, pipeline_run.c and pipeline_vae.c. */
#include "engine/pipeline.h"

#include "engine/model_find.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static int make(struct strata_pipeline *it, const char *folder,
		const struct strata_pipeline_conf *conf, struct strata_error *err)
{
	const char *noise = conf && conf->noise ? conf->noise : "torch";
	bool known = conf && conf->cls; /* its folder needs no model_index.json */
	struct model_places places;
	int rc = known ? 0 : model_places_of_process(&it->arena, &places, err);

	if (rc == 0 && !known)
		rc = model_find(&places, folder, &it->arena, &folder, err);
	if (rc)
		return rc;

	it->budget_bytes = conf ? conf->budget_bytes : 0;
	it->budget_share = conf ? conf->budget_share : 0;
	it->folder = strata_arena_text(&it->arena, folder, strlen(folder));
	it->noise = strata_arena_text(&it->arena, noise, strlen(noise));
	if (conf && conf->over)
		it->over = strata_arena_text(&it->arena, conf->over, strlen(conf->over));
	if (!it->folder || !it->noise || (conf && conf->over && !it->over))
		return strata_fail_memory(err);
	rc = pipeline_find_class(it->folder, conf ? conf->cls : NULL, &it->arena, &it->cls, err);

	if (rc == 0)
		rc = strata_registry_new(&strata_solver_kind, it->memory, &it->solvers, err);
	if (rc == 0)
		rc = strata_registry_new(&strata_schedule_kind, it->memory, &it->schedules, err);
	return rc ? rc : pipeline_folder_open(it, err);
}

int strata_pipeline_open(struct strata_engine *engine, const char *folder,
			 const struct strata_pipeline_conf *conf, struct strata_memory *memory,
			 struct strata_pipeline **ret_pipeline, struct strata_error *err)
{
	struct strata_pipeline *it = strata_memory_get(memory, sizeof(*it));

	if (!it)
		return strata_fail_memory(err);
	it->engine = engine;
	it->memory = memory;
	strata_arena_init(&it->arena, memory, 0);
	int rc = make(it, folder, conf, err);

	if (rc) {
		strata_pipeline_close(it);
		return rc;
	}
	*ret_pipeline = it;
	return 0;
}

void strata_pipeline_close(struct strata_pipeline *pipeline)
{
	if (!pipeline)
		return;
	strata_engine_close(pipeline->denoiser);
	strata_engine_close(pipeline->outer);
	strata_engine_close(pipeline->vae_decoder);
	strata_engine_close(pipeline->vae_encoder);
	for (size_t i = 0; i < PIPELINE_TEXTS_MAX; i++) {
		strata_engine_close(pipeline->texts[i].encoder);
		strata_tokenizer_free(pipeline->texts[i].tokenizer);
		json_decref(pipeline->texts[i].config);
	}
	strata_registry_free(pipeline->schedules);
	strata_registry_free(pipeline->solvers);
	json_decref(pipeline->denoiser_config);
	json_decref(pipeline->vae_config);
	strata_arena_fini(&pipeline->arena);
	strata_memory_put(pipeline->memory, pipeline, sizeof(*pipeline));
}

const struct strata_class *strata_pipeline_class(const struct strata_pipeline *pipeline)
{
	return &pipeline->cls->base;
}

/* ---- runs ---- */

void strata_pipeline_run_free(struct strata_pipeline_run *run)
{
	if (!run)
		return;
	for (size_t i = 0; i < run->condition_count; i++) {
		strata_array_drop(&run->conditions[i].positive);
		strata_array_drop(&run->conditions[i].negative);
	}
	for (int i = 0; i < 2; i++) {
		strata_array_drop(&run->tokens[i]);
		strata_array_drop(&run->embeds[i]);
	}
	strata_array_drop(&run->features);
	strata_solver_table_free(run->table, run->memory);
	strata_arena_fini(&run->arena);
	strata_memory_put(run->memory, run, sizeof(*run));
}

size_t strata_pipeline_calls(const struct strata_pipeline_run *run)
{
	size_t calls = 0;

	for (size_t i = 0; i < run->table->row_count; i++)
		calls += !(run->table->rows[i].flags & STRATA_ROW_NO_MODEL);
	return run->calls_done + (run->row != NULL) > calls ? run->calls_done + (run->row != NULL)
							    : calls;
}

size_t strata_pipeline_left(const struct strata_pipeline_run *run)
{
	return run->row ? strata_pipeline_calls(run) - run->calls_done : 0;
}

size_t strata_pipeline_steps(const struct strata_pipeline_run *run)
{
	return run->table->step_count;
}

const char *strata_pipeline_solver(const struct strata_pipeline_run *run)
{
	return run->table->cls->base.name;
}

double strata_pipeline_guidance(const struct strata_pipeline_run *run)
{
	return (double)run->guidance;
}

double strata_pipeline_timestep(const struct strata_pipeline_run *run)
{
	return run->row ? run->row->timestep : 0;
}

const float *strata_pipeline_latents(const struct strata_pipeline_run *run, size_t *ret_count)
{
	*ret_count = run->geometry.element_count;
	return run->latents;
}

struct strata_array strata_pipeline_tokens(const struct strata_pipeline_run *run, bool negative)
{
	return strata_array_share(&run->tokens[negative]);
}

struct strata_array strata_pipeline_embeds(const struct strata_pipeline_run *run, bool negative)
{
	return strata_array_share(&run->embeds[negative]);
}

/* FNV-1a over what must be equal for a shared call. */
static void mix(uint64_t *hash, const void *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		*hash = (*hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
}

uint64_t strata_pipeline_batch_key(const struct strata_pipeline_run *run)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	mix(&hash, run->geometry.dims, sizeof(run->geometry.dims));
	for (size_t i = 0; i < run->condition_count; i++) {
		const struct strata_array *array = &run->conditions[i].positive;
		size_t from = run->conditions[i].shared ? 0 : 1;

		mix(&hash, array->dims + from, (array->rank - from) * sizeof(array->dims[0]));
	}
	return hash;
}

/* ---- pictures ---- */

/* What is not a number would be black, and nobody would know why. */
static int check_image(const struct strata_pipeline *pipeline, const struct strata_array *image,
		       struct strata_error *err)
{
	int64_t count = strata_array_elements(image);
	const float *values = image->data;

	for (int64_t i = 0; i < count; i++)
		if (!isfinite(values[i]))
			return strata_fail(err, -EBADMSG,
					   "the picture that %.200s decodes has %g in it, which is "
					   "no brightness",
					   pipeline->folder, (double)values[i]);
	return 0;
}

/* [1, 3 or 1, H, W] from -1 to 1, as bytes; halves go to the even one, as torch rounds. */
static void to_bytes(const struct strata_array *image, uint8_t *rgb)
{
	size_t channels = (size_t)image->dims[1];
	size_t pixels = (size_t)(image->dims[2] * image->dims[3]);
	const float *values = image->data;

	for (size_t i = 0; i < pixels; i++)
		for (size_t c = 0; c < 3; c++) {
			float value = values[(channels == 3 ? c : 0) * pixels + i] / 2 + 0.5F;

			value = value > 0 ? value < 1 ? value : 1 : 0;
			rgb[i * 3 + c] = (uint8_t)rintf(value * 255);
		}
}

int strata_pipeline_decode(struct strata_pipeline *pipeline, struct strata_pipeline_run *run,
			   size_t image, struct strata_arena *arena,
			   struct strata_picture *ret_picture, struct strata_error *err)
{
	const struct pipeline_geometry *geometry = &run->geometry;
	struct strata_array decoded = { 0 };

	if (image >= run->image_count)
		return strata_fail(err, -EINVAL, "there is no picture %zu; the run has %zu", image,
				   run->image_count);
	pipeline_trace_begin(pipeline, "decode", &run, 1);
	int rc = pipeline_vae_decode(pipeline, geometry,
				     run->latents + image * geometry->element_count, &decoded, err);

	pipeline_trace_end(pipeline);

	if (rc == 0 && (rc = check_image(pipeline, &decoded, err)))
		strata_array_drop(&decoded);
	if (rc)
		return rc;
	struct strata_picture picture = {
		(uint32_t)decoded.dims[3], (uint32_t)decoded.dims[2],
		strata_arena_array(arena, (size_t)(decoded.dims[2] * decoded.dims[3]), 3)
	};
	if (picture.rgb) {
		to_bytes(&decoded, picture.rgb);
		*ret_picture = picture;
	} else {
		rc = strata_fail_memory(err);
	}
	strata_array_drop(&decoded);
	return rc;
}
