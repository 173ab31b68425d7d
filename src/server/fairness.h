/*
 * Do users who compete get what is theirs? Each user who has jobs, placed or waiting, is entitled
 * to a part by weight and has had a part of what these users used lately (faded, as the fair share
 * has it). The deviation is the part of it that would have to go to others: 0 when everybody had
 * theirs, towards 1 when one had all. Worked out over users, when somebody asks, at most four times
 * a minute. The decider's.
 */
#ifndef SERVER_FAIRNESS_H
#define SERVER_FAIRNESS_H

#include "core/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct decider;

struct fairness {
	bool known;
	int64_t due_ns; /* to be worked out again; monotonic */
	double deviation;
	uint32_t competing; /* users with jobs */
	uint32_t starved;   /* of them: hold nothing, wait, and had less than half of their part */
};

/* In the text form of Prometheus. */
void fairness_print(struct decider *decider, struct buf *buf);

#endif
