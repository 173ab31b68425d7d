/*
 * class_conditional: a small UNet that is told a class, without text and without a VAE. Number 0 is "no class", which guidance goes against. A prompt is a
 * number, or has a word of the model's list of names in it.
 */
#include "engine/pipeline.h"

#include "core/text.h"

#include <errno.h>
#include <string.h>

/* Where a model has no names: those of digits. */
static const char *const digits[] = { "zero", "one", "two",   "three", "four",
				      "five", "six", "seven", "eight", "nine" };

/* The name of a class from 1 on; NULL past the end. */
static const char *name_of(const struct strata_pipeline *pipeline, size_t label)
{
	const json_t *names = json_object_get(pipeline->denoiser_config, "class_names");

	if (json_is_array(names))
		return json_string_value(json_array_get(names, label - 1));
	return label <= 10 ? digits[label - 1] : NULL;
}

static bool has_word(const char *prompt, const char *word)
{
	for (const char *at = prompt; *at;) {
		size_t length = strcspn(at, " \t\n,.;:!?'\"");

		if (length && text_same(at, length, word))
			return true;
		at += length + (at[length] != '\0');
	}
	return false;
}

static int find_label(const struct strata_pipeline *pipeline, const char *prompt, int64_t count,
		      int64_t *ret_label, struct strata_error *err)
{
	char shown[TEXT_EXCERPT_BYTES], digit[2] = "0";
	const char *name;

	for (size_t label = 1; (int64_t)label < count && (name = name_of(pipeline, label));
	     label++) {
		digit[0] = (char)('0' + label - 1);
		if (has_word(prompt, name) ||
		    (name == digits[label - 1 < 10 ? label - 1 : 0] && has_word(prompt, digit))) {
			*ret_label = (int64_t)label;
			return 0;
		}
	}
	return strata_fail(err, -EINVAL,
			   "the prompt \"%s\" has no class of this model in it; it has, for "
			   "example, \"%s\"",
			   text_excerpt(prompt, strlen(prompt), shown),
			   name_of(pipeline, 1) ? name_of(pipeline, 1) : "0");
}

static int encode(struct strata_pipeline *pipeline, const struct strata_pipeline_request *request,
		  struct strata_pipeline_run *run, struct strata_error *err)
{
	int64_t count = (int64_t)pipeline_number(pipeline->denoiser_config, "num_class_embeds", 11);
	const int64_t dims[] = { (int64_t)run->image_count };
	struct strata_array labels = { 0 }, none = { 0 };
	int rc = strata_array_make(pipeline->engine, STRATA_DTYPE_I64, 1, dims, &labels, err);

	if (rc == 0)
		rc = strata_array_make(pipeline->engine, STRATA_DTYPE_I64, 1, dims, &none, err);
	for (size_t i = 0; rc == 0 && i < run->image_count; i++) {
		int64_t *label = (int64_t *)labels.data + i;

		((int64_t *)none.data)[i] = 0;
		if (request->labels)
			*label = request->labels[i];
		else if (request->prompts)
			rc = find_label(pipeline, request->prompts[i], count, label, err);
		else
			rc = strata_fail(err, -EINVAL, "there is no prompt");
		if (rc == 0 && (*label < 0 || *label >= count))
			rc = strata_fail(err, -ERANGE, "class %lld is not one from 0 to %lld",
					 (long long)*label, (long long)count - 1);
	}
	if (rc) {
		strata_array_drop(&labels);
		strata_array_drop(&none);
		return rc;
	}
	return pipeline_add_condition(run, "class_labels", false, labels, none, err);
}

const struct pipeline_class pipeline_class_conditional = {
	.base = {
		.name = "class_conditional",
		.aliases = "DigitsPipeline, ClassConditionalPipeline",
		.summary = "a small UNet that is told a class: digits",
	},
	.denoiser = "unet",
	.sample = "sample",
	.guidance = 1.5,
	.steps = 20,
	.guided = true,
	.timestep_scale = 1,
	.encode = encode,
};
