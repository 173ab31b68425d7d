/* Submissions over HTTP, for the routes that make one. */
#ifndef SERVER_API_SUBMIT_H
#define SERVER_API_SUBMIT_H

#include "server/decider.h"
#include "server/request.h"

/* A document as of POST /api/v1/jobs, to be decided by api_submit_decide, or answered with what
 * is wrong with it. The references are taken over; warnings (a list of texts, or NULL) go into
 * the answer. HTTP threads. */
void api_submit_read(struct request *request, json_t *json, json_t *warnings);
void api_submit_decide(struct decider *decider, struct request *request);

#endif
