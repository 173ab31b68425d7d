/* In sentences, why the running jobs that are less urgent than a waiting one are left alone: for
 * who asks why it waits. The decider's. */
#ifndef SERVER_VICTIMS_TEXT_H
#define SERVER_VICTIMS_TEXT_H

#include "server/live.h"

/* Adds to the list, of a job that waits for what others have: nothing when it may not preempt
 * anybody, or when nobody that is less urgent runs. */
void victims_sentences(struct decider *decider, const struct live *waiting, json_t *sentences);

#endif
