/* What routes about one job have in common. */
#ifndef SERVER_API_JOBS_H
#define SERVER_API_JOBS_H

#include "server/live.h"
#include "server/request.h"

extern const struct strata_choice api_job_states[]; /* enum strata_job_state by name */

/* The job of the path if it is live, else NULL; `own`: it must be the caller's, unless he is an
 * operator. False: answered. */
bool api_job_find(struct decider *decider, struct request *request, bool own,
		  const struct live **ret_live);
/* The same for what only a live one has; NULL: answered. */
const struct live *api_job_look_live(struct decider *decider, struct request *request, bool own);
/* The same for what only a live one can do: an element of an array becomes a job of its own. */
struct live *api_job_find_live(struct decider *decider, struct request *request, bool own);
/* The job's turn and place, if it is near enough to the head of the queue to be foreseen: set in
 * the JSON. Its number in the list (in the round's arena), from 1; 0: it is not there. */
size_t api_job_forecast(struct decider *decider, const struct live *live, json_t *json,
			const struct strata_forecast **ret_list, size_t *ret_count);
/* The job of the path from the store; on an HTTP thread, when the decider did not know it. False:
 * answered. */
bool api_job_read(struct request *request, struct job *ret_job);
/* May the caller have what is its owner's? False: answered. Any thread. */
bool api_job_may(struct request *request, const struct job *job);

#endif
