/* Before the model: see unigram_rules.h. Each change reads one text and writes the next. */
#include "formats/unigram_rules.h"

#include "core/text.h"
#include "formats/unicode.h"

#include <strata/limits.h>

#include <errno.h>
#include <string.h>

/* ---- reading ---- */

static const char *type_of(const json_t *json)
{
	const char *type = json_string_value(json_object_get(json, "type"));

	return type ? type : "";
}

static int unsupported(const char *what, const json_t *json, struct strata_error *err)
{
	char shown[TEXT_EXCERPT_BYTES];
	const char *type = type_of(json);

	return strata_fail(err, -ENOTSUP, "the tokenizer's %s '%s' is not supported", what,
			   text_excerpt(type, strlen(type), shown));
}

static int keep_text(const json_t *text, struct strata_arena *arena, const char **ret_text,
		     struct strata_error *err)
{
	if (!json_is_string(text))
		return strata_fail(err, -EBADMSG,
				   "a part of the tokenizer's normalizer has no text");
	*ret_text = strata_arena_text(arena, json_string_value(text), json_string_length(text));
	return *ret_text ? 0 : strata_fail_memory(err);
}

static int read_replace(const json_t *json, struct strata_arena *arena,
			struct unigram_change *change, struct strata_error *err)
{
	const json_t *pattern = json_object_get(json, "pattern");
	const char *regex = json_string_value(json_object_get(pattern, "Regex"));

	change->kind = UNIGRAM_REPLACE;
	change->runs = regex && strcmp(regex, " {2,}") == 0;
	if (regex && !change->runs)
		return strata_fail(err, -ENOTSUP,
				   "the tokenizer replaces what matches a regular expression; of "
				   "these only \" {2,}\" is supported");
	int rc = keep_text(regex ? json_object_get(pattern, "Regex")
				 : json_object_get(pattern, "String"),
			   arena, &change->pattern, err);

	if (rc == 0 && !*change->pattern)
		rc = strata_fail(err, -EBADMSG, "the tokenizer replaces the empty text");
	return rc ? rc : keep_text(json_object_get(json, "content"), arena, &change->new, err);
}

static int read_normalizer(const json_t *json, int depth, struct strata_arena *arena,
			   struct unigram_rules *rules, struct strata_error *err)
{
	const json_t *list = json_object_get(json, "normalizers");
	const json_t *map = json_object_get(json, "precompiled_charsmap");
	int rc = 0;

	if (!json || json_is_null(json))
		return 0;
	if (strcmp(type_of(json), "Sequence") == 0) {
		if (depth == UNIGRAM_NEST_MAX)
			return strata_fail(err, -E2BIG,
					   "the tokenizer's normalizers are nested %d deep", depth);
		for (size_t i = 0; rc == 0 && i < json_array_size(list); i++)
			rc = read_normalizer(json_array_get(list, i), depth + 1, arena, rules, err);
		return rc;
	}
	if (rules->change_count == UNIGRAM_CHANGES_MAX)
		return strata_fail(err, -E2BIG, "the tokenizer has more than %d normalizers",
				   UNIGRAM_CHANGES_MAX);
	struct unigram_change *change = &rules->changes[rules->change_count];

	if (strcmp(type_of(json), "Precompiled") == 0) {
		const char *base64;

		if (json_string_length(map) == 0)
			return 0;
		rc = keep_text(map, arena, &base64, err);
		if (rc == 0)
			rc = charsmap_read(base64, json_string_length(map), arena, &change->map,
					   err);
	} else if (strcmp(type_of(json), "Strip") == 0) {
		change->kind = UNIGRAM_STRIP;
		change->left = json_is_true(json_object_get(json, "strip_left"));
		change->right = json_is_true(json_object_get(json, "strip_right"));
	} else if (strcmp(type_of(json), "Replace") == 0) {
		rc = read_replace(json, arena, change, err);
	} else {
		rc = unsupported("normalizer", json, err);
	}
	rules->change_count += rc == 0;
	return rc;
}

