/* What PostgreSQL's protocol wants: values and cells in its binary form, errors in our words,
 * the settings of a connection. */
#ifndef STORE_POSTGRES_WIRE_H
#define STORE_POSTGRES_WIRE_H

#include "store/store_int.h"

#include <libpq-fe.h>

/* Parameters of a statement as libpq takes them; points into the values. */
struct postgres_values {
	const char *bytes[STORE_VALUES_MAX];
	int lengths[STORE_VALUES_MAX];
	int formats[STORE_VALUES_MAX];
	uint64_t numbers[STORE_VALUES_MAX]; /* in network order */
};

void postgres_values(const struct store_value *values, size_t count,
		     struct postgres_values *ret_wire);

/* Sends the statement with the types that its values have. */
bool postgres_prepare(PGconn *conn, const char *name, const char *sql,
		      const struct store_value *values, size_t count);

/* The cells of a row, borrowed from the result. -EBADMSG when they are of other types. */
int postgres_cells(const PGresult *rows, int row, const enum store_type *types, size_t count,
		   struct store_value *ret_cells, struct strata_error *err);

/* Connects, with keep-alives and time limits that the address may override. NULL: out of memory. */
PGconn *postgres_connect(const char *address);
/* Settings that durability and our texts depend on. */
int postgres_set_up(PGconn *conn, bool read_only, struct strata_error *err);

/* A result that is an error; -ECONNRESET when the server went away. */
int postgres_fail(const PGresult *result, struct strata_error *err);
/* A connection that broke or was not made. */
int postgres_fail_lost(PGconn *conn, int code, struct strata_error *err);

#endif
