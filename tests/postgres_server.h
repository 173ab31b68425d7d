/*
 * A PostgreSQL server for tests: a cluster of its own in a temporary directory, on a Unix socket there and on no port,
 * started by the first test that asks and stopped when the program ends. PostgreSQL does not run as root, so as root it
 * runs as postgres or nobody. Where there is no initdb, the test that asks is skipped by name.
 */
#ifndef POSTGRES_SERVER_H
#define POSTGRES_SERVER_H

#include <stdbool.h>
#include <stddef.h>

/* Is there an initdb? */
bool postgres_server_possible(void);

/* The address of an empty schema of its own; starts the server, or skips the test. Valid until the next call. */
const char *postgres_server_url(void);

/* Stops it with a signal (SIGINT: in good order, SIGKILL: at once) and waits until it is gone; starts it again. */
void postgres_server_stop(int signal);
void postgres_server_start(void);

/* Runs SQL as its owner, in the schema of the last address. */
void postgres_server_run(const char *sql);
/* The same; false when the server refuses. */
bool postgres_server_try(const char *sql);

#endif
