/*
 * Who uses the cluster: users, accounts above each other, qualities of service; what each may have,
 * has and has used.
 *
 * Usage is charged as it accrues: an association (a user in an account with a quality of service)
 * has a rate, the GPU-hours per hour of what it runs, and is charged up to now whenever that rate
 * changes or somebody asks. The share tree answers who goes first; an entity keeps its own faded
 * sum for limits that cut across the tree. What they are told to be is in entity_settings.c.
 */
#include "cluster/cluster_int.h"

#include "core/real.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct association_key {
	const struct entity *user, *account, *qos;
};

int entity_get(struct strata_cluster *cluster, struct map_text *map, const char *name,
	       struct entity **ret_entity, struct strata_error *err)
{
	size_t length = strlen(name);
	struct entity *entity = map_text_get(map, name, length);
	uint64_t handle;

	if (entity) {
		*ret_entity = entity;
		return 0;
	}
	/* an account's node in the share has one letter more */
	if (length == 0 || length >= STRATA_NAME_BYTES_MAX)
		return strata_fail(err, -EINVAL, "a name has %zu bytes; expected 1 to %d", length,
				   STRATA_NAME_BYTES_MAX - 1);
	entity = slab_get(&cluster->entity_slab, &handle);
	if (!entity)
		return strata_fail_memory(err);
	if (map_text_put(map, name, length, entity, NULL)) {
		slab_put(&cluster->entity_slab, handle);
		return strata_fail_memory(err);
	}
	entity->name = map_text_find(map, name, length)->key;
	entity->number = map->count;
	entity->weight = entity->usage_factor = 1;
	entity->used_ns = cluster->now_ns;
	*ret_entity = entity;
	return 0;
}

/* Accounts and users without an account are children of the same root, and may have the same name:
 * an account's node is "@name". */
int entity_add_share(struct strata_cluster *cluster, const char *name, const struct entity *parent,
		     double weight, uint64_t *ret_share, struct strata_error *err)
{
	char node[STRATA_NAME_BYTES_MAX + 1];

	snprintf(node, sizeof(node), "@%s", name);
	return share_add(cluster->share, parent ? parent->share : share_root(cluster->share), node,
			 weight, ret_share, err);
}

int entity_get_account(struct strata_cluster *cluster, const char *name, struct entity *parent,
		       struct entity **ret_account, struct strata_error *err)
{
	struct entity *account;
	int rc = entity_get(cluster, &cluster->accounts, name, &account, err);

	if (rc)
		return rc;
	if (!account->share) {
		rc = entity_add_share(cluster, name, parent, 1, &account->share, err);
		if (rc)
			return rc;
		account->parent = parent;
	}
	*ret_account = account;
	return 0;
}

static int get_leaf(struct strata_cluster *cluster, const struct entity *user,
		    const struct entity *account, uint64_t *ret_leaf, struct strata_error *err)
{
	uint64_t parent = account ? account->share : share_root(cluster->share);
	uint64_t leaf = share_find(cluster->share, parent, user->name);

	if (leaf) {
		*ret_leaf = leaf;
		return 0;
	}
	return share_add(cluster->share, parent, user->name, user->weight, ret_leaf, err);
}

static int get_association(struct strata_cluster *cluster, struct entity *user,
			   struct entity *account, struct entity *qos,
			   struct association **ret_association, struct strata_error *err)
{
	struct association_key key = { user, account, qos };
	struct association *association =
		map_text_get(&cluster->associations, (const char *)&key, sizeof(key));
	uint64_t leaf, handle;

	if (association) {
		*ret_association = association;
		return 0;
	}
	int rc = get_leaf(cluster, user, account, &leaf, err);

	if (rc)
		return rc;
	association = slab_get(&cluster->association_slab, &handle);
	if (!association)
		return strata_fail_memory(err);
	if (map_text_put(&cluster->associations, (const char *)&key, sizeof(key), association,
			 NULL)) {
		slab_put(&cluster->association_slab, handle);
		return strata_fail_memory(err);
	}
	*association = (struct association){ .user = user,
					     .account = account,
					     .qos = qos,
					     .leaf = leaf,
					     .charged_ns = cluster->now_ns,
					     .next = cluster->association_list };
	cluster->association_list = association;
	*ret_association = association;
	return 0;
}

int entity_association(struct strata_cluster *cluster, const struct strata_job_request *request,
		       struct association **ret_association, struct strata_error *err)
{
	struct entity *user, *account, *qos = NULL;
	int rc = entity_get(cluster, &cluster->users, request->user, &user, err);

