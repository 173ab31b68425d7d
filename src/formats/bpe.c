/* Byte-pair encoding: see bpe.h. Merging goes through a heap of pairs, so that a long word costs n log n. */
#include "formats/bpe.h"

#include "core/container.h"
#include "core/heap.h"
#include "core/option.h"
#include "core/text.h"
#include "formats/unicode.h"

#include <errno.h>
#include <string.h>

struct bpe_pair {
	uint32_t rank, merged;
};

enum {
	FIRST_FREE = 256, /* bytes that have no character of their own get those from here on */
	FREE_COUNT = 68,  /* so many */
};

static bool stands_for_itself(uint32_t code)
{
	return (code >= '!' && code <= '~') || (code >= 0xA1 && code <= 0xAC) ||
	       (code >= 0xAE && code <= 0xFF);
}

uint32_t bpe_code_of_byte(uint8_t byte)
{
	uint32_t code = FIRST_FREE;

	if (stands_for_itself(byte))
		return byte;
	for (uint32_t other = 0; other < byte; other++)
		code += !stands_for_itself(other);
	return code;
}

int bpe_byte_of_code(uint32_t code)
{
	if (code < FIRST_FREE)
		return stands_for_itself(code) ? (int)code : -1;
	for (int byte = 0; code < FIRST_FREE + FREE_COUNT && byte < 256; byte++)
		if (bpe_code_of_byte((uint8_t)byte) == code)
			return byte;
	return -1;
}

int64_t bpe_find(const struct bpe *bpe, const char *text, size_t bytes)
{
	const struct bpe_token *token = map_text_get(&bpe->known, text, bytes);

	return token ? (int64_t)token->id : -1;
}

/* ---- the vocabulary ---- */

static int check_id(const char *name, const json_t *value, struct strata_error *err)
{
	char shown[TEXT_EXCERPT_BYTES];

	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
	    json_integer_value(value) >= STRATA_TOKENIZER_TOKENS_MAX)
		return strata_fail(err, json_is_integer(value) ? -E2BIG : -EBADMSG,
				   "token \"%s\" of the vocabulary has no number from 0 to %d",
				   text_excerpt(name, strlen(name), shown),
				   STRATA_TOKENIZER_TOKENS_MAX - 1);
	return 0;
}

static int add_token(struct bpe *bpe, const char *name, uint32_t id, struct strata_error *err)
{
	struct bpe_token *token = &bpe->tokens[id];

	if (token->text)
		return strata_fail(err, -EBADMSG, "two tokens of the vocabulary have the number %u",
				   id);
	if (map_text_put(&bpe->known, name, strlen(name), token, NULL))
		return strata_fail_memory(err);
	*token = (struct bpe_token){ map_text_find(&bpe->known, name, strlen(name))->key,
				     strlen(name), id };
	return 0;
}

static int read_tokens(struct bpe *bpe, json_t *json, struct strata_error *err)
{
	const char *name;
	json_t *value;
	int rc = 0;

	if (!json_is_object(json) || json_object_size(json) == 0)
		return strata_fail(err, -EBADMSG,
				   "the vocabulary is not {\"token\": number, …} as vocab.json is");
	json_object_foreach(json, name, value)
	{
		if ((rc = check_id(name, value, err)))
			return rc;
		if ((size_t)json_integer_value(value) >= bpe->token_count)
			bpe->token_count = (size_t)json_integer_value(value) + 1;
	}
	bpe->tokens = strata_memory_get(bpe->memory, bpe->token_count * sizeof(*bpe->tokens));
	if (!bpe->tokens)
		return strata_fail_memory(err);
	json_object_foreach(json, name, value)
	{
		if ((rc = add_token(bpe, name, (uint32_t)json_integer_value(value), err)))
			return rc;
	}
	return 0;
}

static void find_bytes(struct bpe *bpe)
{
	for (int byte = 0; byte < 256; byte++) {
		char text[UNICODE_UTF8_MAX + sizeof(BPE_WORD_END)];
		size_t bytes = unicode_encode(bpe_code_of_byte((uint8_t)byte), text);

		memcpy(text + bytes, BPE_WORD_END, sizeof(BPE_WORD_END));
		bpe->bytes[byte] = bpe_find(bpe, text, bytes);
		bpe->last_bytes[byte] = bpe_find(bpe, text, bytes + strlen(BPE_WORD_END));
	}
}

/* ---- the pairs ---- */

static uint64_t key_of(uint32_t left, uint32_t right)
{
	return (uint64_t)left << 32 | right;
}

static int fail_line(const char *line, size_t length, size_t number, const char *why,
		     struct strata_error *err)
{
	char shown[TEXT_EXCERPT_BYTES];

	return strata_fail(err, -EBADMSG, "line %zu of the merges is \"%s\"; %s", number,
			   text_excerpt(line, length, shown), why);
}

static int add_pair(struct bpe *bpe, const char *line, size_t length, size_t number, size_t rank,
		    struct strata_error *err)
{
	const char *blank = memchr(line, ' ', length);
	size_t left_bytes = blank ? (size_t)(blank - line) : 0;
	char joined[STRATA_TOKENIZER_TOKEN_BYTES_MAX];

	if (length > sizeof(joined))
		return strata_fail(err, -E2BIG, "line %zu of the merges has more than %d bytes",
				   number, STRATA_TOKENIZER_TOKEN_BYTES_MAX);
	if (!blank || left_bytes == 0 || left_bytes + 1 == length)
		return fail_line(line, length, number, "expected two tokens with a blank between",
				 err);
	memcpy(joined, line, left_bytes);
	memcpy(joined + left_bytes, blank + 1, length - left_bytes - 1);
	int64_t left = bpe_find(bpe, line, left_bytes);
	int64_t right = bpe_find(bpe, blank + 1, length - left_bytes - 1);
	int64_t merged = bpe_find(bpe, joined, length - 1);

