/*
 * The program with memory that runs out, for tests/cli/no_memory.py. Linked in front of the arena's functions (--wrap), it lets the allocation with the number
 * STRATA_FAIL_ALLOCATION fail, with all later ones if STRATA_FAIL_ALL is set, and writes into the file STRATA_ALLOCATIONS how many there were.
 * The first arena is main's, and its memory that of the whole command.
 */
#include <strata/memory.h>

#include <stdio.h>
#include <stdlib.h>

void __real_strata_arena_init(struct strata_arena *arena, struct strata_memory *memory,
			      size_t limit_bytes);
void __wrap_strata_arena_init(struct strata_arena *arena, struct strata_memory *memory,
			      size_t limit_bytes);
void __real_strata_arena_fini(struct strata_arena *arena);
void __wrap_strata_arena_fini(struct strata_arena *arena);

static const struct strata_arena *of_main;

void __wrap_strata_arena_init(struct strata_arena *arena, struct strata_memory *memory,
			      size_t limit_bytes)
{
	const char *at = getenv("STRATA_FAIL_ALLOCATION");

	__real_strata_arena_init(arena, memory, limit_bytes);
	if (of_main)
		return;
	of_main = arena;
	memory->fail_at = at ? strtoull(at, NULL, 10) : 0;
	memory->fail_from_there = getenv("STRATA_FAIL_ALL") != NULL;
}

void __wrap_strata_arena_fini(struct strata_arena *arena)
{
	const char *path = arena == of_main ? getenv("STRATA_ALLOCATIONS") : NULL;
	FILE *file = path ? fopen(path, "w") : NULL;

	if (file) {
		fprintf(file, "%llu\n", (unsigned long long)arena->memory->calls);
		fclose(file);
	}
	__real_strata_arena_fini(arena);
}
