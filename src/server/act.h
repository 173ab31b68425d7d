/* From decisions to processes and back: what was decided, and what jobs report. */
#ifndef SERVER_ACT_H
#define SERVER_ACT_H

#include "server/live.h"

/* Before the commit: rows and events of what was decided. */
void act_note(struct decider *decider, const struct strata_effect *effects, size_t count);
/* After it: orders to the executor. */
void act_do(struct decider *decider, const struct strata_effect *effects, size_t count);
/* A start that was committed before the service came back is ordered again. */
void act_restart(struct decider *decider, struct live *live);
/* Takes what the executor has. */
void act_events(struct decider *decider);
/* Their ends are durable: what the executor keeps of them may go. */
void act_forget(struct decider *decider);

#endif
