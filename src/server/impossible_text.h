/* In sentences, what of a job no node could give, however empty: for who submits it and who asks
 * why it waits. The decider's. */
#ifndef SERVER_IMPOSSIBLE_TEXT_H
#define SERVER_IMPOSSIBLE_TEXT_H

#include "formats/job_spec.h"
#include "server/decider.h"

/* True of a job in the cluster that waits for what no node has, or would if nothing else held it;
 * while no node is known, of none. */
bool impossible_now(const struct decider *decider, int64_t id);
/* One for each part of what it asks for that is to blame, and what would be possible. NULL: no
 * memory. */
json_t *impossible_sentences(const struct decider *decider, int64_t id, const struct job_spec *spec);

/* -EDOM, in words, for one that no node could take and that is not to wait for such a node. */
int impossible_refuse(const struct decider *decider, int64_t id, const struct job_spec *spec,
		      struct strata_arena *arena, struct strata_error *err);
/* The same of a request that is not in the cluster, as one text without the full stop at the
 * end, in the arena; NULL: a node could take it, or none is known. 0 or -ENOMEM. */
int impossible_request(const struct decider *decider, const struct strata_job_request *request,
		       const struct job_spec *spec, struct strata_arena *arena,
		       const char **ret_why);
/* Sentences as such a text; NULL: no memory. */
const char *impossible_joined(const json_t *sentences, struct strata_arena *arena);

#endif
