/* The reaper: see reaper.c. */
#ifndef SERVER_REAPER_H
#define SERVER_REAPER_H

#include "server/front.h"

int reaper_start(struct front *front, struct strata_error *err);
void reaper_stop(struct front *front);

#endif
