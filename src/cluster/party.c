/*
 * Who uses the cluster: users, accounts above each other, qualities of service; what each may have, has and has used.
 *
 * Usage is charged as it accrues: an owner (a user in an account with a quality of service) has a rate, the GPU-hours per hour of what
 * it runs, and is charged up to now whenever that rate changes or somebody asks. The share tree answers who goes first; a party
 * keeps its own faded sum for limits that cut across the tree. What they are told to be is in party_set.c.
 */
#include "cluster/cluster_int.h"

#include "core/real.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct owner_key {
	const struct party *user, *account, *qos;
};

int party_get(struct strata_cluster *cluster, struct map_text *map, const char *name,
	      struct party **ret_party, struct strata_error *err)
{
	size_t length = strlen(name);
	struct party *party = map_text_get(map, name, length);
	uint64_t handle;

	if (party) {
		*ret_party = party;
		return 0;
	}
	/* an account's node in the share has one letter more */
	if (length == 0 || length >= STRATA_NAME_BYTES_MAX)
		return strata_fail(err, -EINVAL, "a name has %zu bytes; expected 1 to %d", length,
				   STRATA_NAME_BYTES_MAX - 1);
	party = slab_get(&cluster->party_slab, &handle);
	if (!party)
		return strata_fail_memory(err);
	if (map_text_put(map, name, length, party, NULL)) {
		slab_put(&cluster->party_slab, handle);
		return strata_fail_memory(err);
	}
	party->name = map_text_find(map, name, length)->key;
	party->number = map->count;
	party->weight = party->usage_factor = 1;
	party->used_ns = cluster->now_ns;
	*ret_party = party;
	return 0;
}

/* Accounts and users without an account are children of the same root, and may have the same name: an account's node is "@name". */
int party_add_share(struct strata_cluster *cluster, const char *name, const struct party *parent,
		    double weight, uint64_t *ret_share, struct strata_error *err)
{
	char node[STRATA_NAME_BYTES_MAX + 1];

	snprintf(node, sizeof(node), "@%s", name);
	return share_add(cluster->share, parent ? parent->share : share_root(cluster->share), node,
			 weight, ret_share, err);
}

int party_get_account(struct strata_cluster *cluster, const char *name, struct party *parent,
		      struct party **ret_account, struct strata_error *err)
{
	struct party *account;
	int rc = party_get(cluster, &cluster->accounts, name, &account, err);

	if (rc)
		return rc;
	if (!account->share) {
		rc = party_add_share(cluster, name, parent, 1, &account->share, err);
		if (rc)
			return rc;
		account->parent = parent;
	}
	*ret_account = account;
	return 0;
}

static int get_leaf(struct strata_cluster *cluster, const struct party *user,
		    const struct party *account, uint64_t *ret_leaf, struct strata_error *err)
{
	uint64_t parent = account ? account->share : share_root(cluster->share);
	uint64_t leaf = share_find(cluster->share, parent, user->name);

	if (leaf) {
		*ret_leaf = leaf;
		return 0;
	}
	return share_add(cluster->share, parent, user->name, user->weight, ret_leaf, err);
}

static int get_owner(struct strata_cluster *cluster, struct party *user, struct party *account,
		     struct party *qos, struct owner **ret_owner, struct strata_error *err)
{
	struct owner_key key = { user, account, qos };
	struct owner *owner = map_text_get(&cluster->owners, (const char *)&key, sizeof(key));
	uint64_t leaf, handle;

	if (owner) {
		*ret_owner = owner;
		return 0;
	}
	int rc = get_leaf(cluster, user, account, &leaf, err);

	if (rc)
		return rc;
	owner = slab_get(&cluster->owner_slab, &handle);
	if (!owner)
		return strata_fail_memory(err);
	if (map_text_put(&cluster->owners, (const char *)&key, sizeof(key), owner, NULL)) {
		slab_put(&cluster->owner_slab, handle);
		return strata_fail_memory(err);
	}
	*owner = (struct owner){ .user = user,
				 .account = account,
				 .qos = qos,
				 .leaf = leaf,
				 .charged_ns = cluster->now_ns,
				 .next = cluster->owner_list };
	cluster->owner_list = owner;
	*ret_owner = owner;
	return 0;
}

int party_owner(struct strata_cluster *cluster, const struct strata_job_request *request,
		struct owner **ret_owner, struct strata_error *err)
{
	struct party *user, *account, *qos = NULL;
	int rc = party_get(cluster, &cluster->users, request->user, &user, err);

