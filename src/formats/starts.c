/* The tables of starts.h, on csv.h. */
#include "formats/starts.h"

#include "formats/csv.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <inttypes.h>

int starts_read(const char *text, size_t length, const char *column, struct strata_arena *arena,
		struct starts_row **ret_rows, size_t *ret_count, struct strata_error *err)
{
	struct csv csv;
	size_t count = 0;
	int number, start, rc = csv_init(&csv, text, length, arena, err);
	bool row;

	if (rc == 0)
		rc = csv_find(&csv, "job_id", &number, err);
	if (rc == 0)
		rc = csv_find(&csv, column, &start, err);
	if (rc)
		return rc;
	struct starts_row *rows = strata_arena_array(arena, csv.row_count, sizeof(*rows));

	if (!rows)
		return strata_fail_memory(err);
	while ((rc = csv_next(&csv, &row, err)) == 0 && row) {
		rc = csv_int(&csv, number, INT64_MIN, INT64_MAX, &rows[count].number, err);
		if (rc == 0)
			rc = csv_seconds(&csv, start, STRATA_TIME_NS_MAX, &rows[count].start_ns,
					 err);
		if (rc)
			return rc;
		count++;
	}
	if (rc)
		return rc;
	*ret_rows = rows;
	*ret_count = count;
	return 0;
}

void starts_add(struct buf *buf, const struct starts_row *rows, size_t count)
{
	buf_add(buf, "job_id,start\n");
	for (size_t i = 0; i < count; i++) {
		int64_t seconds = rows[i].start_ns / STRATA_SECOND_NS;
		int64_t ns = rows[i].start_ns % STRATA_SECOND_NS;
		int digits = 9;

		buf_printf(buf, "%" PRId64 ",%" PRId64, rows[i].number, seconds);
		for (; ns > 0 && ns % 10 == 0; ns /= 10)
			digits--;
		if (ns > 0)
			buf_printf(buf, ".%0*" PRId64, digits, ns);
		buf_add_char(buf, '\n');
	}
}
