/*
 * Tokenizers: see strata/tokenizer.h. A text becomes characters, is cleaned as its family does, is cut at special tokens and into words
 * (tokenizer_split.c, unigram_rules.c), and each word's bytes are merged (bpe.c) or its pieces found (unigram.c).
 */
#include "formats/bpe.h"
#include "formats/tokenizer_conf.h"
#include "formats/tokenizer_split.h"
#include "formats/unicode.h"
#include "formats/unigram_conf.h"
#include "formats/unigram_rules.h"

#include "core/buf.h"
#include "core/text.h"

#include <errno.h>
#include <string.h>

struct strata_tokenizer {
	struct strata_memory *memory;
	struct strata_arena arena; /* of the configuration */
	struct bpe bpe;
	struct unigram unigram; /* one of the two */
	struct unigram_rules rules;
	struct tokenizer_conf conf;
};

static size_t length_of(const char *text, size_t length)
{
	return length == STRATA_TEXT_NUL ? strlen(text) : length;
}

/* ---- making ---- */

static int make_unigram(struct strata_tokenizer *it, const struct strata_tokenizer_files *files,
			struct strata_error *err)
{
	json_t *json = NULL, *config = NULL;
	int rc = tokenizer_json_load(files->json, length_of(files->json, files->json_length),
				     "tokenizer.json", &json, err);

	if (rc == 0 && files->config)
		rc = tokenizer_json_load(files->config,
					 length_of(files->config, files->config_length),
					 "tokenizer_config.json", &config, err);
	if (rc == 0)
		rc = unigram_read(json_object_get(json, "model"), &it->arena, &it->unigram, err);
	if (rc == 0)
		rc = unigram_rules_read(json, &it->arena, &it->rules, err);
	if (rc == 0)
		rc = unigram_conf_read(json, config, &it->unigram, &it->arena, &it->conf, err);
	json_decref(config);
	json_decref(json);
	return rc;
}

static int make(struct strata_tokenizer *it, const struct strata_tokenizer_files *files,
		struct strata_error *err)
{
	int rc;

	if (files->json)
		return make_unigram(it, files, err);
	if (!files->vocab || !files->merges)
		return strata_fail(err, -EINVAL,
				   "a tokenizer needs vocab.json and merges.txt; there is no %s",
				   files->vocab ? "merges.txt" : "vocab.json");
	rc = bpe_init(&it->bpe, files->vocab, length_of(files->vocab, files->vocab_length),
		      files->merges, length_of(files->merges, files->merges_length), it->memory,
		      err);
	return rc ? rc : tokenizer_conf_read(files, &it->bpe, &it->arena, &it->conf, err);
}

int strata_tokenizer_new(const struct strata_tokenizer_files *files, struct strata_memory *memory,
			 struct strata_tokenizer **ret_tokenizer, struct strata_error *err)
{
	struct strata_tokenizer *it = strata_memory_get(memory, sizeof(*it));

	if (!it)
		return strata_fail_memory(err);
	it->memory = it->bpe.memory = memory;
	map_text_init(&it->bpe.known, memory);
	map_u64_init(&it->bpe.pairs, memory);
	map_u64_init(&it->unigram.edges, memory);
	strata_arena_init(&it->arena, memory, 0);
	int rc = make(it, files, err);

	if (rc) {
		strata_tokenizer_free(it);
		return rc;
	}
	*ret_tokenizer = it;
	return 0;
}

void strata_tokenizer_free(struct strata_tokenizer *tokenizer)
{
	if (!tokenizer)
		return;
	bpe_fini(&tokenizer->bpe);
	unigram_fini(&tokenizer->unigram);
	strata_arena_fini(&tokenizer->arena);
	strata_memory_put(tokenizer->memory, tokenizer, sizeof(*tokenizer));
}

int64_t strata_tokenizer_start(const struct strata_tokenizer *tokenizer)
{
	return tokenizer->conf.start;
}

int64_t strata_tokenizer_end(const struct strata_tokenizer *tokenizer)
{
	return tokenizer->conf.end;
}

int64_t strata_tokenizer_pad(const struct strata_tokenizer *tokenizer)
{
	return tokenizer->conf.pad;
}

