/* HTTP, by libmicrohttpd. */
#ifndef SERVER_HTTP_H
#define SERVER_HTTP_H

#include "server/front.h"
#include "server/request.h"

int http_open(struct front *front, struct strata_error *err);
void http_close(struct front *front);
/* The decider has answered: an HTTP thread goes on with it. The deciding thread's. */
void http_answered(struct request *request);

#endif
