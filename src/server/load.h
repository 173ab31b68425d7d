/* What is decided about, from the configuration and the store: to lead with, or to look at. */
#ifndef SERVER_LOAD_H
#define SERVER_LOAD_H

#include "server/decider.h"

int decider_load(struct decider *decider, bool lead, struct strata_error *err);
/* Whatever of it there is goes. */
void decider_unload(struct decider *decider);
/* The first of these programs that is there, by their places from where this one is (NULL behind
 * the last); else this one itself. In the arena; NULL: not to be found. */
const char *load_find_program(struct strata_arena *arena, const char *const *places);
/* The small program for jobs. */
const char *load_find_supervisor(struct strata_arena *arena);

#endif
