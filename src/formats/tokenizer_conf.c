/*
 * tokenizer_config.json and special_tokens_map.json: keys that name a special token hold its text, or an object with the text as "content";
 * "added_tokens_decoder" lists all of them by number. What is not known here is passed over.
 */
#include "formats/tokenizer_conf.h"

#include "core/text.h"
#include "formats/unicode.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

struct reading {
	const struct bpe *bpe;
	struct strata_arena *arena;
	struct tokenizer_conf *conf;
	size_t room;
};

/* The text of a special token; NULL: none. */
static const char *content_of(const json_t *value)
{
	return json_string_value(json_is_object(value) ? json_object_get(value, "content") : value);
}

static const struct tokenizer_special *find_special(const struct tokenizer_conf *conf,
						    const char *text)
{
	for (size_t i = 0; i < conf->special_count; i++)
		if (strcmp(conf->specials[i].text, text) == 0)
			return &conf->specials[i];
	return NULL;
}

static int add_special(struct reading *reading, const char *text, int64_t id,
		       struct strata_error *err)
{
	struct tokenizer_conf *conf = reading->conf;
	struct tokenizer_special special = { .bytes = strlen(text), .id = id };

	if (find_special(conf, text) || special.bytes == 0)
		return 0;
	if (conf->special_count == STRATA_TOKENIZER_SPECIALS_MAX)
		return strata_fail(err, -E2BIG, "the tokenizer has more than %d special tokens",
				   STRATA_TOKENIZER_SPECIALS_MAX);
	if (conf->special_count == reading->room) {
		size_t room = reading->room ? 2 * reading->room : 16;
		struct tokenizer_special *more =
			strata_arena_array(reading->arena, room, sizeof(*more));

		if (!more)
			return strata_fail_memory(err);
		if (conf->special_count)
			memcpy(more, conf->specials, conf->special_count * sizeof(*more));
		conf->specials = more;
		reading->room = room;
	}
	special.text = strata_arena_text(reading->arena, text, special.bytes);
	if (!special.text)
		return strata_fail_memory(err);
	int rc = unicode_decode(text, special.bytes, reading->arena, &special.codes, &special.count,
				err);

	if (rc == 0) {
		conf->begins[special.codes[0] & 0xFF] = true;
		conf->specials[conf->special_count++] = special;
	}
	return rc;
}

/* The token that a key names, if it does and the vocabulary (or the list) has it. Only special ones stand for themselves in a text. */
static int read_key(struct reading *reading, const json_t *json, const char *key, bool special,
		    int64_t *id, struct strata_error *err)
{
	const char *text = content_of(json_object_get(json, key));
	const struct tokenizer_special *known = text ? find_special(reading->conf, text) : NULL;
	int64_t found = !text ? -1 : known ? known->id : bpe_find(reading->bpe, text, strlen(text));

	if (found < 0)
		return 0;
	*id = found;
	return special ? add_special(reading, text, found, err) : 0;
}

static int read_added(struct reading *reading, json_t *json, struct strata_error *err)
{
	const char *key;
	json_t *value;

	json_object_foreach(json, key, value)
	{
		const char *text = content_of(value);
		char shown[TEXT_EXCERPT_BYTES];
		int64_t id;

		if (!text || strata_int_parse(key, STRATA_TEXT_NUL, 0,
					      STRATA_TOKENIZER_TOKENS_MAX - 1, &id, err))
			return strata_fail(err, -EBADMSG,
					   "added_tokens_decoder has \"%s\"; expected a number "
					   "with an object that has \"content\"",
					   text_excerpt(key, strlen(key), shown));
		int rc = add_special(reading, text, id, err);

		if (rc)
			return rc;
	}
	return 0;
}

static int read_tokens(struct reading *reading, const json_t *json, struct strata_error *err)
{
	struct tokenizer_conf *conf = reading->conf;
	int rc = read_added(reading, json_object_get(json, "added_tokens_decoder"), err);

	if (rc == 0)
		rc = read_key(reading, json, "bos_token", true, &conf->start, err);
	if (rc == 0)
		rc = read_key(reading, json, "eos_token", true, &conf->end, err);
	if (rc == 0)
		rc = read_key(reading, json, "unk_token", true, &conf->unknown, err);
	/* SD 2 pads with "!", which in a text is an exclamation mark like any other. */
	return rc ? rc : read_key(reading, json, "pad_token", false, &conf->pad, err);
}

