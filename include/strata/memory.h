/*
 * Memory. Decision code never calls malloc: what lives long comes from a struct strata_memory handed
 * in at creation, scratch of one call from a struct strata_arena. Both have a limit, and a memory can
 * be told to fail, which is how tests reach every out-of-memory path.
 *
 * Neither is thread-safe: each has one owner.
 */
#ifndef STRATA_MEMORY_H
#define STRATA_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* An allocator with an account. Zero-initialised it is ready, without a limit. */
struct strata_memory {
	size_t limit_bytes;   /* most that may be in use; 0: no limit */
	size_t used_bytes;    /* in use now */
	size_t peak_bytes;    /* most ever in use */
	uint64_t calls;       /* allocations asked for so far, arena allocations included */
	uint64_t fail_at;     /* the call with this number fails (first is 1); 0: none */
	bool fail_from_there; /* and so does every later one */
};

/* size_bytes zeroed bytes, aligned for any type, or NULL. Size 0 gives NULL. */
void *strata_memory_get(struct strata_memory *memory, size_t size_bytes);

/* Changes a block's size; the grown part is zeroed. Like realloc: NULL leaves the old block as it was.
 * old pointer NULL (with old size 0) allocates. new size must not be 0. */
void *strata_memory_resize(struct strata_memory *memory, void *block, size_t old_bytes,
			   size_t new_bytes);

/* Gives back a block of the size it was asked for. NULL is nothing. */
void strata_memory_put(struct strata_memory *memory, void *block, size_t size_bytes);

/* Scratch memory that is freed in one call. */
struct strata_arena {
	struct strata_memory *memory;      /* borrowed until _fini */
	struct strata_arena_chunk *chunks; /* newest first; owned */
	size_t limit_bytes;                /* most that may be handed out; 0: no limit of its own */
	size_t used_bytes;                 /* handed out since _init or the last _reset */
};

void strata_arena_init(struct strata_arena *arena, struct strata_memory *memory,
		       size_t limit_bytes);

/* Frees everything. The arena may be used again (one chunk is not kept). */
void strata_arena_fini(struct strata_arena *arena);

/* Forgets everything handed out but keeps one chunk, so that a loop allocates nothing in the long run. */
void strata_arena_reset(struct strata_arena *arena);

/* size_bytes zeroed bytes aligned to 16, valid until _reset or _fini; NULL when over the limit or out of
 * memory. Size 0 gives a valid pointer that must not be read. */
void *strata_arena_get(struct strata_arena *arena, size_t size_bytes);

/* count × size_bytes, NULL on overflow too. */
void *strata_arena_array(struct strata_arena *arena, size_t count, size_t size_bytes);

/* A copy of length bytes with a NUL behind them. */
char *strata_arena_text(struct strata_arena *arena, const char *text, size_t length);

char *strata_arena_printf(struct strata_arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
