/*
 * Latents: where a task that is not finished stands, as its worker saved it; a file below
 * STATE/latents (part_file.h) for each task, of the newest state. What is in it is the worker's
 * affair. Files go when their tasks end.
 */
#ifndef SERVER_LATENTS_H
#define SERVER_LATENTS_H

#include "server/part_file.h"

extern const struct part_place latents_place;

/* They are the task's, after so many steps, in place of those after `before` (-1: of none). The
 * decider's, as is removing: so that no file stays behind a task. */
int latents_accept(const char *state_dir, const char *part, int64_t task, int64_t steps,
		   int64_t before, struct strata_error *err);
void latents_remove(const char *state_dir, int64_t task, int64_t steps);
/* Opens them to be read: the descriptor, or -ENOENT. Any thread. */
int latents_open_file(const char *state_dir, int64_t task, int64_t steps, uint64_t *ret_bytes,
		      struct strata_error *err);
/* Every file there is. What `each` does not want is removed, and what was never accepted. After a
 * start. */
void latents_each(const char *state_dir, bool (*each)(void *context, int64_t task, int64_t steps),
		  void *context);

#endif
