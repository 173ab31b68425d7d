/* Special tokens of a tokenizer.json: see unigram_conf.h. */
#include "formats/unigram_conf.h"

#include "core/text.h"
#include "formats/unicode.h"

#include <errno.h>
#include <string.h>

static int add_special(const json_t *row, struct strata_arena *arena, struct tokenizer_conf *conf,
		       struct strata_error *err)
{
	const json_t *content = json_object_get(row, "content"), *id = json_object_get(row, "id");
	const char *text = json_string_value(content);
	struct tokenizer_special special = { .bytes = json_string_length(content) };
	char shown[TEXT_EXCERPT_BYTES];

	if (!text || !*text || !json_is_number(id) || !(json_number_value(id) >= 0) ||
	    !(json_number_value(id) < STRATA_TOKENIZER_TOKENS_MAX))
		return strata_fail(err, -EBADMSG,
				   "added_tokens has a row without \"content\" or \"id\"");
	if (json_is_true(json_object_get(row, "single_word")) ||
	    json_is_true(json_object_get(row, "normalized")))
		return strata_fail(err, -ENOTSUP,
				   "the added token \"%s\" is looked for in normalized text or as "
				   "a single word, which is not supported",
				   text_excerpt(text, special.bytes, shown));
	special.id = (int64_t)json_number_value(id);
	special.left = json_is_true(json_object_get(row, "lstrip"));
	special.right = json_is_true(json_object_get(row, "rstrip"));
	special.text = strata_arena_text(arena, text, special.bytes);
	if (!special.text)
		return strata_fail_memory(err);
	int rc = unicode_decode(text, special.bytes, arena, &special.codes, &special.count, err);

	if (rc == 0) {
		conf->begins[special.codes[0] & 0xFF] = true;
		conf->specials[conf->special_count++] = special;
	}
	return rc;
}

static int read_specials(const json_t *rows, struct strata_arena *arena,
			 struct tokenizer_conf *conf, struct strata_error *err)
{
	size_t count = json_array_size(rows);
	int rc = 0;

	if (count > STRATA_TOKENIZER_SPECIALS_MAX)
		return strata_fail(err, -E2BIG, "the tokenizer has more than %d special tokens",
				   STRATA_TOKENIZER_SPECIALS_MAX);
	conf->specials = strata_arena_array(arena, count + 1, sizeof(*conf->specials));
	if (!conf->specials)
		return strata_fail_memory(err);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = add_special(json_array_get(rows, i), arena, conf, err);
	return rc;
}

static int64_t find(const struct tokenizer_conf *conf, const struct unigram *unigram,
		    const char *text)
{
	for (size_t i = 0; text && i < conf->special_count; i++)
		if (strcmp(conf->specials[i].text, text) == 0)
			return conf->specials[i].id;
	return text ? unigram_find(unigram, text, strlen(text)) : -1;
}

/* "single" of a template: at most one token in front of the text and one behind it. */
static int read_template(const json_t *json, const struct unigram *unigram,
			 struct tokenizer_conf *conf, struct strata_error *err)
{
	const char *type = json_string_value(json_object_get(json, "type"));
	const json_t *list = json_object_get(json, "single");
	bool text = false, good = true;

	if (!json || json_is_null(json))
		return 0;
	if (!type || strcmp(type, "TemplateProcessing") != 0)
		return strata_fail(err, -ENOTSUP,
				   "the tokenizer's post-processor is not a TemplateProcessing");
	for (size_t i = 0; good && i < json_array_size(list); i++) {
		const json_t *row = json_array_get(list, i);
		const json_t *token = json_object_get(row, "SpecialToken");
		int64_t *where = text ? &conf->end : &conf->start;

		if (json_object_get(row, "Sequence")) {
			good = !text;
			text = true;
			continue;
		}
		good = *where < 0;
		*where = find(conf, unigram, json_string_value(json_object_get(token, "id")));
		good = good && *where >= 0;
	}
	if (!good || !text)
		return strata_fail(err, -ENOTSUP,
				   "the tokenizer's template is not a text with one known token "
				   "in front of it, behind it, or both");
	return 0;
}

int unigram_conf_read(const json_t *json, const json_t *config, const struct unigram *unigram,
		      struct strata_arena *arena, struct tokenizer_conf *ret_conf,
		      struct strata_error *err)
{
	struct tokenizer_conf conf = { .style = STRATA_TOKENIZER_UNIGRAM,
				       .start = -1,
				       .end = -1,
				       .pad = -1,
				       .unknown = unigram->unknown };
	const json_t *pad = json_object_get(config, "pad_token");
	double longest = json_number_value(json_object_get(config, "model_max_length"));
	int rc = read_specials(json_object_get(json, "added_tokens"), arena, &conf, err);

	if (rc == 0)
		rc = read_template(json_object_get(json, "post_processor"), unigram, &conf, err);
	if (rc)
		return rc;
	const char *text =
		json_string_value(json_is_object(pad) ? json_object_get(pad, "content") : pad);

	conf.pad = find(&conf, unigram, text ? text : "<pad>");
	if (longest >= 1 && longest <= STRATA_TOKENIZER_TEXT_BYTES_MAX)
		conf.longest = (int64_t)longest;
	*ret_conf = conf;
	return 0;
}
