/* What routes about one task have in common: api_tasks.c has it. Each of them answers where it
 * fails. */
#ifndef SERVER_TASK_ROUTES_H
#define SERVER_TASK_ROUTES_H

#include "server/request.h"
#include "store/store.h"

/* Of the path: "17" or "T17". 0: answered. */
int64_t task_route_id(struct request *request);
/* Is it this caller's to see? False: answered. */
bool task_route_may(struct request *request, const struct store_task *row);
/* The task of the path as the store has it, on an HTTP thread; in the request's arena. False:
 * answered. */
bool task_route_read(struct request *request, struct store_task *ret_row);

#endif
