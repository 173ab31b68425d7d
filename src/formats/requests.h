/*
 * Traces of generation requests: a table in CSV, one row per request, that becomes a plain array.
 * Known columns are
 *
 *	arrival_s, exec_s	when it came and how long it ran, in seconds; both must be there
 *	user, account, model	texts; without a user column all are of one user
 *	shape			text; what may share a batch besides the model. Without it: steps and n_images
 *	steps			how many; 0 or empty: not known
 *	priority, memory_mib	numbers
 *	deadline_s		so long after its arrival it should be done
 *	cost_s			what it was expected to take; without it: exec_s
 *
 * An exec_s that is empty or not above 0 counts as one second. All columns that hold numbers can be
 * asked for by name. Rows are sorted by arrival, those of one moment as the file has them.
 * Everything lives in the arena.
 */
#ifndef FORMATS_REQUESTS_H
#define FORMATS_REQUESTS_H

#include <strata/error.h>
#include <strata/memory.h>

struct request {
	int64_t arrival_ns;  /* from the first of the file */
	int64_t exec_ns;     /* above 0 */
	int64_t cost_ns;     /* expected; above 0 */
	int64_t deadline_ns; /* after its arrival; 0: none */
	int64_t memory_mib;
	int64_t priority;      /* INT64_MIN: none is given */
	uint32_t user;         /* index in the names of users, as of the next */
	uint32_t account;      /* UINT32_MAX: none */
	uint32_t model, shape; /* small numbers, equal for equal texts */
	uint32_t steps;        /* 0: not known */
	uint32_t row;          /* of the file, from 0 */
};

struct requests {
	struct request *rows;
	size_t count;
	const char **users; /* names */
	size_t user_count;
	const char **accounts;
	size_t account_count;
	size_t shape_count;
	const char **columns; /* names of all columns of the file */
	size_t column_count;
	double *values; /* [row of the file][column]; NAN where there is no number */
};

/* -EBADMSG names the line and the column. */
int requests_read(const char *text, size_t length, struct strata_arena *arena,
		  struct requests *ret_requests, struct strata_error *err);

/* Σ exec_ns / (workers · time from the first to the last arrival): what load the trace is for so
 * many workers. 0 without a span. */
double requests_load(const struct requests *requests, int64_t workers);
/* Brings the arrivals nearer to each other, or further apart, so that this is their load for so
 * many workers. */
void requests_scale(struct requests *requests, int64_t workers, double load);

/* A number of a request by the name of its column; false when there is none. */
bool requests_number(const struct requests *requests, const struct request *request,
		     const char *name, double *ret_value);

#endif
