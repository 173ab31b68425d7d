/* Who asks: users, each in an account or in none, with what is counted of them. A user of two
 * accounts is two. */
#include "pool/pool_int.h"

#include <errno.h>
#include <string.h>

enum { KEY_BYTES_MAX = 2 * STRATA_NAME_BYTES_MAX + 2 };

static int check_name(const char *what, const char *name, struct strata_error *err)
{
	size_t length = strnlen(name, STRATA_NAME_BYTES_MAX + 1);

	if (length > 0 && length <= STRATA_NAME_BYTES_MAX)
		return 0;
	return strata_fail_at(err, -EINVAL, what,
			      "the name of the %s has %zu bytes; expected 1 to %d", what,
			      strlen(name), STRATA_NAME_BYTES_MAX);
}

/* The user's name, a NUL, the account's: an unknown account is the empty one. Both are at most as
 * long as a name. */
static size_t make_key(char key[KEY_BYTES_MAX], const char *name, const char *account)
{
	size_t length = strnlen(name, STRATA_NAME_BYTES_MAX);
	size_t account_length = account ? strnlen(account, STRATA_NAME_BYTES_MAX) : 0;

	memcpy(key, name, length);
	key[length] = '\0';
	if (account_length)
		memcpy(key + length + 1, account, account_length);
	return length + 1 + account_length;
}

struct user *user_find(const struct strata_pool *pool, const char *name, const char *account)
{
	char key[KEY_BYTES_MAX];

	return map_text_get(&pool->names, key, make_key(key, name, account));
}

int user_get(struct strata_pool *pool, const char *name, const char *account,
	     struct user **ret_user, struct strata_error *err)
{
	char key[KEY_BYTES_MAX];
	int rc = check_name("user", name, err);

	if (rc == 0 && account)
		rc = check_name("account", account, err);
	if (rc)
		return rc;
	size_t bytes = make_key(key, name, account);
	struct user *user = map_text_get(&pool->names, key, bytes);
	uint64_t handle;

	if (user) {
		*ret_user = user;
		return 0;
	}
	user = slab_get(&pool->users, &handle);
	if (!user)
		return strata_fail_memory(err);
	if (map_text_put(&pool->names, key, bytes, user, NULL)) {
		slab_put(&pool->users, handle);
		return strata_fail_memory(err);
	}
	user->name = map_text_find(&pool->names, key, bytes)->key;
	user->account = account ? user->name + strlen(user->name) + 1 : NULL;
	user->number = slab_index(handle);
	user->weight = 1;
	if (pool->hooks && pool->hooks->meet)
		rc = pool->hooks->meet(pool, user, err);
	if (rc) {
		map_text_remove(&pool->names, key, bytes);
		slab_put(&pool->users, handle);
		return rc;
	}
	*ret_user = user;
	return 0;
}

static int no_shares(const struct strata_pool *pool, struct strata_error *err)
{
	return strata_fail(err, -ENOTSUP, "the policy %s keeps no weights and quotas; fair does",
			   pool->policy->base.name);
}

int strata_pool_set_account(struct strata_pool *pool, const char *name, double weight,
			    struct strata_error *err)
{
	pool_say(pool, &(struct strata_pool_event){
			       .kind = STRATA_POOL_EVENT_ACCOUNT, .name = name, .weight = weight });
	if (!pool->hooks || !pool->hooks->set_account)
		return no_shares(pool, err);
	int rc = check_name("account", name, err);

	return rc ? rc : pool->hooks->set_account(pool, name, weight, err);
}

int strata_pool_set_user(struct strata_pool *pool, const char *user, const char *account,
			 double weight, const struct strata_quota *quota, struct strata_error *err)
{
	struct user *found;

	pool_say(pool, &(struct strata_pool_event){ .kind = STRATA_POOL_EVENT_USER,
						    .name = user,
						    .account = account,
						    .weight = weight,
						    .quota = quota });
	if (!pool->hooks || !pool->hooks->set_user)
		return no_shares(pool, err);
	int rc = user_get(pool, user, account, &found, err);

	return rc ? rc : pool->hooks->set_user(pool, found, weight, quota, err);
}

int strata_pool_charge(struct strata_pool *pool, const char *user, const char *account,
		       int64_t cost_ns, int64_t now_ns, struct strata_error *err)
{
	struct user *found;

	pool_say(pool, &(struct strata_pool_event){ .kind = STRATA_POOL_EVENT_CHARGE,
						    .now_ns = now_ns,
						    .name = user,
						    .account = account,
						    .cost_ns = cost_ns });
	if (!pool->hooks || !pool->hooks->charge)
		return no_shares(pool, err);
	if (cost_ns < 0 || cost_ns > STRATA_TASK_COST_NS_MAX)
		return strata_fail_at(err, -EINVAL, "cost",
				      "the cost is %lld ns; expected 0 to a year",
				      (long long)cost_ns);
	int rc = user_get(pool, user, account, &found, err);

	if (rc)
		return rc;
	pool_tick(pool, now_ns);
	pool->hooks->charge(pool, found, cost_ns);
	return 0;
}

int strata_pool_user_metrics(const struct strata_pool *pool, const char *user, const char *account,
			     struct strata_user_metrics *ret_metrics, struct strata_error *err)
{
	const struct user *found = user_find(pool, user, account);

	if (!found)
		return strata_fail(err, -ENOENT, "there is no user %.60s in this pool", user);
	*ret_metrics = (struct strata_user_metrics){
		.pending = found->pending,
		.running = found->running,
		.finished = found->finished,
		.failed = found->failed,
		.cancelled = found->cancelled,
		.pending_cost_ns = found->pending_cost_ns,
		.used_ns = found->used_ns,
		.wait_ns_sum = found->wait_ns_sum,
		.started = found->started,
		.virtual_time = pool->hooks && pool->hooks->virtual_time
					? pool->hooks->virtual_time(pool, found)
					: 0,
	};
	return 0;
}
