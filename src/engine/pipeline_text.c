/*
 * Text encoders of a folder: tokenizer, tokenizer_2, tokenizer_3 and the models text_encoder, text_encoder_2, text_encoder_3 beside them. Which of them there
 * are and what is taken of them is the class's matter; here are tokens, a call, and arrays side by side. A prompt goes to all of them.
 */
#include "engine/pipeline.h"

#include "core/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { OUTPUTS_MAX = 256 };

static const char *const models[PIPELINE_TEXTS_MAX] = { "text_encoder", "text_encoder_2",
							"text_encoder_3" };
static const char *const tokenizers[PIPELINE_TEXTS_MAX] = { "tokenizer", "tokenizer_2",
							    "tokenizer_3" };

bool pipeline_has_text(const struct strata_pipeline *pipeline, size_t which)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/model.onnx", models[which]);
	return pipeline_has_file(pipeline, path);
}

int pipeline_text_open(struct strata_pipeline *pipeline, size_t which, struct strata_error *err)
{
	struct pipeline_text *text = &pipeline->texts[which];
	char path[64];
	int rc = 0;

	if (!text->tokenizer)
		rc = pipeline_tokenizer(pipeline, tokenizers[which], &text->tokenizer, err);
	if (rc == 0 && !text->config) {
		snprintf(path, sizeof(path), "%s/config.json", models[which]);
		rc = pipeline_read_json(pipeline, path, true, &text->config, err);
	}
	return rc ? rc : pipeline_model(pipeline, models[which], &text->encoder, err);
}

int64_t pipeline_text_room(const struct strata_pipeline *pipeline, size_t which)
{
	int64_t room = strata_tokenizer_longest(pipeline->texts[which].tokenizer);

	return room < 2 || room > PIPELINE_TOKENS_MAX ? 77 : room;
}

int pipeline_text_tokens(struct strata_pipeline *pipeline, size_t which, const char *const *prompts,
			 size_t count, int64_t room, struct strata_array *ret_ids,
			 struct strata_error *err)
{
	const int64_t dims[] = { (int64_t)count, room };
	struct strata_arena arena;
	int rc = strata_array_make(pipeline->engine, STRATA_DTYPE_I64, 2, dims, ret_ids, err);

	if (rc)
		return rc;
	strata_arena_init(&arena, pipeline->memory, 0);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = strata_tokenizer_prompt(pipeline->texts[which].tokenizer,
					     prompts ? prompts[i] : "", STRATA_TEXT_NUL,
					     (size_t)room, &arena,
					     (int64_t *)ret_ids->data + (int64_t)i * room, err);
	strata_arena_fini(&arena);
	if (rc)
		strata_array_drop(ret_ids);
	return rc;
}

/* Where the outputs are that are asked for. */
static int find_outputs(const struct strata_pipeline *pipeline, size_t which,
			const char *const *names, size_t count, int *ret_at,
			struct strata_error *err)
{
	const struct strata_engine_model *model = pipeline->texts[which].encoder;

	if (strata_engine_input_count(model) != 1 ||
	    strata_engine_output_count(model) > OUTPUTS_MAX)
		return strata_fail(err, -ENOTSUP,
				   "%.200s/%s/model.onnx has %zu inputs; expected input_ids alone",
				   pipeline->folder, models[which],
				   strata_engine_input_count(model));
	for (size_t i = 0; i < count; i++) {
		ret_at[i] = strata_engine_output_find(model, names[i]);
		if (ret_at[i] < 0)
			return strata_fail(err, -ENOTSUP, "%.200s/%s/model.onnx has no output '%s'",
					   pipeline->folder, models[which], names[i]);
	}
	return 0;
}

int pipeline_text_run(struct strata_pipeline *pipeline, size_t which,
		      const struct strata_array *ids, const char *const *names, size_t count,
		      struct strata_array *ret_arrays, struct strata_error *err)
{
	struct strata_engine_model *model = pipeline->texts[which].encoder;
	struct strata_array input, outputs[OUTPUTS_MAX] = { { 0 } };
	size_t taken = 0;
	int at[PIPELINE_OUTPUTS_MAX];
	int rc = find_outputs(pipeline, which, names, count, at, err);

	if (rc == 0)
		rc = strata_array_cast(pipeline->engine, ids,
				       strata_engine_input_at(model, 0)->dtype, &input, err);
	if (rc)
		return rc;
	rc = strata_engine_run(model, &input, outputs, err);
	for (; rc == 0 && taken < count; taken += rc == 0)
		rc = strata_array_cast(pipeline->engine, &outputs[at[taken]], STRATA_DTYPE_F32,
				       &ret_arrays[taken], err);
	strata_array_drop(&input);
	for (size_t i = 0; i < strata_engine_output_count(model); i++)
		strata_array_drop(&outputs[i]);
	for (size_t i = 0; rc && i < taken; i++)
		strata_array_drop(&ret_arrays[i]);
	return rc;
}

/* ---- CLIP and T5 ---- */

int pipeline_text_clip(struct strata_pipeline *pipeline, size_t which,
		       const struct strata_array *ids, const char *pooled,
		       struct strata_array *ret_hidden, struct strata_array *ret_pooled,
		       struct strata_error *err)
{
	int64_t layers = pipeline_whole(pipeline->texts[which].config, "num_hidden_layers", 0);
	struct strata_array got[2];
	char hidden[32];

	if (layers < 1 || layers > OUTPUTS_MAX)
		return strata_fail(err, -ENOTSUP,
				   "%.200s/%s/config.json has no num_hidden_layers of 1 to %d",
				   pipeline->folder, models[which], OUTPUTS_MAX);
	/* The last but one: what the last layer is given. */
	snprintf(hidden, sizeof(hidden), "hidden_states.%d", (int)layers - 1);
	int rc = pipeline_text_run(pipeline, which, ids, (const char *const[]){ hidden, pooled }, 2,
				   got, err);

	if (rc)
		return rc;
	if (got[0].rank != 3 || got[0].dims[0] != ids->dims[0] || got[0].dims[1] != ids->dims[1] ||
	    got[1].rank != 2 || got[1].dims[0] != ids->dims[0]) {
		strata_array_drop(&got[0]);
		strata_array_drop(&got[1]);
		return strata_fail(err, -EBADMSG,
				   "%.200s/%s/model.onnx gives '%s' and '%s' of other shapes than "
				   "[pictures, tokens, width] and [pictures, width]",
				   pipeline->folder, models[which], hidden, pooled);
	}
	*ret_hidden = got[0];
	*ret_pooled = got[1];
	return 0;
}

int pipeline_text_t5(struct strata_pipeline *pipeline, size_t which, const char *const *prompts,
		     size_t count, int64_t room, struct strata_array *ret_hidden,
		     struct strata_error *err)
{
	static const char *const names[] = { "last_hidden_state" };
	struct strata_array ids;
	int rc = pipeline_text_open(pipeline, which, err);

	if (rc == 0)
		rc = pipeline_text_tokens(pipeline, which, prompts, count, room, &ids, err);
	if (rc)
		return rc;
	rc = pipeline_text_run(pipeline, which, &ids, names, 1, ret_hidden, err);
	strata_array_drop(&ids);
	if (rc == 0 && (ret_hidden->rank != 3 || ret_hidden->dims[0] != (int64_t)count ||
			ret_hidden->dims[1] != room)) {
		strata_array_drop(ret_hidden);
		rc = strata_fail(err, -EBADMSG,
				 "%.200s/%s/model.onnx gives last_hidden_state of another shape "
				 "than [pictures, tokens, width]",
				 pipeline->folder, models[which]);
	}
	return rc;
}
