/* A table: every field of every row as every type, and as nodes, pods, a sequence, starts and requests. */
#include "formats/csv.h"
#include "formats/openb.h"
#include "formats/requests.h"
#include "formats/starts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_field(const struct csv *csv, int column)
{
	struct strata_error err;
	struct csv_field field = csv_field(csv, column);
	const char *text;
	int64_t whole;

	if (csv_text(csv, column, &text, &err))
		abort();
	assert(strlen(text) == field.length);
	if (csv_int(csv, column, -100, 100, &whole, &err) == 0)
		assert(whole >= -100 && whole <= 100);
	if (csv_seconds(csv, column, 1000, &whole, &err) == 0)
		assert(whole >= 0 && whole <= 1000);
}

static void check_rows(const char *text, size_t length, struct strata_arena *arena)
{
	struct strata_error err = { 0 };
	struct csv csv;
	bool row = true;
	int rc = csv_init(&csv, text, length, arena, &err);

	while (rc == 0 && row) {
		rc = csv_next(&csv, &row, &err);
		for (int i = 0; rc == 0 && row && i < (int)csv.column_count; i++)
			check_field(&csv, i);
	}
	if (rc)
		assert(err.code == rc && err.text[0]);
	else
		assert(csv.rows_read == csv.row_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strata_memory memory = { .limit_bytes = 64 << 20 };
	struct strata_arena arena;
	struct strata_error err;
	struct openb_node *nodes;
	struct openb_pod *pods;
	struct starts_row *starts;
	struct requests requests;
	uint32_t *indices;
	size_t count, more;
	const char *text = (const char *)data;

	strata_arena_init(&arena, &memory, 0);
	check_rows(text, size, &arena);
	openb_read_nodes(text, size, &arena, &nodes, &count, &err);
	starts_read(text, size, "start", &arena, &starts, &count, &err);
	if (openb_read_pods(text, size, &arena, &pods, &count, &err) == 0 &&
	    openb_read_sequence(text, size, pods, count, &arena, &indices, &more, &err) == 0)
		for (size_t i = 0; i < more; i++)
			assert(indices[i] < count);
	if (requests_read(text, size, &arena, &requests, &err) == 0)
		for (size_t i = 0; i < requests.count; i++)
			assert(requests.rows[i].exec_ns > 0 &&
			       requests.rows[i].user < requests.user_count &&
			       (i == 0 ||
				requests.rows[i].arrival_ns >= requests.rows[i - 1].arrival_ns));
	strata_arena_fini(&arena);
	assert(memory.used_bytes == 0);
	return 0;
}