	if (rc)
		return rc;
	account = user->account;
	if (request->account && *request->account)
		rc = party_get_account(cluster, request->account, NULL, &account, err);
	if (rc == 0 && request->qos && *request->qos)
		rc = party_get(cluster, &cluster->qos, request->qos, &qos, err);
	return rc ? rc : get_owner(cluster, user, account, qos, ret_owner, err);
}

/* ---- usage ---- */

static double faded(const struct strata_cluster *cluster, const struct party *party)
{
	int64_t passed = cluster->now_ns - party->used_ns;

	return passed > 0 ? party->used * real_exp2(-(double)passed / (double)cluster->half_life_ns)
			  : party->used;
}

static void fade(const struct strata_cluster *cluster, struct party *party, double more)
{
	double used = faded(cluster, party) + more;

	party->used = used > 0 ? used : 0; /* a correction takes back no more than there is */
	if (cluster->now_ns > party->used_ns)
		party->used_ns = cluster->now_ns;
}

void party_charge(struct strata_cluster *cluster, struct owner *owner, double hours)
{
	if (owner->qos) {
		fade(cluster, owner->qos, hours);
		hours *= owner->qos->usage_factor;
	}
	int rc =
		hours < 0
			? share_add_usage(cluster->share, owner->leaf, hours, cluster->now_ns, NULL)
			: share_charge(cluster->share, owner->leaf, hours, cluster->now_ns, NULL);

	assert(rc == 0);
	fade(cluster, owner->user, hours);
}

void party_accrue(struct strata_cluster *cluster, struct owner *owner)
{
	if (owner->rate > 0 && cluster->now_ns > owner->charged_ns)
		party_charge(cluster, owner,
			     owner->rate * (double)(cluster->now_ns - owner->charged_ns) / 3.6e12);
	owner->charged_ns = cluster->now_ns;
}

/* Usage is stored for a user in an account, whatever the quality of service. */
int64_t party_stored_ns(const struct strata_cluster *cluster, const struct owner *owner)
{
	struct owner_key key = { owner->user, owner->account, NULL };
	const struct owner *plain = map_text_get(&cluster->owners, (const char *)&key, sizeof(key));

	return plain ? plain->stored_ns : 0;
}

static void accrue_all(struct strata_cluster *cluster)
{
	for (struct owner *owner = cluster->owner_list; owner; owner = owner->next)
		party_accrue(cluster, owner);
}

void strata_cluster_settle(struct strata_cluster *cluster)
{
	cluster_tell(cluster, .kind = STRATA_EVENT_SETTLE);
	accrue_all(cluster);
}

int strata_cluster_add_usage(struct strata_cluster *cluster, const char *name, const char *account,
			     double gpu_hours, int64_t at_ns, struct strata_error *err)
{
	struct strata_job_request request = { .user = name, .account = account };
	struct owner *owner;

	cluster_tell(cluster, .kind = STRATA_EVENT_USAGE, .now_ns = at_ns, .name = name,
		     .account = account, .gpu_hours = gpu_hours);
	int rc = party_owner(cluster, &request, &owner, err);

	if (rc)
		return rc;
	cluster_clock(cluster, at_ns);
	rc = share_add_usage(cluster->share, owner->leaf, gpu_hours, at_ns, err);
	if (rc == 0) {
		owner->stored_ns = at_ns;
		double aged = at_ns < cluster->now_ns
				      ? real_exp2((double)(at_ns - cluster->now_ns) /
						  (double)cluster->half_life_ns)
				      : 1;

		fade(cluster, owner->user, gpu_hours * aged);
	}
	return rc;
}

/* ---- limits ---- */

void party_count_waiting(struct owner *owner, int sign)
{
	owner->user->waiting += (uint32_t)sign;
	if (owner->qos)
		owner->qos->waiting += (uint32_t)sign;
	for (struct party *account = owner->account; account; account = account->parent)
		account->waiting += (uint32_t)sign;
}

static void count_placed(struct party *party, int64_t gpu_milli, int sign)
{
	party->placed += (uint32_t)sign;
	party->gpu_milli += sign * gpu_milli;
}

void party_count_placed(struct owner *owner, int64_t gpu_milli, int sign)
{
	count_placed(owner->user, gpu_milli, sign);
	if (owner->qos)
		count_placed(owner->qos, gpu_milli, sign);
	for (struct party *account = owner->account; account; account = account->parent)
		count_placed(account, gpu_milli, sign);
}

/* A usage above its limit fades; by when it will have? */
static void wake_when_faded(struct strata_cluster *cluster, double used, double limit)
{
	double halves = real_log2(used / limit);
	int64_t due = cluster->now_ns + INT64_C(1000000000) +
		      (int64_t)(halves * (double)cluster->half_life_ns);

	if (due < cluster->limit_wake_ns)
		cluster->limit_wake_ns = due;
}

