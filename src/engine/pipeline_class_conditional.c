/*
 * class_conditional: a small UNet that is told a class, without text and without a VAE. Number 0 is "no class", which guidance goes against. A prompt has one
 * word in it that names a class: "a seven", "the digit 7". The words are class_names of the UNet's config.json, an entry for each class from 1 on, which may
 * have several words for it: "seven, 7".
 */
#include "engine/pipeline.h"

#include "core/buf.h"
#include "core/text.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#define BETWEEN " \t\r\n,.;:!?'\"()"

enum { NAMES_SHOWN = 20 };

/* Where a model has no names: those of digits. */
static const char *const digits[] = { "zero, 0", "one, 1", "two, 2",   "three, 3", "four, 4",
				      "five, 5", "six, 6", "seven, 7", "eight, 8", "nine, 9" };

/* The words for a class from 1 on; NULL past the end. */
static const char *words_of(const struct strata_pipeline *pipeline, size_t label)
{
	const json_t *names = json_object_get(pipeline->denoiser_config, "class_names");

	if (json_is_array(names))
		return json_string_value(json_array_get(names, label - 1));
	return label <= 10 ? digits[label - 1] : NULL;
}

/* The next word of a text, which moves behind it; its length is 0 at the end. */
static const char *next_word(const char **text, size_t *ret_length)
{
	const char *word = *text + strspn(*text, BETWEEN);

	*ret_length = strcspn(word, BETWEEN);
	*text = word + *ret_length;
	return word;
}

/* The class that a word of a prompt names; 0: none. */
static int64_t label_of(const struct strata_pipeline *pipeline, int64_t count, const char *word,
			size_t length)
{
	const char *words, *name;
	size_t name_length;

	for (size_t label = 1; (int64_t)label < count && (words = words_of(pipeline, label));
	     label++)
		while (name = next_word(&words, &name_length), name_length)
			if (name_length == length && strncasecmp(name, word, length) == 0)
				return (int64_t)label;
	return 0;
}

static int unknown_class(const struct strata_pipeline *pipeline, const char *prompt, int64_t count,
			 struct strata_error *err)
{
	char shown[TEXT_EXCERPT_BYTES];
	const char *words, *name;
	struct buf names;
	size_t length;

	buf_init(&names, pipeline->memory, 0);
	for (size_t label = 1; (int64_t)label < count && (words = words_of(pipeline, label));
	     label++) {
		if (label > NAMES_SHOWN) {
			buf_add(&names, ", …");
			break;
		}
		name = next_word(&words, &length);
		buf_printf(&names, "%s%.*s", label > 1 ? ", " : "",
			   (int)(length < 32 ? length : 32), name);
	}
	int rc = buf_check(&names, err);

	if (rc == 0)
		rc = strata_fail(err, -EINVAL,
				 "the prompt \"%s\" has no word for a class of this model; it "
				 "draws: %s",
				 text_excerpt(prompt, strlen(prompt), shown), names.text);
	buf_fini(&names);
	return rc;
}

static int find_label(const struct strata_pipeline *pipeline, const char *prompt, int64_t count,
		      int64_t *ret_label, struct strata_error *err)
{
	char shown[TEXT_EXCERPT_BYTES], first[TEXT_EXCERPT_BYTES], second[TEXT_EXCERPT_BYTES];
	const char *at = prompt, *word;
	int64_t found = 0;
	size_t length;

	while (word = next_word(&at, &length), length) {
		int64_t label = label_of(pipeline, count, word, length);

		if (label && found && label != found)
			return strata_fail(err, -EINVAL,
					   "the prompt \"%s\" names two classes, %s and %s; this "
					   "model draws one at a time",
					   text_excerpt(prompt, strlen(prompt), shown), first,
					   text_excerpt(word, length, second));
		if (label && !found)
			text_excerpt(word, length, first);
		found = label ? label : found;
	}
	if (!found)
		return unknown_class(pipeline, prompt, count, err);
	*ret_label = found;
	return 0;
}

static int encode(struct strata_pipeline *pipeline, const struct strata_pipeline_request *request,
		  struct strata_pipeline_run *run, struct strata_error *err)
{
	int64_t count = pipeline_whole(pipeline->denoiser_config, "num_class_embeds", 11);
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
