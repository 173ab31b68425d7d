/*
 * Input files of the simulator: traces, clusters, schedules, plain or compressed with gzip. Which of
 * the two a file is, its first bytes say, not its name.
 */
#ifndef SIM_INPUT_H
#define SIM_INPUT_H

#include "core/env.h"

/*
 * Reads a whole file, or standard input when path is "-", onto the arena, with a NUL behind it.
 * A gzip file is unpacked, all its members one after the other. -E2BIG when the file, or what it
 * unpacks to, has more than limit_bytes; -EBADMSG when it is cut short or damaged.
 */
int input_read(const struct env *env, const char *path, size_t limit_bytes,
	       struct strata_arena *arena, const char **ret_text, size_t *ret_length,
	       struct strata_error *err);

/* Unpacks gzip members that are in memory already; `path` is for messages. */
int input_unpack(const void *bytes, size_t count, const char *path, size_t limit_bytes,
		 struct strata_arena *arena, const char **ret_text, size_t *ret_length,
		 struct strata_error *err);

#endif