static void read_rest(struct reading *reading, const json_t *json)
{
	const char *class = json_string_value(json_object_get(json, "tokenizer_class"));
	double longest = json_real_value(json_object_get(json, "model_max_length"));

	if (reading->conf->style == STRATA_TOKENIZER_AUTO && class)
		reading->conf->style = strncmp(class, "CLIP", 4) == 0   ? STRATA_TOKENIZER_CLIP
				       : strncmp(class, "GPT2", 4) == 0 ? STRATA_TOKENIZER_GPT2
				       : strncmp(class, "Llama", 5) == 0 ||
						       strncmp(class, "PreTrained", 10) == 0
					       ? STRATA_TOKENIZER_LLAMA3
					       : STRATA_TOKENIZER_AUTO;
	/* Where there is none transformers writes 1e30, digit by digit. */
	if (longest >= 1 && longest <= STRATA_TOKENIZER_TEXT_BYTES_MAX)
		reading->conf->longest = (int64_t)longest;
}

int tokenizer_json_load(const char *text, size_t length, const char *name, json_t **ret_json,
			struct strata_error *err)
{
	json_error_t where;

	if (length > STRATA_JSON_BYTES_MAX)
		return strata_fail(err, -E2BIG, "%s has %zu bytes; at most %d", name, length,
				   STRATA_JSON_BYTES_MAX);
	json_t *json =
		json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &where);

	if (!json && (json_error_code(&where) == json_error_out_of_memory || !where.text[0]))
		return strata_fail_memory(err);
	if (!json_is_object(json)) {
		int rc = strata_fail(err, -EBADMSG, "%s is not a JSON object: line %d: %s", name,
				     where.line, where.text);

		json_decref(json);
		return rc;
	}
	*ret_json = json;
	return 0;
}

static int read_file(struct reading *reading, const char *text, size_t length, const char *name,
		     struct strata_error *err)
{
	json_t *json;

	if (!text)
		return 0;
	int rc = tokenizer_json_load(text, length == STRATA_TEXT_NUL ? strlen(text) : length, name,
				     &json, err);

	if (rc)
		return rc;
	rc = read_tokens(reading, json, err);
	read_rest(reading, json);
	json_decref(json);
	return rc;
}

/* What families have where no file says it. */
static int fill_in(struct reading *reading, struct strata_error *err)
{
	struct tokenizer_conf *conf = reading->conf;
	const struct bpe *bpe = reading->bpe;
	int64_t start = bpe_find(bpe, "<|startoftext|>", 15);
	int64_t end = bpe_find(bpe, "<|endoftext|>", 13);
	int rc = 0;

	if (conf->style == STRATA_TOKENIZER_AUTO)
		conf->style = bpe->last_bytes['a'] >= 0 ? STRATA_TOKENIZER_CLIP
							: STRATA_TOKENIZER_GPT2;
	bool clip = conf->style == STRATA_TOKENIZER_CLIP;

	if (clip && conf->start < 0 && start >= 0)
		rc = add_special(reading, "<|startoftext|>", conf->start = start, err);
	if (rc == 0 && conf->end < 0 && end >= 0)
		rc = add_special(reading, "<|endoftext|>", conf->end = end, err);
	if (conf->pad < 0)
		conf->pad = conf->end;
	if (clip && conf->unknown < 0)
		conf->unknown = conf->end;
	return rc;
}

int tokenizer_conf_read(const struct strata_tokenizer_files *files, const struct bpe *bpe,
			struct strata_arena *arena, struct tokenizer_conf *ret_conf,
			struct strata_error *err)
{
	struct tokenizer_conf conf = {
		.style = files->style, .start = -1, .end = -1, .pad = -1, .unknown = -1
	};
	struct reading reading = { .bpe = bpe, .arena = arena, .conf = &conf };
	int rc = read_file(&reading, files->config, files->config_length, "tokenizer_config.json",
			   err);

	if (rc == 0)
		rc = read_file(&reading, files->specials, files->specials_length,
			       "special_tokens_map.json", err);
	if (rc == 0)
		rc = fill_in(&reading, err);
	if (rc == 0)
		*ret_conf = conf;
	return rc;
}
