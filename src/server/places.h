/* Where the service keeps things: its directories, made if they are missing and refused if anybody
 * else could change what is in them. */
#ifndef SERVER_PLACES_H
#define SERVER_PLACES_H

#include "server/settings.h"

#include "core/env.h"

/* Before anything in them is read. */
int places_open(const struct env *env, const struct server_conf *conf, struct strata_error *err);

#endif