	if (left < 0 || right < 0 || merged < 0)
		return fail_line(line, length, number,
				 "the vocabulary lacks one of the two or what they become", err);
	uint64_t key = key_of((uint32_t)left, (uint32_t)right);

	if (map_u64_get(&bpe->pairs, key))
		return 0; /* the first one counts */
	bpe->rows[rank] = (struct bpe_pair){ (uint32_t)rank, (uint32_t)merged };
	return map_u64_put(&bpe->pairs, key, &bpe->rows[rank], NULL) ? strata_fail_memory(err) : 0;
}

static int read_pairs(struct bpe *bpe, const char *text, size_t length, struct strata_error *err)
{
	size_t lines = length > 0, rank = 0, number = 1;
	int rc = 0;

	for (size_t i = 0; i < length; i++)
		lines += text[i] == '\n';
	if (lines > STRATA_TOKENIZER_MERGES_MAX)
		return strata_fail(err, -E2BIG, "the merges have %zu lines; at most %d", lines,
				   STRATA_TOKENIZER_MERGES_MAX);
	bpe->row_room = lines + 1;
	bpe->rows = strata_memory_get(bpe->memory, bpe->row_room * sizeof(*bpe->rows));
	if (!bpe->rows)
		return strata_fail_memory(err);
	for (size_t at = 0, end; rc == 0 && at < length; at = end + 1, number++) {
		const char *newline = memchr(text + at, '\n', length - at);

		end = newline ? (size_t)(newline - text) : length;
		size_t bytes = end - at - (end > at && text[end - 1] == '\r');

		if (bytes && !(number == 1 && text[at] == '#' &&
			       strncmp(text + at, "#version", bytes < 8 ? bytes : 8) == 0))
			rc = add_pair(bpe, text + at, bytes, number, rank++, err);
	}
	return rc;
}

int bpe_init(struct bpe *bpe, const char *vocab, size_t vocab_length, const char *merges,
	     size_t merges_length, struct strata_memory *memory, struct strata_error *err)
{
	json_t *json;

	*bpe = (struct bpe){ .memory = memory };
	map_text_init(&bpe->known, memory);
	map_u64_init(&bpe->pairs, memory);
	int rc = option_load_json(vocab, vocab_length, &json, err);

	if (rc)
		return rc;
	rc = read_tokens(bpe, json, err);
	json_decref(json);
	if (rc)
		return rc;
	find_bytes(bpe);
	return read_pairs(bpe, merges, merges_length, err);
}

void bpe_fini(struct bpe *bpe)
{
	map_u64_fini(&bpe->pairs);
	map_text_fini(&bpe->known);
	strata_memory_put(bpe->memory, bpe->rows, bpe->row_room * sizeof(*bpe->rows));
	strata_memory_put(bpe->memory, bpe->tokens, bpe->token_count * sizeof(*bpe->tokens));
}

/* ---- merging ---- */

/* A token of the word that is being merged; in the heap: with the one behind it, it is a pair. */
struct piece {
	struct heap_node node;
	uint32_t token, merged;
	struct piece *before, *behind;
};

/* Looks again whether a piece and the one behind it are a pair. */
static void look(const struct bpe *bpe, struct heap *heap, struct piece *piece,
		 const struct piece *first)
{
	const struct bpe_pair *pair =
		piece->behind ? map_u64_get(&bpe->pairs, key_of(piece->token, piece->behind->token))
			      : NULL;

	if (!pair) {
		if (heap_node_in(&piece->node))
			heap_remove(heap, &piece->node);
		return;
	}
	uint64_t key = (uint64_t)pair->rank << 32 | (uint64_t)(piece - first);

	piece->merged = pair->merged;
	if (heap_node_in(&piece->node))
		heap_update(heap, &piece->node, key);
	else
		(void)heap_push(heap, &piece->node, key); /* there is room for all */
}

static void merge_one(const struct bpe *bpe, struct heap *heap, struct piece *piece,
		      const struct piece *first)
{
	struct piece *gone = piece->behind;

	piece->token = piece->merged;
	piece->behind = gone->behind;
	if (gone->behind)
		gone->behind->before = piece;
	if (heap_node_in(&gone->node))
		heap_remove(heap, &gone->node);
	look(bpe, heap, piece, first);
	if (piece->before)
		look(bpe, heap, piece->before, first);
}

int bpe_merge(const struct bpe *bpe, uint32_t *tokens, size_t count, struct strata_arena *arena,
	      size_t *ret_count, struct strata_error *err)
{
	struct piece *pieces = strata_arena_array(arena, count, sizeof(*pieces));
	struct heap_node *node;
	struct heap heap;
	size_t left = 0;

	heap_init(&heap, arena->memory, NULL, NULL);
	if (!pieces || heap_reserve(&heap, count))
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++)
		pieces[i] = (struct piece){ .token = tokens[i],
					    .before = i ? &pieces[i - 1] : NULL,
					    .behind = i + 1 < count ? &pieces[i + 1] : NULL };
	for (size_t i = 0; i < count; i++)
		look(bpe, &heap, &pieces[i], pieces);
	while ((node = heap_pop(&heap)))
		merge_one(bpe, &heap, container_of(node, struct piece, node), pieces);
	for (const struct piece *piece = count ? pieces : NULL; piece; piece = piece->behind)
		tokens[left++] = piece->token;
	heap_fini(&heap);
	*ret_count = left;
	return 0;
}
