/*
 * How many elements of an array may run at a time, where somebody changed that after it was
 * submitted: rows of the store by the array's number, which count instead of what the array was
 * submitted with ("0-99%8").
 */
#ifndef SERVER_ARRAY_LIMITS_H
#define SERVER_ARRAY_LIMITS_H

#include "server/live.h"

/* Of the array of a live element; 0: any number. */
uint32_t array_limit_of(const struct decider *decider, const struct live *live);
/* Another; 0: any number. -EINVAL: the job is not of an array. */
int array_limit_set(struct decider *decider, const struct live *live, uint32_t limit,
		    struct strata_error *err);
int array_limits_recover(struct decider *decider, struct strata_error *err); /* before the jobs */

#endif
