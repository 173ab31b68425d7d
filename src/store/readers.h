/*
 * Stores to read from, shared by many threads: opened when one is needed, kept for the next, never
 * more than a number of them, so that a burst of requests is a queue here and not a burst of
 * connections at the database.
 */
#ifndef STORE_READERS_H
#define STORE_READERS_H

#include "store/store.h"

struct store_readers;

/* Room for 1 to STRATA_STORE_READERS_MAX readers of an address; none is opened yet. memory is
 * borrowed until _free, and used in this call and that one only: readers have memory of their
 * own. */
int store_readers_new(const char *address, size_t count_max, struct strata_memory *memory,
		      struct store_readers **ret_readers, struct strata_error *err);
/* All readers must have been given back. NULL is nothing. */
void store_readers_free(struct store_readers *readers);

/* A reader that is the caller's until store_readers_give. Waits for one up to wait_ns: -EAGAIN
 * after that. Otherwise as store_open. Thread-safe. */
int store_readers_take(struct store_readers *readers, int64_t wait_ns, struct store **ret_store,
		       struct strata_error *err);
/* Thread-safe. */
void store_readers_give(struct store_readers *readers, struct store *store);

#endif