int64_t strata_tokenizer_longest(const struct strata_tokenizer *tokenizer)
{
	return tokenizer->conf.longest;
}

/* ---- encoding ---- */

/* What one text becomes. */
struct encoding {
	const struct strata_tokenizer *it;
	struct strata_arena *arena;
	uint32_t *codes; /* the text, cleaned */
	size_t code_count;
	uint32_t *word; /* room for the bytes of all of it */
	int64_t *ids;   /* likewise; of a unigram model as they come */
	size_t id_count, id_room;
	struct unigram_step *steps; /* for the longest word so far */
	size_t step_room;
};

/* CLIP's cleaning: composed, white space as single blanks, lower case. */
static int clean(struct encoding *text, struct strata_error *err)
{
	uint32_t *codes, *lower;
	size_t count, kept = 0;
	int rc = unicode_compose(text->codes, text->code_count, text->arena, &codes, &count, err);

	if (rc)
		return rc;
	lower = strata_arena_array(text->arena, count, UNICODE_LOWER_MAX * sizeof(*lower));
	if (!lower)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		if (!unicode_is_space(codes[i]))
			kept += unicode_lower(codes[i], lower + kept);
		else if (kept && lower[kept - 1] != ' ')
			lower[kept++] = ' ';
	}
	text->codes = lower;
	text->code_count = kept - (kept && lower[kept - 1] == ' ');
	return 0;
}

/* The special token at a place; NULL: there is none. The longest counts. */
static const struct tokenizer_special *special_at(const struct encoding *text, size_t at)
{
	const struct tokenizer_special *best = NULL;

	for (size_t i = 0; i < text->it->conf.special_count; i++) {
		const struct tokenizer_special *special = &text->it->conf.specials[i];

		if (special->count <= text->code_count - at &&
		    (!best || special->count > best->count) &&
		    memcmp(special->codes, text->codes + at,
			   special->count * sizeof(*special->codes)) == 0)
			best = special;
	}
	return best;
}

/* The tokens of one word's bytes. A byte that the vocabulary lacks becomes the unknown token, or nothing. */
static int add_word(struct encoding *text, size_t from, size_t to, struct strata_error *err)
{
	const struct strata_tokenizer *it = text->it;
	bool clip = it->conf.style == STRATA_TOKENIZER_CLIP;
	size_t count = 0, merged;
	char bytes[UNICODE_UTF8_MAX];

	for (size_t i = from; i < to; i++) {
		size_t many = unicode_encode(text->codes[i], bytes);

		for (size_t k = 0; k < many; k++) {
			bool last = clip && i + 1 == to && k + 1 == many;
			int64_t id = last ? it->bpe.last_bytes[(uint8_t)bytes[k]]
					  : it->bpe.bytes[(uint8_t)bytes[k]];

			if (id < 0)
				id = it->conf.unknown;
			if (id >= 0)
				text->word[count++] = (uint32_t)id;
		}
	}
	int rc = bpe_merge(&it->bpe, text->word, count, text->arena, &merged, err);

	for (size_t i = 0; rc == 0 && i < merged; i++)
		text->ids[text->id_count++] = text->word[i];
	return rc;
}

/* The stretch between two special tokens. */
static int add_words(struct encoding *text, size_t from, size_t to, struct strata_error *err)
{
	enum strata_tokenizer_style style = text->it->conf.style;
	int rc = 0;

	for (size_t at = from, end; rc == 0 && at < to; at = end) {
		end = tokenizer_word_end(style, text->codes, to, at);
		if (style != STRATA_TOKENIZER_CLIP || !unicode_is_space(text->codes[at]))
			rc = add_word(text, at, end, err);
	}
	return rc;
}

/* ---- pieces of a unigram model ---- */

static int reserve(struct encoding *text, size_t bytes, struct strata_error *err)
{
	if (text->id_room - text->id_count < bytes) {
		size_t room = 2 * (text->id_count + bytes);
		int64_t *ids = strata_arena_array(text->arena, room, sizeof(*ids));

		if (!ids)
			return strata_fail_memory(err);
		if (text->id_count)
			memcpy(ids, text->ids, text->id_count * sizeof(*ids));
		text->ids = ids;
		text->id_room = room;
	}
	if (text->step_room < bytes + 1) {
		text->step_room = 2 * (bytes + 1);
		text->steps =
			strata_arena_array(text->arena, text->step_room, sizeof(*text->steps));
		if (!text->steps) {
			text->step_room = 0;
			return strata_fail_memory(err);
		}
	}
	return 0;
}

