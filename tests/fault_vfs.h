/*
 * A file system for SQLite that loses power. Files are in memory, in two states: what was written, and what a sync made
 * durable. A crash keeps, of what was written since, any sectors it likes, torn at their edges: each write not synced is
 * kept, dropped or half kept, by a seeded coin. Names that were created or deleted without a sync go either way as well.
 *
 *	fault_vfs_start(seed);			SQLite uses it from here on
 *	fault_vfs.crash_at = n;			from the n-th change on nothing is written and all fails
 *	… write, until it fails …
 *	fault_vfs_crash();			the machine starts again
 *	… read: what was acknowledged is there …
 *	fault_vfs_stop();
 *
 * One thread, one process. Locks and shared memory work between connections.
 */
#ifndef FAULT_VFS_H
#define FAULT_VFS_H

#include <stdbool.h>
#include <stdint.h>

struct fault_vfs {
	/* the test sets */
	uint64_t
		crash_at; /* the change (write, sync, truncate, delete, create) with this number, 1 …; 0: none */
	uint64_t full_at; /* from this change on there is no space; 0: never */
	uint64_t fail_at; /* this one change fails with an I/O error; 0: none */
	bool read_only;   /* nothing can be changed */

	/* the test reads */
	uint64_t changes; /* so far */
};

extern struct fault_vfs fault_vfs;

void fault_vfs_start(uint64_t seed);
void fault_vfs_crash(void);
void fault_vfs_stop(void); /* when it was not started, nothing */

#endif
