/*
 * Schedules as tables: which job started when, `job_id,start` in whole seconds. What `sim cluster
 * --starts` writes, and what reference schedules are compared by; those hold several policies, one
 * column each.
 */
#ifndef FORMATS_STARTS_H
#define FORMATS_STARTS_H

#include "core/buf.h"

struct starts_row {
	int64_t number; /* of the job */
	int64_t start_ns;
};

/* Reads the column of this name beside job_id, rows in the file's order, onto the arena. */
int starts_read(const char *text, size_t length, const char *column, struct strata_arena *arena,
		struct starts_row **ret_rows, size_t *ret_count, struct strata_error *err);

/* Appends the table with the columns job_id and start. Starts that are not whole seconds get as
 * many decimals as they need. */
void starts_add(struct buf *buf, const struct starts_row *rows, size_t count);

#endif
