/*
 * Process ids of merged files. The first file to use an id keeps it; a later one gets a number above any that Linux
 * gives (PID_MAX_LIMIT is 2^22), or, when the id is a text as some programs write, the text with " #2" behind it.
 *
 * One list of rows and two hash tables over it: by what a file calls the process, and by what the merged file does.
 */
#include "core/trace_merge_int.h"

#include <strata/limits.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FIRST_ROOM = 16, FIRST_NUMBER = (1 << 22) + 1 };

void trace_pids_init(struct trace_pids *pids, struct strata_memory *memory)
{
	*pids = (struct trace_pids){ .memory = memory, .next_number = FIRST_NUMBER };
}

static size_t index_bytes(size_t room)
{
	return room * 4 * sizeof(uint32_t);
}

static void free_text(struct trace_pids *pids, char *text)
{
	if (text)
		strata_memory_put(pids->memory, text, strlen(text) + 1);
}

void trace_pids_fini(struct trace_pids *pids)
{
	for (size_t i = 0; i < pids->count; i++) {
		free_text(pids, pids->rows[i].from);
		free_text(pids, pids->rows[i].to);
	}
	strata_memory_put(pids->memory, pids->rows, pids->room * sizeof(struct trace_pid));
	strata_memory_put(pids->memory, pids->index, index_bytes(pids->room));
	trace_pids_init(pids, pids->memory);
}

static uint64_t hash_text(uint64_t seed, const char *text)
{
	uint64_t hash = (seed + 1) * 0x9E3779B97F4A7C15u;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001B3u;
	return hash ^ hash >> 32;
}

/* The place of a row, or the free one where it would be: in the table by (file, from), or with file SIZE_MAX in the
 * table by `to`. */
static uint32_t *find(const struct trace_pids *pids, size_t file, const char *text)
{
	bool by_to = file == SIZE_MAX;
	uint32_t *table = pids->index + (by_to ? pids->room * 2 : 0);
	size_t mask = pids->room * 2 - 1, at = hash_text(file, text) & mask;

	for (; table[at]; at = (at + 1) & mask) {
		const struct trace_pid *row = &pids->rows[table[at] - 1];

		if (by_to ? strcmp(row->to, text) == 0
			  : row->file == file && strcmp(row->from, text) == 0)
			break;
	}
	return &table[at];
}

static void index_row(struct trace_pids *pids, size_t row)
{
	*find(pids, pids->rows[row].file, pids->rows[row].from) = (uint32_t)row + 1;
	*find(pids, SIZE_MAX, pids->rows[row].to) = (uint32_t)row + 1;
}

static int grow(struct trace_pids *pids, struct strata_error *err)
{
	size_t room = pids->room ? pids->room * 2 : FIRST_ROOM;
	uint32_t *index = strata_memory_get(pids->memory, index_bytes(room));

	if (!index)
		return strata_fail_memory(err);
	struct trace_pid *rows = strata_memory_resize(
		pids->memory, pids->rows, pids->room * sizeof(*rows), room * sizeof(*rows));

	if (!rows) {
		strata_memory_put(pids->memory, index, index_bytes(room));
		return strata_fail_memory(err);
	}
	strata_memory_put(pids->memory, pids->index, index_bytes(pids->room));
	pids->rows = rows;
	pids->index = index;
	pids->room = room;
	for (size_t i = 0; i < pids->count; i++)
		index_row(pids, i);
	return 0;
}

/* The next spelling to try, in `to`. */
static void other_id(struct trace_pids *pids, const char *from, unsigned try, char *to, size_t room)
{
	if (from[0] == '"')
		snprintf(to, room, "%.*s #%u\"", (int)strlen(from) - 1, from, try + 2);
	else
		snprintf(to, room, "%" PRIu64, pids->next_number++);
}

static char *copy_text(struct trace_pids *pids, const char *text)
{
	char *copy = strata_memory_get(pids->memory, strlen(text) + 1);

	return copy ? strcpy(copy, text) : NULL;
}

static int add(struct trace_pids *pids, size_t file, const char *from, struct strata_error *err)
{
	char to[STRATA_NAME_BYTES_MAX + 24];

	if (pids->count == STRATA_TRACE_PROCESS_COUNT_MAX)
		return strata_fail(err, -E2BIG, "more than %d processes in the files to merge",
				   STRATA_TRACE_PROCESS_COUNT_MAX);
	if (pids->count == pids->room) {
		int rc = grow(pids, err);

		if (rc < 0)
			return rc;
	}
	snprintf(to, sizeof(to), "%s", from);
	for (unsigned try = 0; *find(pids, SIZE_MAX, to); try++)
		other_id(pids, from, try, to, sizeof(to));
	struct trace_pid row = { file, copy_text(pids, from), NULL };

	row.to = row.from ? copy_text(pids, to) : NULL;
	if (!row.to) {
		free_text(pids, row.from);
		return strata_fail_memory(err);
	}
	pids->rows[pids->count] = row;
	index_row(pids, pids->count++);
	return 0;
}

int trace_pids_map(struct trace_pids *pids, size_t file, const char *from,
		   const struct trace_pid **ret_row, struct strata_error *err)
{
	if (strlen(from) > STRATA_NAME_BYTES_MAX)
		return strata_fail(err, -E2BIG, "a process id of %zu bytes; expected at most %d",
				   strlen(from), STRATA_NAME_BYTES_MAX);
	uint32_t row = pids->room ? *find(pids, file, from) : 0;

	if (!row) {
		int rc = add(pids, file, from, err);

		if (rc < 0)
			return rc;
		row = (uint32_t)pids->count;
	}
	*ret_row = &pids->rows[row - 1];
	return 0;
}
