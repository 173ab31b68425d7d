/* What a job that runs uses now: the last of its samples, as its supervisor left them beside the
 * attempt's file. For HTTP threads. */
#ifndef SERVER_SAMPLES_USED_H
#define SERVER_SAMPLES_USED_H

#include "server/front.h"
#include "server/view.h"

/* Sets cpus_used … of the view; they stay VIEW_NULL where nothing is known yet. */
void samples_used(const struct front *front, struct view *view);

#endif
