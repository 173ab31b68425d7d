/* SQLite's errors in our words, and its online backup: what store_sqlite.c needs and is not about
 * statements. */
#ifndef STORE_SQLITE_BACKUP_H
#define STORE_SQLITE_BACKUP_H

#include <strata/error.h>

#include <sqlite3.h>

/* The connection's last error, with the file it is about. */
int sqlite_fail(sqlite3 *db, const char *path, struct strata_error *err);

/* Copies a database, as of now, into a new file. */
int sqlite_backup(sqlite3 *db, const char *path, struct strata_error *err);

#endif