static int add_pieces(void *context, const char *word, size_t bytes, struct strata_error *err)
{
	struct encoding *text = context;
	int rc = reserve(text, bytes, err);

	if (rc == 0)
		text->id_count += unigram_encode(&text->it->unigram, word, bytes, text->steps,
						 text->ids + text->id_count);
	return rc;
}

static int add_stretch(struct encoding *text, size_t from, size_t to, struct strata_error *err)
{
	if (text->it->conf.style != STRATA_TOKENIZER_UNIGRAM)
		return add_words(text, from, to, err);
	return unigram_rules_apply(&text->it->rules, text->codes + from, to - from,
				   text->arena->memory, add_pieces, text, err);
}

/* A special token, with the white space around it that belongs to it. */
static int add_special(struct encoding *text, size_t from, size_t at, size_t *ret_from,
		       const struct tokenizer_special *special, struct strata_error *err)
{
	size_t to = at, next = at + special->count;
	int rc;

	while (special->left && to > from && unicode_is_space(text->codes[to - 1]))
		to--;
	while (special->right && next < text->code_count && unicode_is_space(text->codes[next]))
		next++;
	rc = add_stretch(text, from, to, err);
	if (rc == 0 && text->it->conf.style == STRATA_TOKENIZER_UNIGRAM)
		rc = reserve(text, 1, err);
	if (rc)
		return rc;
	text->ids[text->id_count++] = special->id;
	*ret_from = next;
	return 0;
}

static int add_all(struct encoding *text, struct strata_error *err)
{
	size_t from = 0, at = 0;
	int rc = 0;

	while (rc == 0 && at < text->code_count) {
		const struct tokenizer_special *special =
			text->it->conf.begins[text->codes[at] & 0xFF] ? special_at(text, at) : NULL;

		if (!special) {
			at++;
			continue;
		}
		rc = add_special(text, from, at, &from, special, err);
		at = from;
	}
	return rc ? rc : add_stretch(text, from, at, err);
}

int strata_tokenizer_encode(const struct strata_tokenizer *tokenizer, const char *text,
			    size_t length, struct strata_arena *arena, int64_t **ret_ids,
			    size_t *ret_count, struct strata_error *err)
{
	struct encoding it = { .it = tokenizer, .arena = arena };

	length = length_of(text, length);
	if (length > STRATA_TOKENIZER_TEXT_BYTES_MAX)
		return strata_fail(err, -E2BIG, "the text has %zu bytes; at most %d", length,
				   STRATA_TOKENIZER_TEXT_BYTES_MAX);
	int rc = unicode_decode(text, length, arena, &it.codes, &it.code_count, err);

	if (rc == 0 && tokenizer->conf.style == STRATA_TOKENIZER_CLIP)
		rc = clean(&it, err);
	if (rc)
		return rc;
	it.word = strata_arena_array(arena, it.code_count, UNICODE_UTF8_MAX * sizeof(*it.word));
	it.ids = strata_arena_array(arena, it.code_count, UNICODE_UTF8_MAX * sizeof(*it.ids));
	if (!it.word || !it.ids)
		return strata_fail_memory(err);
	it.id_room = it.code_count * UNICODE_UTF8_MAX;
	rc = add_all(&it, err);
	if (rc)
		return rc;
	*ret_ids = it.ids;
	*ret_count = it.id_count;
	return 0;
}

int strata_tokenizer_prompt(const struct strata_tokenizer *tokenizer, const char *text,
			    size_t length, size_t room, struct strata_arena *arena,
			    int64_t *ret_ids, struct strata_error *err)
{
	int64_t start = tokenizer->conf.start, end = tokenizer->conf.end, pad = tokenizer->conf.pad;
	size_t count, at = 0;
	int64_t *ids;

	bool unigram = tokenizer->conf.style == STRATA_TOKENIZER_UNIGRAM;

	if ((start < 0 && !unigram) || end < 0 || room < 2)
		return strata_fail(err, -EINVAL,
				   "the tokenizer has no start and end for a prompt of %zu tokens",
				   room);
	int rc = strata_tokenizer_encode(tokenizer, text, length, arena, &ids, &count, err);

	if (rc)
		return rc;
	if (start >= 0)
		ret_ids[at++] = start;
	for (size_t i = 0; i < count && at < room - 1; i++)
		ret_ids[at++] = ids[i];
	ret_ids[at++] = end;
	while (at < room)
		ret_ids[at++] = pad >= 0 ? pad : end;
	return 0;
}

