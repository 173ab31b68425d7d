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

#endif
