/* In a sentence, why nobody knows when a job starts that waits for a time or for others: for who
 * asks why it waits. The decider's. */
#ifndef SERVER_WHY_APART_H
#define SERVER_WHY_APART_H

#include "server/live.h"

/* Adds to the list, of a job that is not in the forecast; nothing when it waits for something else
 * than a time or others. */
void why_apart_unknown(struct decider *decider, const struct live *waiting,
			 enum strata_reason reason, const struct strata_forecast *forecasts,
			 size_t forecast_count, json_t *sentences);

#endif
