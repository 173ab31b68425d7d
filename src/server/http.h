/* HTTP, by libmicrohttpd. */
#ifndef SERVER_HTTP_H
#define SERVER_HTTP_H

#include "server/front.h"
#include "server/request.h"

int http_open(struct front *front, struct strata_error *err);
void http_close(struct front *front);
/* The port of the loopback, which is opened if there is none. HTTP threads. */
int http_open_loopback(struct front *front, int *ret_port, struct strata_error *err);
/* The decider has answered: an HTTP thread goes on with it. The deciding thread's. */
void http_answered(struct request *request);

#endif