static int read_metaspace(const json_t *json, struct strata_arena *arena,
			  struct unigram_rules *rules, struct strata_error *err)
{
	const char *scheme = json_string_value(json_object_get(json, "prepend_scheme"));
	const json_t *old = json_object_get(json, "add_prefix_space");

	if (scheme && strcmp(scheme, "always") != 0 && strcmp(scheme, "never") != 0)
		return strata_fail(err, -ENOTSUP,
				   "the tokenizer's Metaspace has the prepend_scheme '%.32s'; "
				   "expected always or never",
				   scheme);
	/* Older files say it in another way, or not at all. */
	rules->prepends = scheme ? scheme[0] == 'a' : !json_is_false(old);
	rules->splits = !json_is_false(json_object_get(json, "split"));
	int rc = keep_text(json_object_get(json, "replacement"), arena, &rules->mark, err);

	if (rc == 0 && (!*rules->mark || strlen(rules->mark) > UNICODE_UTF8_MAX))
		rc = strata_fail(err, -EBADMSG,
				 "the tokenizer's Metaspace has no character as its replacement");
	return rc;
}

static int read_words(const json_t *json, int depth, struct strata_arena *arena,
		      struct unigram_rules *rules, struct strata_error *err)
{
	const json_t *list = json_object_get(json, "pretokenizers");
	int rc = 0;

	if (!json || json_is_null(json))
		return 0;
	if (strcmp(type_of(json), "Sequence") == 0) {
		if (depth == UNIGRAM_NEST_MAX)
			return strata_fail(err, -E2BIG,
					   "the tokenizer's pre-tokenizers are nested %d deep",
					   depth);
		for (size_t i = 0; rc == 0 && i < json_array_size(list); i++)
			rc = read_words(json_array_get(list, i), depth + 1, arena, rules, err);
		return rc;
	}
	/* Words first, then the mark: the other way round there is no white space left. */
	if (strcmp(type_of(json), "WhitespaceSplit") == 0 && !rules->mark) {
		rules->words = true;
		return 0;
	}
	if (strcmp(type_of(json), "Metaspace") == 0 && !rules->mark)
		return read_metaspace(json, arena, rules, err);
	return unsupported("pre-tokenizer", json, err);
}

int unigram_rules_read(const json_t *json, struct strata_arena *arena,
		       struct unigram_rules *ret_rules, struct strata_error *err)
{
	struct unigram_rules rules = { 0 };
	int rc = read_normalizer(json_object_get(json, "normalizer"), 0, arena, &rules, err);

	if (rc == 0)
		rc = read_words(json_object_get(json, "pre_tokenizer"), 0, arena, &rules, err);
	if (rc == 0)
		*ret_rules = rules;
	return rc;
}

/* ---- normalizing ---- */

static void replace(const struct unigram_change *change, const char *text, size_t length,
		    struct buf *buf)
{
	size_t pattern = strlen(change->pattern);

	for (size_t at = 0; at < length;) {
		size_t blanks = 0;

		while (change->runs && at + blanks < length && text[at + blanks] == ' ')
			blanks++;
		if (blanks >= 2) {
			buf_add(buf, change->new);
			at += blanks;
		} else if (!change->runs && length - at >= pattern &&
			   memcmp(text + at, change->pattern, pattern) == 0) {
			buf_add(buf, change->new);
			at += pattern;
		} else {
			buf_add_char(buf, text[at++]);
		}
	}
}

static int change_text(const struct unigram_change *change, const struct buf *from, struct buf *to,
		       struct strata_arena *arena, struct strata_error *err)
{
	uint32_t *codes;
	size_t count, first = 0;
	char bytes[UNICODE_UTF8_MAX];

	if (change->kind == UNIGRAM_REPLACE) {
		replace(change, from->text, from->length, to);
		return buf_check(to, err);
	}
	int rc = unicode_decode(from->text, from->length, arena, &codes, &count, err);

	if (rc)
		return rc;
	if (change->kind == UNIGRAM_MAP) {
		charsmap_apply(&change->map, codes, count, to);
		return buf_check(to, err);
	}
	while (change->left && first < count && unicode_is_space(codes[first]))
		first++;
	while (change->right && count > first && unicode_is_space(codes[count - 1]))
		count--;
	for (size_t i = first; i < count; i++)
		buf_add_bytes(to, bytes, unicode_encode(codes[i], bytes));
	return buf_check(to, err);
}

