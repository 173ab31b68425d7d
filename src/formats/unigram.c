/* Unigram models: see unigram.h. Pieces are a tree of bytes, so that one walk from a place meets every piece that begins there. */
#include "formats/unigram.h"

#include "core/text.h"

#include <errno.h>
#include <string.h>

#define UNKNOWN_PENALTY 10.0 /* below the worst piece, as in SentencePiece */

/* ---- reading ---- */

static int add_piece(struct unigram *it, int64_t id, struct strata_error *err)
{
	const struct unigram_piece *piece = &it->pieces[id];
	uint64_t node = 0;

	for (size_t i = 0; i < piece->bytes; i++) {
		uint64_t key = node << 8 | (uint8_t)piece->text[i];
		uintptr_t next = (uintptr_t)map_u64_get(&it->edges, key);

		if (!next) {
			next = it->node_count;
			if (map_u64_put(&it->edges, key, (void *)next, NULL))
				return strata_fail_memory(err);
			it->ends[it->node_count++] = -1;
		}
		node = next;
	}
	if (piece->bytes)
		it->ends[node] = id; /* the last of two alike counts */
	return 0;
}

/* ["text", score] */
static int read_piece(const json_t *row, size_t index, struct strata_arena *arena,
		      struct unigram_piece *ret_piece, struct strata_error *err)
{
	const json_t *text = json_array_get(row, 0), *score = json_array_get(row, 1);

	if (!json_is_string(text) || !json_is_number(score))
		return strata_fail(err, -EBADMSG,
				   "piece %zu of the vocabulary is not [\"text\", score]", index);
	ret_piece->bytes = json_string_length(text);
	if (ret_piece->bytes > STRATA_TOKENIZER_TOKEN_BYTES_MAX)
		return strata_fail(err, -E2BIG,
				   "piece %zu of the vocabulary has %zu bytes; at most %d", index,
				   ret_piece->bytes, STRATA_TOKENIZER_TOKEN_BYTES_MAX);
	ret_piece->text = strata_arena_text(arena, json_string_value(text), ret_piece->bytes);
	ret_piece->score = json_number_value(score);
	return ret_piece->text ? 0 : strata_fail_memory(err);
}

static int read_pieces(const json_t *vocab, struct strata_arena *arena, struct unigram *it,
		       struct strata_error *err)
{
	size_t bytes = 0;
	int rc = 0;

	it->pieces = strata_arena_array(arena, it->piece_count, sizeof(*it->pieces));
	if (!it->pieces)
		return strata_fail_memory(err);
	for (size_t i = 0; i < it->piece_count; i++) {
		rc = read_piece(json_array_get(vocab, i), i, arena, &it->pieces[i], err);
		if (rc)
			return rc;
		bytes += it->pieces[i].bytes;
		if (i == 0 || it->pieces[i].score < it->unknown_score)
			it->unknown_score = it->pieces[i].score;
	}
	it->unknown_score -= UNKNOWN_PENALTY;
	it->ends = strata_arena_array(arena, bytes + 1, sizeof(*it->ends));
	if (!it->ends)
		return strata_fail_memory(err);
	it->ends[0] = -1;
	it->node_count = 1;
	for (size_t i = 0; rc == 0 && i < it->piece_count; i++)
		rc = add_piece(it, (int64_t)i, err);
	return rc;
}

int unigram_read(const json_t *model, struct strata_arena *arena, struct unigram *unigram,
		 struct strata_error *err)
{
	const json_t *vocab = json_object_get(model, "vocab");
	const json_t *unknown = json_object_get(model, "unk_id");
	const char *type = json_string_value(json_object_get(model, "type"));
	char shown[TEXT_EXCERPT_BYTES];

	if (!type || strcmp(type, "Unigram") != 0)
		return strata_fail(err, -ENOTSUP, "the tokenizer's model is %s; expected Unigram",
				   type ? text_excerpt(type, strlen(type), shown) : "of no type");
	unigram->piece_count = json_array_size(vocab);
	if (unigram->piece_count == 0)
		return strata_fail(err, -EBADMSG, "the vocabulary is not a list of pieces");
	if (unigram->piece_count > STRATA_TOKENIZER_TOKENS_MAX)
		return strata_fail(err, -E2BIG, "the vocabulary has %zu pieces; at most %d",
				   unigram->piece_count, STRATA_TOKENIZER_TOKENS_MAX);
	if (!json_is_number(unknown) || !(json_number_value(unknown) >= 0) ||
	    !(json_number_value(unknown) < (double)unigram->piece_count))
		return strata_fail(err, -EBADMSG, "unk_id is not the number of a piece");
	if (json_is_true(json_object_get(model, "byte_fallback")))
		return strata_fail(err, -ENOTSUP,
				   "the tokenizer writes unknown characters as bytes "
				   "(byte_fallback), which is not supported");
	unigram->unknown = (int64_t)json_number_value(unknown);
	return read_pieces(vocab, arena, unigram, err);
}

void unigram_fini(struct unigram *unigram)
{
	map_u64_fini(&unigram->edges);
}

/* ---- encoding ---- */

static uint64_t next_node(const struct unigram *it, uint64_t node, char byte)
{
	return (uintptr_t)map_u64_get(&it->edges, node << 8 | (uint8_t)byte);
}

int64_t unigram_find(const struct unigram *unigram, const char *text, size_t bytes)
{
	uint64_t node = 0;

	for (size_t i = 0; i < bytes; i++)
		if (!(node = next_node(unigram, node, text[i])))
			return -1;
	return unigram->ends[node];
}

static void offer(struct unigram_step *step, size_t from, int64_t id, double score)
{
	if (!step->reached || score > step->score)
		*step = (struct unigram_step){ score, from, id, true };
}

static size_t character_bytes(char first)
{
	uint8_t byte = (uint8_t)first;

	return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/* Every piece that begins at a place, and the unknown one where none is just its first character. */
static void go_on(const struct unigram *it, const char *word, size_t bytes, size_t from,
		  size_t character, struct unigram_step *steps)
{
	bool single = false;
	uint64_t node = 0;

	for (size_t end = from; end < bytes;) {
		node = next_node(it, node, word[end++]);
		if (!node)
			break;
		int64_t id = it->ends[node];

		if (id < 0)
			continue;
		offer(&steps[end], from, id, it->pieces[id].score + steps[from].score);
		single = single || end - from == character;
	}
	if (!single)
		offer(&steps[from + character], from, it->unknown,
		      it->unknown_score + steps[from].score);
}

size_t unigram_encode(const struct unigram *unigram, const char *word, size_t bytes,
		      struct unigram_step *steps, int64_t *ret_ids)
{
	size_t count = 0;

	memset(steps, 0, (bytes + 1) * sizeof(*steps));
	for (size_t from = 0, character; from < bytes; from += character) {
		character = character_bytes(word[from]);
		go_on(unigram, word, bytes, from, character, steps);
	}
	for (size_t end = bytes, from; end > 0; end = from) {
		int64_t id = steps[end].id;

		from = steps[end].from;
		if (id == unigram->unknown) {
			while (from > 0 && steps[from].id == unigram->unknown)
				from = steps[from].from;
			/* What is unknown in parts may be a piece as a whole. */
			id = unigram_find(unigram, word + from, end - from);
			id = id < 0 ? unigram->unknown : id;
		}
		ret_ids[count++] = id;
	}
	for (size_t i = 0; i < count / 2; i++) {
		int64_t kept = ret_ids[i];

		ret_ids[i] = ret_ids[count - 1 - i];
		ret_ids[count - 1 - i] = kept;
	}
	return count;
}
