/* The users and accounts of the policy fair: their nodes in the share, their quotas, and whether
 * they may have a turn. */
#include "pool/policy_fair.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct account *fair_account(const struct strata_pool *pool, const char *name)
{
	return name ? map_text_get(&pool->accounts, name, strlen(name)) : NULL;
}

/* The account of a name, made if unknown. In the share, accounts and users are named by number, for
 * their names may be the same. */
static int account_get(struct strata_pool *pool, const char *name, struct account **ret_account,
		       struct strata_error *err)
{
	struct fair *fair = pool->state;
	struct account *account = fair_account(pool, name);
	char number[STRATA_FORM_BYTES];

	if (account) {
		*ret_account = account;
		return 0;
	}
	account = strata_memory_get(pool->memory, sizeof(*account));
	if (!account)
		return strata_fail_memory(err);
	if (map_text_put(&pool->accounts, name, strlen(name), account, NULL)) {
		strata_memory_put(pool->memory, account, sizeof(*account));
		return strata_fail_memory(err);
	}
	snprintf(number, sizeof(number), "account %zu", pool->accounts.count);
	int rc = share_add(fair->share, share_root(fair->share), number, 1, &account->node, err);

	if (rc) {
		map_text_remove(&pool->accounts, name, strlen(name));
		strata_memory_put(pool->memory, account, sizeof(*account));
		return rc;
	}
	account->member.weight = 1;
	*ret_account = account;
	return 0;
}

static bool listed(const struct fair_conf *conf, const char *name)
{
	const char *const *names = conf->users.items;

	for (size_t i = 0; i < conf->users.count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return conf->users.count == 0;
}

int fair_meet(struct strata_pool *pool, struct user *user, struct strata_error *err)
{
	struct fair *fair = pool->state;
	const struct fair_conf *conf = fair_conf_of(pool);
	struct account *account = NULL;
	char number[STRATA_FORM_BYTES];

	if (!listed(conf, user->name))
		return strata_fail_at(err, -EPERM, "user",
				      "%.60s is not among the users of this pool", user->name);
	int rc = heap_reserve(&fair->windows, pool->users.count) ? strata_fail_memory(err) : 0;

	if (rc == 0 && user->account)
		rc = account_get(pool, user->account, &account, err);
	if (rc)
		return rc;
	snprintf(number, sizeof(number), "user %u", user->number);
	rc = share_add(fair->share, account ? account->node : share_root(fair->share), number, 1,
		       &user->leaf, err);
	if (rc)
		return rc;
	share_set_owner(fair->share, user->leaf, user);
	user->quota = (struct strata_quota){ .running_max = (uint32_t)conf->running_max,
					     .queued_max = (uint32_t)conf->queued_max,
					     .cost_ns_max = conf->cost_ns_max };
	user->window_ns = INT64_MIN;
	return 0;
}

int fair_set_account(struct strata_pool *pool, const char *name, double weight,
		     struct strata_error *err)
{
	struct fair *fair = pool->state;
	struct account *account;
	int rc = account_get(pool, name, &account, err);

	if (rc == 0)
		rc = share_set_weight(fair->share, account->node, weight, err);
	if (rc)
		return rc;
	struct fluid_member now = account->member;

	now.weight = weight;
	fluid_change(&fair->fluid, &account->member, now);
	return 0;
}

/* The user's part in the estimate of positions, and its account's. */
void fair_update_fluid(struct strata_pool *pool, struct user *user)
{
	struct fair *fair = pool->state;
	struct account *account = fair_account(pool, user->account);
	struct fluid_member now = { (double)user->pending, (double)user->pending_cost_ns,
				    user->weight };

	if (account) {
		struct fluid_member sum = account->member;

		sum.tasks += now.tasks - user->member.tasks;
		sum.work += now.work - user->member.work;
		fluid_change(&fair->fluid, &account->member, sum);
	}
	fluid_change(account ? &account->fluid : &fair->fluid, &user->member, now);
}

/* Whether a limit holds. */
static bool limits(const struct strata_quota *quota, unsigned which, int64_t most)
{
	return most || quota->has & which;
}

/* Which quota keeps a user from starting another task. */
static enum strata_wait over_quota(const struct user *user)
{
	const struct strata_quota *quota = &user->quota;

	if (limits(quota, STRATA_QUOTA_RUNNING, quota->running_max) &&
	    user->running >= quota->running_max)
		return STRATA_WAIT_RUNNING;
	if (limits(quota, STRATA_QUOTA_COST, quota->cost_ns_max) &&
	    user->window_used_ns >= quota->cost_ns_max)
		return STRATA_WAIT_COST;
	return STRATA_WAIT_NONE;
}

/* Puts the user where its line and its quotas say: idle, ready or parked. */
void fair_settle(struct strata_pool *pool, struct user *user)
{
	struct fair *fair = pool->state;
	enum strata_wait over = over_quota(user);

	if (user->pending == 0)
		over = STRATA_WAIT_NONE;
	if (user->parked != over) {
		if (user->parked)
			fair->parked[user->parked]--;
		if (over)
			fair->parked[over]++;
		user->parked = (uint8_t)over;
	}
	if (user->pending == 0)
		share_deactivate(fair->share, user->leaf, NULL);
	else if (over)
		share_park(fair->share, user->leaf, NULL);
	else
		share_activate(fair->share, user->leaf, NULL);
}

int fair_admit(struct strata_pool *pool, struct user *user, const struct task *task,
	       struct strata_error *err)
{
	(void)pool;
	(void)task;
	if (!limits(&user->quota, STRATA_QUOTA_QUEUED, user->quota.queued_max) ||
	    user->pending < user->quota.queued_max)
		return 0;
	return strata_fail(err, -EDQUOT, "%.60s has %u tasks in line, as many as allowed",
			   user->name, user->pending);
}

int fair_set_user(struct strata_pool *pool, struct user *user, double weight,
		  const struct strata_quota *quota, struct strata_error *err)
{
	struct fair *fair = pool->state;

	if (quota && (quota->cost_ns_max < 0 || quota->cost_ns_max > STRATA_DURATION_NS_MAX))
		return strata_fail(err, -EINVAL,
				   "the cost of a window is %lld ns; expected 0 to 100 years",
				   (long long)quota->cost_ns_max);
	int rc = share_set_weight(fair->share, user->leaf, weight, err);

	if (rc)
		return rc;
	user->weight = weight;
	if (quota)
		user->quota = *quota;
	fair_update_fluid(pool, user);
	fair_settle(pool, user);
	return 0;
}
