/* What the two files of the policy fair share: policy_fair.c decides and charges,
 * policy_fair_users.c keeps users and accounts. */
#ifndef POOL_POLICY_FAIR_H
#define POOL_POLICY_FAIR_H

#include "pool/pool_int.h"

#include "core/container.h"
#include "core/share.h"

struct fair_conf {
	int charge, lift, within;
	int64_t running_max, queued_max, cost_ns_max, window_ns, quantum_ns, lead_ns;
	struct strata_list users; /* of texts */
};

struct account {
	uint64_t node;              /* in the share */
	struct fluid fluid;         /* of its users */
	struct fluid_member member; /* its own part among accounts and users of none */
};

struct fair {
	struct share *share;
	struct heap windows; /* users who have used something in their window, by its end */
	struct fluid fluid;  /* of accounts and of users of none */
	/* users in line, by the quota that keeps them from their turn */
	uint64_t parked[STRATA_WAIT_COUNT];
};

static inline const struct fair_conf *fair_conf_of(const struct strata_pool *pool)
{
	return pool_policy_conf(pool);
}

/* The account of a name (NULL: none), or NULL. */
struct account *fair_account(const struct strata_pool *pool, const char *name);
/* The user's part in the estimate of positions, and its account's. */
void fair_update_fluid(struct strata_pool *pool, struct user *user);
/* Puts the user where its line and its quotas say: idle, ready or parked. */
void fair_settle(struct strata_pool *pool, struct user *user);

/* Hooks. */
int fair_meet(struct strata_pool *pool, struct user *user, struct strata_error *err);
int fair_admit(struct strata_pool *pool, struct user *user, const struct task *task,
	       struct strata_error *err);
int fair_set_account(struct strata_pool *pool, const char *name, double weight,
		     struct strata_error *err);
int fair_set_user(struct strata_pool *pool, struct user *user, double weight,
		  const struct strata_quota *quota, struct strata_error *err);

#endif
