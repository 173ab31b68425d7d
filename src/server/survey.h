/* What the executor says of nodes and of others who use them. */
#ifndef SERVER_SURVEY_H
#define SERVER_SURVEY_H

#include "server/decider.h"

void survey_take(struct decider *decider, const struct exec_survey *survey);

#endif
