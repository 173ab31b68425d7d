/*
 * Files below the state directory that an HTTP thread writes and the decider takes: first under a
 * name of their own, so that nobody who decides waits for a disk, then renamed to what they are.
 * They are not synced: after a crash of the machine one may be torn or gone, which its reader finds
 * out.
 */
#ifndef SERVER_PART_FILE_H
#define SERVER_PART_FILE_H

#include "core/env.h"

#include <strata/error.h>

#include <stddef.h>
#include <stdint.h>

/* Where files of a kind are. */
struct part_place {
	const char *dir;  /* below the state directory: "latents" */
	const char *what; /* for errors: "the latents" */
};

enum { PART_NAME_BYTES = 64 };

/* Makes the directory; before anything is in it. */
int part_open_dir(const struct part_place *place, const struct env *env, const char *state_dir,
		  struct strata_error *err);
/* Writes them under a name of their own. Any thread. */
int part_write(const struct part_place *place, const char *state_dir, const void *bytes,
	       size_t size_bytes, char ret_part[PART_NAME_BYTES], struct strata_error *err);
/* It gets its name, in place of what has it. */
int part_accept(const struct part_place *place, const char *state_dir, const char *part,
		const char *name, struct strata_error *err);
/* One of either kind; one that is not there is nothing. Any thread. */
void part_remove(const struct part_place *place, const char *state_dir, const char *name);
/* Opens a file to be read: its descriptor, or -ENOENT, without a sentence. Any thread. */
int part_open(const struct part_place *place, const char *state_dir, const char *name,
	      uint64_t *ret_bytes);
/* Every file there is. What `each` does not want is removed. */
void part_each(const struct part_place *place, const char *state_dir,
	       bool (*each)(void *context, const char *name), void *context);

#endif