	if (rc)
		return rc;
	account = user->account;
	if (request->account && *request->account)
		rc = entity_get_account(cluster, request->account, NULL, &account, err);
	if (rc == 0 && request->qos && *request->qos)
		rc = entity_get(cluster, &cluster->qos, request->qos, &qos, err);
	return rc ? rc : get_association(cluster, user, account, qos, ret_association, err);
}

/* ---- usage ---- */

static double faded(const struct strata_cluster *cluster, const struct entity *entity)
{
	int64_t passed = cluster->now_ns - entity->used_ns;

	return passed > 0
		       ? entity->used * real_exp2(-(double)passed / (double)cluster->half_life_ns)
		       : entity->used;
}

static void fade(const struct strata_cluster *cluster, struct entity *entity, double more)
{
	double used = faded(cluster, entity) + more;

	entity->used = used > 0 ? used : 0; /* a correction takes back no more than there is */
	if (cluster->now_ns > entity->used_ns)
		entity->used_ns = cluster->now_ns;
}

void entity_charge(struct strata_cluster *cluster, struct association *association, double hours)
{
	if (association->qos) {
		fade(cluster, association->qos, hours);
		hours *= association->qos->usage_factor;
	}
	int rc = hours < 0 ? share_add_usage(cluster->share, association->leaf, hours,
					     cluster->now_ns, NULL)
			   : share_charge(cluster->share, association->leaf, hours, cluster->now_ns,
					  NULL);

	assert(rc == 0);
	fade(cluster, association->user, hours);
}

void entity_accrue(struct strata_cluster *cluster, struct association *association)
{
	if (association->rate > 0 && cluster->now_ns > association->charged_ns)
		entity_charge(cluster, association,
			      association->rate *
				      (double)(cluster->now_ns - association->charged_ns) / 3.6e12);
	association->charged_ns = cluster->now_ns;
}

/* Usage is stored for a user in an account, whatever the quality of service. */
int64_t entity_stored_ns(const struct strata_cluster *cluster,
			 const struct association *association)
{
	struct association_key key = { association->user, association->account, NULL };
	const struct association *plain =
		map_text_get(&cluster->associations, (const char *)&key, sizeof(key));

	return plain ? plain->stored_ns : 0;
}

static void accrue_all(struct strata_cluster *cluster)
{
	for (struct association *association = cluster->association_list; association;
	     association = association->next)
		entity_accrue(cluster, association);
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
	struct association *association;

	cluster_tell(cluster, .kind = STRATA_EVENT_USAGE, .now_ns = at_ns, .name = name,
		     .account = account, .gpu_hours = gpu_hours);
	int rc = entity_association(cluster, &request, &association, err);

	if (rc)
		return rc;
	cluster_clock(cluster, at_ns);
	rc = share_add_usage(cluster->share, association->leaf, gpu_hours, at_ns, err);
	if (rc == 0) {
		association->stored_ns = at_ns;
		double aged = at_ns < cluster->now_ns
				      ? real_exp2((double)(at_ns - cluster->now_ns) /
						  (double)cluster->half_life_ns)
				      : 1;

		fade(cluster, association->user, gpu_hours * aged);
	}
	return rc;
}

/* ---- limits ---- */

void entity_count_waiting(struct association *association, int64_t more)
{
	association->user->waiting += (uint32_t)more;
	if (association->qos)
		association->qos->waiting += (uint32_t)more;
	for (struct entity *account = association->account; account; account = account->parent)
		account->waiting += (uint32_t)more;
}

static void count_placed(struct entity *entity, int64_t gpu_milli, int sign)
{
	entity->placed += (uint32_t)sign;
	entity->gpu_milli += sign * gpu_milli;
}

