/* The attendant: see attendant.c. */
#ifndef SERVER_ATTENDANT_H
#define SERVER_ATTENDANT_H

#include "server/server.h"

int attendant_start(struct server *server, struct strata_error *err);
void attendant_stop(struct server *server);

#endif
