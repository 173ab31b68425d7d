#include "test.h"

#include "core/trace_merge_int.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *map(struct trace_pids *pids, size_t file, const char *from)
{
	const struct trace_pid *row;
	struct strata_error err;

	CHECK_OK(trace_pids_map(pids, file, from, &row, &err));
	CHECK_INT(row->file, file);
	CHECK_TEXT(row->from, from);
	return row->to;
}

TEST(an_id_is_kept_by_the_first_file_that_uses_it)
{
	struct strata_memory memory = { 0 };
	struct trace_pids pids;

	trace_pids_init(&pids, &memory);
	CHECK_TEXT(map(&pids, 0, "12"), "12");
	CHECK_TEXT(map(&pids, 0, "\"Spans\""), "\"Spans\"");
	CHECK_TEXT(map(&pids, 1, "12"), "4194305");
	CHECK_TEXT(map(&pids, 1, "13"), "13");
	CHECK_TEXT(map(&pids, 1, "\"Spans\""), "\"Spans #2\"");
	CHECK_TEXT(map(&pids, 2, "4194305"), "4194306"); /* a number that was given out is taken */
	CHECK_TEXT(map(&pids, 2, "4194307"), "4194307");
	CHECK_TEXT(map(&pids, 2, "12"), "4194308");
	CHECK_TEXT(map(&pids, 2, "\"Spans #2\""), "\"Spans #2 #2\"");
	CHECK_TEXT(map(&pids, 2, "\"Spans\""), "\"Spans #3\"");
	CHECK_TEXT(map(&pids, 1, "12"), "4194305");
	CHECK_TEXT(map(&pids, 0, "12"), "12");
	CHECK_INT(pids.count, 10);
	trace_pids_fini(&pids);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(no_two_processes_share_an_id)
{
	struct strata_memory memory = { 0 };
	static char seen[100 + 4200][16];
	struct trace_pids pids;
	size_t count = 0;
	char from[16];

	trace_pids_init(&pids, &memory);
	for (size_t file = 0; file < 20; file++)
		for (int pid = 0; pid < 40; pid++) {
			snprintf(from, sizeof(from), "%d", pid * (int)(file % 3 + 1));
			snprintf(seen[count], sizeof(seen[0]), "%s", map(&pids, file, from));
			for (size_t i = 0; i < count; i++)
				CHECK(strcmp(seen[i], seen[count]) != 0);
			count++;
		}
	trace_pids_fini(&pids);
}

TEST(processes_and_their_ids_are_limited)
{
	struct strata_memory memory = { 0 };
	char from[STRATA_NAME_BYTES_MAX + 2];
	const struct trace_pid *row = NULL;
	struct trace_pids pids;
	struct strata_error err;

	trace_pids_init(&pids, &memory);
	memset(from, '9', sizeof(from));
	from[STRATA_NAME_BYTES_MAX + 1] = '\0';
	CHECK_ERROR(trace_pids_map(&pids, 0, from, &row, &err), -E2BIG,
		    "129 bytes; expected at most 128");
	CHECK(!row);
	from[0] = from[STRATA_NAME_BYTES_MAX - 1] = '"';
	from[STRATA_NAME_BYTES_MAX] = '\0';
	map(&pids, 0, from);
	CHECK_INT(strlen(map(&pids, 1, from)), STRATA_NAME_BYTES_MAX + 3);
	for (int i = 2; i < STRATA_TRACE_PROCESS_COUNT_MAX; i++) {
		snprintf(from, sizeof(from), "%d", i);
		map(&pids, 0, from);
	}
	CHECK_ERROR(trace_pids_map(&pids, 0, "1", &row, &err), -E2BIG, "more than 65536 processes");
	CHECK_TEXT(map(&pids, 0, "2"), "2");
	trace_pids_fini(&pids);
}

static int fill(struct strata_memory *memory, void *context, struct strata_error *err)
{
	struct trace_pids pids;
	char from[16];
	int rc = 0;

	(void)context;
	trace_pids_init(&pids, memory);
	for (int i = 0; rc == 0 && i < 40; i++) {
		const struct trace_pid *row;

		snprintf(from, sizeof(from), "%d", i % 30);
		rc = trace_pids_map(&pids, (size_t)i / 10, from, &row, err);
	}
	trace_pids_fini(&pids);
	return rc;
}

TEST(running_out_of_memory_is_reported)
{
	CHECK(test_every_allocation(fill, NULL) > 80);
}
