/* For those who follow what a job writes: api_output.c is told by the decider. */
#ifndef SERVER_OUTPUT_H
#define SERVER_OUTPUT_H

#include "server/live.h"

void output_started(struct decider *decider, const struct live *live); /* where is known now */
void output_ended(struct decider *decider, const struct live *live);

#endif