static int normalize(const struct unigram_rules *rules, const uint32_t *codes, size_t count,
		     struct buf *text, struct buf *next, struct strata_arena *arena,
		     struct strata_error *err)
{
	char bytes[UNICODE_UTF8_MAX];
	int rc;

	for (size_t i = 0; i < count; i++)
		buf_add_bytes(text, bytes, unicode_encode(codes[i], bytes));
	rc = buf_check(text, err);
	for (size_t i = 0; rc == 0 && i < rules->change_count; i++) {
		struct buf kept = *text;

		buf_reset(next);
		rc = change_text(&rules->changes[i], text, next, arena, err);
		*text = *next;
		*next = kept;
	}
	return rc;
}

/* ---- words ---- */

struct taking {
	const struct unigram_rules *rules;
	struct buf word;
	int (*take)(void *context, const char *word, size_t bytes, struct strata_error *err);
	void *context;
};

static bool begins_with_mark(const struct unigram_rules *rules, const char *text, size_t length)
{
	size_t mark = strlen(rules->mark);

	return length >= mark && memcmp(text, rules->mark, mark) == 0;
}

/* A stretch without white space, or all of the text: marks in, then a word at each. */
static int take_stretch(struct taking *taking, const char *text, size_t length,
			struct strata_error *err)
{
	const struct unigram_rules *rules = taking->rules;
	struct buf *word = &taking->word;
	int rc = 0;

	if (length == 0)
		return 0;
	if (!rules->mark)
		return taking->take(taking->context, text, length, err);
	buf_reset(word);
	if (rules->prepends && text[0] != ' ' && !begins_with_mark(rules, text, length))
		buf_add(word, rules->mark);
	for (size_t i = 0; i < length; i++)
		if (text[i] == ' ')
			buf_add(word, rules->mark);
		else
			buf_add_char(word, text[i]);
	rc = buf_check(word, err);
	for (size_t from = 0, end; rc == 0 && from < word->length; from = end) {
		end = from + 1;
		while (end < word->length &&
		       !(rules->splits &&
			 begins_with_mark(rules, word->text + end, word->length - end)))
			end++;
		rc = taking->take(taking->context, word->text + from, end - from, err);
	}
	return rc;
}

static int take_words(struct taking *taking, const struct buf *text, struct strata_error *err)
{
	size_t from = 0, step;
	int rc = 0;

	if (!taking->rules->words)
		return take_stretch(taking, text->text, text->length, err);
	for (size_t at = 0; rc == 0 && at < text->length; at += step) {
		uint32_t code = 0;

		step = text_decode(text->text + at, text->length - at, &code);
		step = step ? step : 1;
		if (!unicode_is_space(code))
			continue;
		rc = take_stretch(taking, text->text + from, at - from, err);
		from = at + step;
	}
	return rc ? rc : take_stretch(taking, text->text + from, text->length - from, err);
}

int unigram_rules_apply(const struct unigram_rules *rules, const uint32_t *codes, size_t count,
			struct strata_memory *memory,
			int (*take)(void *context, const char *word, size_t bytes,
				    struct strata_error *err),
			void *context, struct strata_error *err)
{
	struct taking taking = { .rules = rules, .take = take, .context = context };
	struct strata_arena arena;
	struct buf text, next;

	strata_arena_init(&arena, memory, 0);
	buf_init(&text, memory, STRATA_TOKENIZER_NORMAL_BYTES_MAX);
	buf_init(&next, memory, STRATA_TOKENIZER_NORMAL_BYTES_MAX);
	buf_init(&taking.word, memory, 0);
	int rc = normalize(rules, codes, count, &text, &next, &arena, err);

	if (rc == 0)
		rc = take_words(&taking, &text, err);
	buf_fini(&taking.word);
	buf_fini(&next);
	buf_fini(&text);
	strata_arena_fini(&arena);
	return rc;
}