/* ---- decoding ---- */

/* A piece with blanks where its marks are; the first blank of a text is no blank. */
static void add_piece(const struct strata_tokenizer *it, const struct unigram_piece *piece,
		      struct buf *buf)
{
	size_t mark = it->rules.mark ? strlen(it->rules.mark) : 0;

	for (size_t at = 0; at < piece->bytes;) {
		bool blank = mark && piece->bytes - at >= mark &&
			     memcmp(piece->text + at, it->rules.mark, mark) == 0;

		if (!blank)
			buf_add_char(buf, piece->text[at]);
		else if (buf->length || !it->rules.prepends)
			buf_add_char(buf, ' ');
		at += blank ? mark : 1;
	}
}

/* The bytes that a token's characters stand for; a word's end is a blank. */
static void add_token(const struct strata_tokenizer *it, const struct bpe_token *token,
		      struct buf *buf)
{
	size_t bytes = token->bytes, tail = strlen(BPE_WORD_END), step;
	bool ends = it->conf.style == STRATA_TOKENIZER_CLIP && bytes >= tail &&
		    memcmp(token->text + bytes - tail, BPE_WORD_END, tail) == 0;

	bytes -= ends ? tail : 0;
	for (size_t at = 0; at < bytes; at += step) {
		uint32_t code = 0;

		step = text_decode(token->text + at, bytes - at, &code);
		int byte = step ? bpe_byte_of_code(code) : -1;

		step = step ? step : 1;
		if (byte >= 0)
			buf_add_char(buf, (char)byte);
		else
			buf_add_bytes(buf, token->text + at, step);
	}
	if (ends)
		buf_add_char(buf, ' ');
}

static const struct tokenizer_special *special_of(const struct strata_tokenizer *it, int64_t id)
{
	for (size_t i = 0; i < it->conf.special_count; i++)
		if (it->conf.specials[i].id == id)
			return &it->conf.specials[i];
	return NULL;
}

static int add_id(const struct strata_tokenizer *it, int64_t id, struct buf *buf,
		  struct strata_error *err)
{
	const struct tokenizer_special *special = special_of(it, id);

	if (id == it->conf.start || id == it->conf.end || id == it->conf.pad)
		return 0;
	if (special)
		buf_add_bytes(buf, special->text, special->bytes);
	else if (id >= 0 && (uint64_t)id < it->unigram.piece_count)
		add_piece(it, &it->unigram.pieces[id], buf);
	else if (id >= 0 && (uint64_t)id < it->bpe.token_count && it->bpe.tokens[id].text)
		add_token(it, &it->bpe.tokens[id], buf);
	else
		return strata_fail(err, -EINVAL, "%lld is no token of the vocabulary",
				   (long long)id);
	return 0;
}

int strata_tokenizer_decode(const struct strata_tokenizer *tokenizer, const int64_t *ids,
			    size_t count, struct strata_arena *arena, char **ret_text,
			    size_t *ret_length, struct strata_error *err)
{
	struct buf buf;
	int rc = 0;

	buf_init(&buf, arena->memory, 0);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = add_id(tokenizer, ids[i], &buf, err);
	if (rc == 0)
		rc = buf_check(&buf, err);
	if (rc == 0 && tokenizer->conf.style == STRATA_TOKENIZER_CLIP && buf.length)
		buf.length -= buf.text[buf.length - 1] == ' ';
	char *text = rc ? NULL : strata_arena_text(arena, buf.text, buf.length);

	if (rc == 0 && !text)
		rc = strata_fail_memory(err);
	if (rc == 0) {
		*ret_text = text;
		*ret_length = buf.length;
	}
	buf_fini(&buf);
	return rc;
}
