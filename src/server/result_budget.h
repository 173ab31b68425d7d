/*
 * How much results may take: pictures go after a while (`result_keep`) and the oldest of them when
 * all take more than allowed (`result_max`); who has as many bytes as one user may have
 * (`result_user_max`) asks for no more. The tasks stay: their pictures are said to be gone. A
 * picture that several tasks have counts for each. The decider's.
 */
#ifndef SERVER_RESULT_BUDGET_H
#define SERVER_RESULT_BUDGET_H

#include "server/decider.h"

int result_budget_load(struct decider *decider, struct strata_error *err);
void result_budget_free(struct decider *decider);
/* A user's task has a picture more … */
void result_budget_add(struct decider *decider, const char *user, int64_t size_bytes);
/* … or one less. */
void result_budget_take(struct decider *decider, const char *user, int64_t size_bytes);
/* An ended task's rights to pictures, those that it made and the one it started from, go with this
 * round, and the files that nobody else has. The second time it does nothing. */
int result_budget_drop(struct decider *decider, const struct store_task *task,
		       struct strata_error *err);
void result_budget_committed(struct decider *decider);
/* -EDQUOT: the user has as much as allowed. */
int result_budget_check(const struct decider *decider, const char *user, struct strata_error *err);
/* Between two rounds: removes what is too old or too much, a few at a time; ret_count: so many. */
int result_budget_sweep(struct decider *decider, size_t *ret_count, struct strata_error *err);
/* For retain.c and itself: a struct store_gone. */
int result_budget_gone(void *decider, const void *gone, struct strata_error *err);
/* How soon it is worth a look. */
int64_t result_budget_pause_ns(const struct decider *decider);

#endif
