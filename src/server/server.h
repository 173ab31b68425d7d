/*
 * The service: a decider, a front and a standby, each with a header that says which threads may
 * touch it, and what they share (common.h).
 *
 *	decider.h	one thread decides, commits and acts
 *	front.h		HTTP threads read, authorise and parse
 *	standby.h	of several servers on one store one leads; the others stand by
 *	common.h	the inbox between them, settings, and what is atomic
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "server/common.h"
#include "server/decider.h"
#include "server/front.h"
#include "server/standby.h"

struct server {
	/* texts are the caller's; changed by the deciding thread alone */
	struct server_conf settings;
	struct common common;
	struct decider decider;
	struct front front;
	struct standby standby;
};

int server_open(const struct server_conf *conf, struct server **ret_server,
		struct strata_error *err);
/* Serves until server_stop, which may be called from a signal handler. */
int server_run(struct server *server, struct strata_error *err);
void server_stop(struct server *server);
void server_close(struct server *server);

#endif