void entity_count_placed(struct association *association, int64_t gpu_milli, int sign)
{
	count_placed(association->user, gpu_milli, sign);
	if (association->qos)
		count_placed(association->qos, gpu_milli, sign);
	for (struct entity *account = association->account; account; account = account->parent)
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

static bool over(struct strata_cluster *cluster, const struct entity *entity,
		 const struct resource_request *resources, double used)
{
	const struct strata_limits *limits = &entity->limits;

	if (limits->gpu_hours > 0 && used > limits->gpu_hours) {
		wake_when_faded(cluster, used, limits->gpu_hours);
		return true;
	}
	return (limits->jobs && entity->placed >= limits->jobs) ||
	       (limits->gpu_milli && entity->gpu_milli + resources->gpu_milli > limits->gpu_milli &&
		resources->gpu_milli);
}

static bool partition_starts(enum strata_partition_state state)
{
	return state == STRATA_PARTITION_UP || state == STRATA_PARTITION_DRAIN;
}

enum strata_reason entity_limit(struct strata_cluster *cluster, struct association *association,
				const struct resource_request *resources)
{
	if (!cluster->limited)
		return STRATA_REASON_NONE;
	if (resources->partition_entity && !partition_starts(resources->partition_entity->state))
		return STRATA_REASON_PARTITION_DOWN;
	if (cluster->accrued_ns != cluster->now_ns) {
		accrue_all(cluster); /* what others of the account run counts too */
		cluster->accrued_ns = cluster->now_ns;
	}
	fade(cluster, association->user, 0);
	if (over(cluster, association->user, resources, association->user->used))
		return STRATA_REASON_USER_LIMIT;
	if (association->qos) {
		fade(cluster, association->qos, 0);
		if (over(cluster, association->qos, resources, association->qos->used))
			return STRATA_REASON_QOS_LIMIT;
	}
	for (struct entity *account = association->account; account; account = account->parent)
		if (over(cluster, account, resources,
			 account->limits.gpu_hours > 0
				 ? share_usage(cluster->share, account->share, cluster->now_ns)
				 : 0))
			return STRATA_REASON_ACCOUNT_LIMIT;
	return STRATA_REASON_NONE;
}

/* Of several that are too many together the first few would have been let in. */
static int admits(const struct entity *entity, const char *what, uint32_t count,
		  struct strata_error *err)
{
	uint32_t limit = entity->limits.waiting, waiting = entity->waiting;

	if (!limit || (uint64_t)waiting + count <= limit)
		return 0;
	return strata_fail_at(err, -EDQUOT, what, "%s %s has %u waiting jobs; the limit is %u",
			      what, entity->name, waiting > limit ? waiting : limit, limit);
}

int entity_admits(const struct association *association, uint32_t count, struct strata_error *err)
{
	int rc = admits(association->user, "user", count, err);

	if (rc == 0 && association->qos)
		rc = admits(association->qos, "qos", count, err);
	for (const struct entity *account = association->account; rc == 0 && account;
	     account = account->parent)
		rc = admits(account, "account", count, err);
	return rc;
}

/* ---- views ---- */

static void view_entity(const struct entity *entity, struct strata_usage_view *view)
{
	view->weight = entity->weight;
	view->jobs = entity->placed;
	view->waiting = entity->waiting;
	view->gpu_milli = entity->gpu_milli;
}

void strata_cluster_user(struct strata_cluster *cluster, const char *name,
			 struct strata_usage_view *ret_view)
{
	struct entity *user = map_text_get(&cluster->users, name, strlen(name));
	uint64_t leaf;

	*ret_view = (struct strata_usage_view){ .weight = 1, .share = 1, .factor = 1 };
	if (!user)
		return;
	strata_cluster_settle(cluster);
	view_entity(user, ret_view);
	ret_view->gpu_hours = faded(cluster, user);
	ret_view->share = user->weight / (ret_view->gpu_hours + 1);
	leaf = share_find(cluster->share,
			  user->account ? user->account->share : share_root(cluster->share),
			  user->name);
	if (leaf)
		ret_view->factor = share_factor(cluster->share, leaf, cluster->now_ns);
}

void strata_cluster_each_user(const struct strata_cluster *cluster,
			      void (*each)(void *context, const char *name), void *context)
{
	for (const struct map_text_entry *at = map_text_next(&cluster->users, NULL); at;
	     at = map_text_next(&cluster->users, at))
		each(context, ((const struct entity *)at->value)->name);
}

void strata_cluster_account(struct strata_cluster *cluster, const char *name,
			    struct strata_usage_view *ret_view)
{
	const struct entity *account = map_text_get(&cluster->accounts, name, strlen(name));

	*ret_view = (struct strata_usage_view){ .weight = 1, .share = 1, .factor = 1 };
	if (!account)
		return;
	strata_cluster_settle(cluster);
	view_entity(account, ret_view);
	ret_view->gpu_hours = share_usage(cluster->share, account->share, cluster->now_ns);
	ret_view->share = account->weight / (ret_view->gpu_hours + 1);
	ret_view->factor = share_factor(cluster->share, account->share, cluster->now_ns);
}

double strata_cluster_association_usage(struct strata_cluster *cluster, const char *user,
					const char *account)
{
	struct strata_job_request request = { .user = user, .account = account };
	struct association *association;

	strata_cluster_settle(cluster);
	if (entity_association(cluster, &request, &association, NULL))
		return 0;
	return share_usage(cluster->share, association->leaf, cluster->now_ns);
}
