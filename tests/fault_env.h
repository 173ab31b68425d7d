/*
 * An env for tests: the real file system behind primitives that fail, are interrupted, do half, or stop for good at a
 * call of the test's choice; a clock that the test moves; random bytes from a seed.
 *
 * A crash comes in two steps. From primitive `crash_at` on nothing happens any more, as if the machine had stopped
 * there. Then fault_env_lose() takes back what was not synced, as a machine that starts again may find it: contents
 * that no sync of the file followed, names (created, renamed, linked, removed) that no sync of their directory
 * followed. Contents and names are lost independently, because file systems do that; names from the newest on.
 *
 *	for (uint64_t n = 1; !done; n++) {
 *		struct fault_env fault;
 *
 *		fault_env_init(&fault);
 *		fault.crash_at = n;
 *		done = the_code_under_test(&fault.env) == 0;
 *		fault_env_lose(&fault, FAULT_CONTENTS);
 *		… read what is there: the old state or the new one …
 *		fault_env_fini(&fault);
 *	}
 */
#ifndef FAULT_ENV_H
#define FAULT_ENV_H

#include "core/env.h"

enum {
	FAULT_NOTHING = 0,
	FAULT_CONTENTS = 1,
	FAULT_NAMES = 2,       /* all of them */
	FAULT_NEWEST_NAME = 4, /* only the last one */
	FAULT_LOSSES = 8,      /* every combination is below it */
};

struct fault_env {
	struct env env; /* for the code under test */

	/* the test sets */
	uint64_t
		fail_at; /* the file primitive with this number (first is 1) fails with fail_code; 0: none */
	int fail_code;  /* -EIO after _init */
	bool fail_half; /* a failing write writes half of its bytes first */
	uint64_t
		crash_at; /* from this file primitive on all fail with -EIO and do nothing; 0: none */
	size_t bytes_max;  /* most that one read, write or random moves; 0: all */
	bool interrupt;    /* every primitive but close fails with -EINTR every other time */
	int64_t now_ns[2]; /* by enum env_clock */
	uint64_t seed;     /* of the random bytes */

	/* the test reads */
	uint64_t calls; /* file primitives so far */
	int open_count; /* descriptors opened and not closed: 0 when the code under test is done */

	bool interrupted;             /* the last call was */
	struct fault_change *changes; /* names not synced, newest first; owned */
	struct fault_file *files;     /* contents not synced; owned */
};

void fault_env_init(struct fault_env *fault);
void fault_env_fini(struct fault_env *fault);

/* Takes back what was not synced, as the bits say. Aborts when it cannot. */
void fault_env_lose(struct fault_env *fault, int what);

#endif