static bool over(struct strata_cluster *cluster, const struct party *party, const struct ask *ask,
		 double used)
{
	const struct strata_limits *limits = &party->limits;

	if (limits->gpu_hours > 0 && used > limits->gpu_hours) {
		wake_when_faded(cluster, used, limits->gpu_hours);
		return true;
	}
	return (limits->jobs && party->placed >= limits->jobs) ||
	       (limits->gpu_milli && party->gpu_milli + ask->gpu_milli > limits->gpu_milli &&
		ask->gpu_milli);
}

static bool partition_starts(enum strata_partition_state state)
{
	return state == STRATA_PARTITION_UP || state == STRATA_PARTITION_DRAIN;
}

enum strata_reason party_limit(struct strata_cluster *cluster, struct owner *owner,
			       const struct ask *ask)
{
	if (!cluster->limited)
		return STRATA_REASON_NONE;
	if (ask->partition_party && !partition_starts(ask->partition_party->state))
		return STRATA_REASON_PARTITION_DOWN;
	if (cluster->accrued_ns != cluster->now_ns) {
		accrue_all(cluster); /* what others of the account run counts too */
		cluster->accrued_ns = cluster->now_ns;
	}
	fade(cluster, owner->user, 0);
	if (over(cluster, owner->user, ask, owner->user->used))
		return STRATA_REASON_USER_LIMIT;
	if (owner->qos) {
		fade(cluster, owner->qos, 0);
		if (over(cluster, owner->qos, ask, owner->qos->used))
			return STRATA_REASON_QOS_LIMIT;
	}
	for (struct party *account = owner->account; account; account = account->parent)
		if (over(cluster, account, ask,
			 account->limits.gpu_hours > 0
				 ? share_usage(cluster->share, account->share, cluster->now_ns)
				 : 0))
			return STRATA_REASON_ACCOUNT_LIMIT;
	return STRATA_REASON_NONE;
}

static int admits(const struct party *party, const char *what, struct strata_error *err)
{
	if (!party->limits.waiting || party->waiting < party->limits.waiting)
		return 0;
	return strata_fail_at(err, -EDQUOT, what, "%s %s has %u waiting jobs; the limit is %u",
			      what, party->name, party->waiting, party->limits.waiting);
}

int party_admits(const struct owner *owner, struct strata_error *err)
{
	int rc = admits(owner->user, "user", err);

	if (rc == 0 && owner->qos)
		rc = admits(owner->qos, "qos", err);
	for (const struct party *account = owner->account; rc == 0 && account;
	     account = account->parent)
		rc = admits(account, "account", err);
	return rc;
}

/* ---- views ---- */

static void view_party(const struct party *party, struct strata_usage_view *view)
{
	view->weight = party->weight;
	view->jobs = party->placed;
	view->waiting = party->waiting;
	view->gpu_milli = party->gpu_milli;
}

void strata_cluster_user(struct strata_cluster *cluster, const char *name,
			 struct strata_usage_view *ret_view)
{
	struct party *user = map_text_get(&cluster->users, name, strlen(name));
	uint64_t leaf;

	*ret_view = (struct strata_usage_view){ .weight = 1, .factor = 1 };
	if (!user)
		return;
	strata_cluster_settle(cluster);
	view_party(user, ret_view);
	ret_view->gpu_hours = faded(cluster, user);
	leaf = share_find(cluster->share,
			  user->account ? user->account->share : share_root(cluster->share),
			  user->name);
	if (leaf)
		ret_view->factor = share_factor(cluster->share, leaf, cluster->now_ns);
}

void strata_cluster_account(struct strata_cluster *cluster, const char *name,
			    struct strata_usage_view *ret_view)
{
	const struct party *account = map_text_get(&cluster->accounts, name, strlen(name));

	*ret_view = (struct strata_usage_view){ .weight = 1, .factor = 1 };
	if (!account)
		return;
	strata_cluster_settle(cluster);
	view_party(account, ret_view);
	ret_view->gpu_hours = share_usage(cluster->share, account->share, cluster->now_ns);
	ret_view->factor = share_factor(cluster->share, account->share, cluster->now_ns);
}

double strata_cluster_association_usage(struct strata_cluster *cluster, const char *user,
					const char *account)
{
	struct strata_job_request request = { .user = user, .account = account };
	struct owner *owner;

	strata_cluster_settle(cluster);
	if (party_owner(cluster, &request, &owner, NULL))
		return 0;
	return share_usage(cluster->share, owner->leaf, cluster->now_ns);
}
