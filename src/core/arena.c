/*
 * The arena: bump allocation from chunks that double in size, freed together. Every allocation counts
 * as a call of the memory below it, so "fail the n-th allocation" reaches each of them. Under
 * AddressSanitizer only what was handed out may be touched, to the byte.
 */
#include <strata/memory.h>

#include "memory_int.h"
#include "poison.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
	ALIGN_BYTES = 16,
	FIRST_CHUNK_BYTES = 4096,
	LARGEST_CHUNK_BYTES = 1 << 20,
};

struct strata_arena_chunk {
	struct strata_arena_chunk *next;
	size_t size_bytes; /* of the whole block, this header included */
	size_t used_bytes; /* from the start of the block */
	size_t pad;        /* keeps the header a multiple of ALIGN_BYTES */
};
_Static_assert(sizeof(struct strata_arena_chunk) % ALIGN_BYTES == 0, "chunk data must be aligned");

void strata_arena_init(struct strata_arena *arena, struct strata_memory *memory, size_t limit_bytes)
{
	*arena = (struct strata_arena){ .memory = memory, .limit_bytes = limit_bytes };
}

static void free_chunks(struct strata_arena *arena, struct strata_arena_chunk *chunk)
{
	while (chunk) {
		struct strata_arena_chunk *next = chunk->next;

		unpoison(chunk, chunk->size_bytes);
		strata_memory_put(arena->memory, chunk, chunk->size_bytes);
		chunk = next;
	}
}

void strata_arena_fini(struct strata_arena *arena)
{
	free_chunks(arena, arena->chunks);
	arena->chunks = NULL;
	arena->used_bytes = 0;
}

void strata_arena_reset(struct strata_arena *arena)
{
	struct strata_arena_chunk *keep =
		arena->chunks; /* the newest is the largest, but for oddities */

	if (!keep)
		return;
	free_chunks(arena, keep->next);
	keep->next = NULL;
	unpoison(keep, keep->used_bytes);
	memset(keep + 1, 0, keep->used_bytes - sizeof(*keep));
	poison(keep + 1, keep->used_bytes - sizeof(*keep));
	keep->used_bytes = sizeof(*keep);
	arena->used_bytes = 0;
}

static struct strata_arena_chunk *add_chunk(struct strata_arena *arena, size_t need_bytes)
{
	size_t size = arena->chunks ? arena->chunks->size_bytes * 2 : FIRST_CHUNK_BYTES;

	if (size > LARGEST_CHUNK_BYTES)
		size = LARGEST_CHUNK_BYTES;
	if (size < need_bytes + sizeof(struct strata_arena_chunk))
		size = need_bytes + sizeof(struct strata_arena_chunk);
	struct strata_arena_chunk *chunk = memory_get_uncounted(arena->memory, size);

	if (!chunk)
		return NULL;
	chunk->size_bytes = size;
	chunk->used_bytes = sizeof(*chunk);
	chunk->next = arena->chunks;
	arena->chunks = chunk;
	poison(chunk + 1, size - sizeof(*chunk));
	return chunk;
}

void *strata_arena_get(struct strata_arena *arena, size_t size_bytes)
{
	if (!memory_may_allocate(arena->memory) || size_bytes > SIZE_MAX / 2)
		return NULL;
	size_t need = (size_bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;

	if (arena->limit_bytes && need > arena->limit_bytes - arena->used_bytes)
		return NULL;
	struct strata_arena_chunk *chunk = arena->chunks;
	size_t taken = need + POISON_GAP_BYTES;

	if (!chunk || chunk->size_bytes - chunk->used_bytes < taken) {
		chunk = add_chunk(arena, taken);
		if (!chunk)
			return NULL;
	}
	void *block = (char *)chunk + chunk->used_bytes;

	unpoison(block, size_bytes);
	chunk->used_bytes += taken;
	arena->used_bytes += need;
	return block;
}

void *strata_arena_array(struct strata_arena *arena, size_t count, size_t size_bytes)
{
	size_t total;

	if (__builtin_mul_overflow(count, size_bytes, &total))
		return NULL;
	return strata_arena_get(arena, total);
}

char *strata_arena_text(struct strata_arena *arena, const char *text, size_t length)
{
	char *copy = length < SIZE_MAX ? strata_arena_get(arena, length + 1) : NULL;

	if (copy && length)
		memcpy(copy, text, length);
	return copy;
}

char *strata_arena_printf(struct strata_arena *arena, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	char *text = length >= 0 ? strata_arena_get(arena, (size_t)length + 1) : NULL;

	if (!text)
		return NULL;
	va_start(args, format);
	vsnprintf(text, (size_t)length + 1, format, args);
	va_end(args);
	return text;
}
