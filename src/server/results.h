/*
 * Results: the pictures of tasks, files by content hash below STATE/results. A file is durable
 * before a task may name it; it goes when no task does any more.
 */
#ifndef SERVER_RESULTS_H
#define SERVER_RESULTS_H

#include "core/env.h"
#include "server/request.h"
#include "store/store.h"

#include <strata/error.h>

#include <stddef.h>
#include <stdint.h>

/* Makes the directory; before anything is in it. */
int results_open(const struct env *env, const char *state_dir, struct strata_error *err);
/* Is this the head of a PNG of a size that there is? -EBADMSG. Reads no pixel. Any thread. */
int results_check_png(const void *bytes, size_t size_bytes, uint32_t *ret_width,
		      uint32_t *ret_height, struct strata_error *err);
/* Writes it, durably, under its hash. Any thread. */
int results_put(const char *state_dir, const void *bytes, size_t size_bytes,
		char ret_hash[STORE_HASH_BYTES], struct strata_error *err);
/* Opens it to be read: the descriptor, or -ENOENT … Any thread. */
int results_open_file(const char *state_dir, const char *hash, uint64_t *ret_bytes,
		      struct strata_error *err);
/* It is the answer, or that it is gone. */
void results_answer(struct request *request, const char *hash);
/* Removes it; one that is gone already is as asked. The decider's, as is accepting one: so that a
 * file is not removed between the two. */
void results_remove(const char *state_dir, const char *hash);
/* Every file that was not changed since then (seconds since 1970), by its name. Those that were not
 * written to the end have names that are no hashes: they are removed. */
void results_each(const char *state_dir, int64_t before_s,
		  void (*each)(void *context, const char *hash), void *context);
/* Is it a hash, and is such a file there? */
bool results_have(const char *state_dir, const char *hash, int64_t *ret_bytes);

#endif
