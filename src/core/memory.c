/*
 * The allocator handle: malloc with an account, a limit and a failure on demand. Blocks carry no header;
 * the caller, who knows the size, says it again when it gives the block back.
 */
#include <strata/memory.h>

#include "memory_int.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool memory_may_allocate(struct strata_memory *memory)
{
	memory->calls++;
	if (memory->fail_at == 0 || memory->calls < memory->fail_at)
		return true;
	return memory->calls > memory->fail_at && !memory->fail_from_there;
}

static bool over_limit(const struct strata_memory *memory, size_t more_bytes)
{
	if (memory->limit_bytes == 0)
		return false;
	return memory->used_bytes > memory->limit_bytes ||
	       more_bytes > memory->limit_bytes - memory->used_bytes;
}

static void account(struct strata_memory *memory, size_t more_bytes)
{
	memory->used_bytes += more_bytes;
	if (memory->used_bytes > memory->peak_bytes)
		memory->peak_bytes = memory->used_bytes;
}

void *memory_get_uncounted(struct strata_memory *memory, size_t size_bytes)
{
	if (size_bytes == 0 || over_limit(memory, size_bytes))
		return NULL;
	void *block = calloc(1, size_bytes);

	if (block)
		account(memory, size_bytes);
	return block;
}

void *strata_memory_get(struct strata_memory *memory, size_t size_bytes)
{
	return memory_may_allocate(memory) ? memory_get_uncounted(memory, size_bytes) : NULL;
}

void *strata_memory_resize(struct strata_memory *memory, void *block, size_t old_bytes,
			   size_t new_bytes)
{
	assert(new_bytes > 0 && (block || old_bytes == 0));
	if (!memory_may_allocate(memory))
		return NULL;
	if (new_bytes > old_bytes && over_limit(memory, new_bytes - old_bytes))
		return NULL;
	char *moved = realloc(block, new_bytes);

	if (!moved)
		return NULL;
	memory->used_bytes -= old_bytes;
	account(memory, new_bytes);
	if (new_bytes > old_bytes)
		memset(moved + old_bytes, 0, new_bytes - old_bytes);
	return moved;
}

void strata_memory_put(struct strata_memory *memory, void *block, size_t size_bytes)
{
	if (!block)
		return;
	assert(memory->used_bytes >= size_bytes);
	memory->used_bytes -= size_bytes;
	free(block);
}
