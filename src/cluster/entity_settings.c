/* Users, accounts, qualities of service and partitions: what they are told to be, and that it holds
 * no more. */
#include "cluster/cluster_int.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

const char *strata_partition_state_name(enum strata_partition_state state)
{
	static const char *const names[STRATA_PARTITION_STATE_COUNT] = { "up", "down", "drain",
									 "inactive" };

	return (unsigned)state < STRATA_PARTITION_STATE_COUNT ? names[state] : "unknown";
}

const char *strata_entity_type_name(enum strata_entity_type entity)
{
	static const char *const names[STRATA_ENTITY_COUNT] = { "user", "account", "qos",
								"partition" };

	return (unsigned)entity < STRATA_ENTITY_COUNT ? names[entity] : "unknown";
}

static int check_weight(double weight, struct strata_error *err)
{
	if (!(weight >= STRATA_SHARE_WEIGHT_MIN && weight <= STRATA_SHARE_WEIGHT_MAX))
		return strata_fail_at(err, -EINVAL, "weight", "weight is %g; expected %g to %g",
				      weight, STRATA_SHARE_WEIGHT_MIN, STRATA_SHARE_WEIGHT_MAX);
	return 0;
}

static int check_limits(const struct strata_limits *limits, struct strata_error *err)
{
	if (limits &&
	    (limits->gpu_milli < 0 || !(limits->gpu_hours >= 0) || isinf(limits->gpu_hours)))
		return strata_fail_at(err, -EINVAL, "limits", "a limit is below 0");
	return 0;
}

static void set_limits(struct strata_cluster *cluster, struct entity *entity,
		       const struct strata_limits *limits)
{
	entity->limits = limits ? *limits : (struct strata_limits){ 0 };
	if (limits && (limits->jobs || limits->gpu_milli || limits->gpu_hours > 0))
		cluster->limited = true;
	cluster->changed = true; /* what was turned down may start now */
}

static bool has_children(const struct strata_cluster *cluster, const struct entity *account)
{
	for (const struct map_text_entry *at = map_text_next(&cluster->accounts, NULL); at;
	     at = map_text_next(&cluster->accounts, at))
		if (((const struct entity *)at->value)->parent == account)
			return true;
	return false;
}

/* An account can change its place while nobody would notice. */
static int check_idle(const struct strata_cluster *cluster, const struct entity *entity,
		      struct strata_error *err)
{
	if (entity->placed || entity->waiting)
		return strata_fail(err, -EBUSY, "%s has %u jobs that have not ended", entity->name,
				   entity->placed + entity->waiting);
	if (has_children(cluster, entity))
		return strata_fail(err, -EBUSY, "there are accounts below %s", entity->name);
	return 0;
}

static bool is_below(const struct entity *account, const struct entity *above)
{
	while (account && account != above)
		account = account->parent;
	return account != NULL;
}

/* Where a user of the account will be in its new place, with what it has used. */
static int copy_leaf(struct strata_cluster *cluster, const struct association *association,
		     uint64_t share, struct strata_error *err)
{
	double used = share_usage(cluster->share, association->leaf, cluster->now_ns);
	uint64_t leaf = share_find(cluster->share, share, association->user->name);
	int rc;

	if (leaf)
		return 0; /* the user has it with another quality of service */
	rc = share_add(cluster->share, share, association->user->name, association->user->weight,
		       &leaf, err);
	return rc ? rc : share_add_usage(cluster->share, leaf, used, cluster->now_ns, err);
}

static void remove_leaves(struct strata_cluster *cluster, const struct entity *account,
			  uint64_t share)
{
	for (struct association *association = cluster->association_list; association;
	     association = association->next) {
		uint64_t leaf = association->account == account
					? share_find(cluster->share, share, association->user->name)
					: 0;

		if (leaf)
			share_remove(cluster->share, leaf, NULL);
	}
	share_remove(cluster->share, share, NULL);
}

/* The new place is made and filled before the old one is given up, so that a failure changes
 * nothing. What the accounts above it were charged stays with them. */
static int move_account(struct strata_cluster *cluster, struct entity *account,
			struct entity *above, struct strata_error *err)
{
	uint64_t old = account->share, share;
	int rc = check_idle(cluster, account, err);

	if (rc == 0 && is_below(above, account))
		rc = strata_fail_at(err, -EINVAL, "parent", "account %s cannot be below itself",
				    account->name);
	if (rc == 0)
		rc = entity_add_share(cluster, account->name, above, account->weight, &share, err);
	if (rc)
		return rc;
	for (struct association *association = cluster->association_list; association && rc == 0;
	     association = association->next)
		if (association->account == account)
			rc = copy_leaf(cluster, association, share, err);
	if (rc) {
		remove_leaves(cluster, account, share);
		return rc;
	}
	remove_leaves(cluster, account, old);
	for (struct association *association = cluster->association_list; association;
	     association = association->next)
		if (association->account == account)
			association->leaf =
				share_find(cluster->share, share, association->user->name);
	account->share = share;
	account->parent = above;
	return 0;
}

int strata_cluster_set_account(struct strata_cluster *cluster, const char *name, const char *parent,
			       double weight, const struct strata_limits *limits,
			       struct strata_error *err)
{
	struct entity *above = NULL, *account;
	int rc = check_weight(weight, err);

	cluster_tell(cluster, .kind = STRATA_EVENT_ACCOUNT, .name = name, .account = parent,
		     .weight = weight, .limits = limits);
	if (rc == 0)
		rc = check_limits(limits, err);
	if (rc == 0 && parent) {
		above = map_text_get(&cluster->accounts, parent, strlen(parent));
		if (!above)
			rc = strata_fail_at(err, -ENOENT, "parent", "there is no account %s",
					    parent);
	}
	if (rc == 0)
		rc = entity_get_account(cluster, name, above, &account, err);
	if (rc)
		return rc;
	if (parent && account->parent != above)
		rc = move_account(cluster, account, above, err);
	if (rc)
		return rc;
	rc = share_set_weight(cluster->share, account->share, weight, err);
	if (rc == 0) {
		account->weight = weight;
		set_limits(cluster, account, limits);
	}
	return rc;
}

/* In every account that it has jobs for. */
static void set_user_weight(struct strata_cluster *cluster, struct entity *user, double weight)
{
	for (struct association *association = cluster->association_list; association;
	     association = association->next)
		if (association->user == user) {
			int rc = share_set_weight(cluster->share, association->leaf, weight, NULL);

			assert(rc == 0);
		}
	user->weight = weight;
}

int strata_cluster_set_user(struct strata_cluster *cluster, const char *name, const char *account,
			    double weight, const struct strata_limits *limits,
			    struct strata_error *err)
{
	struct entity *user, *own = NULL;
	int rc = check_weight(weight, err);

	cluster_tell(cluster, .kind = STRATA_EVENT_USER, .name = name, .account = account,
		     .weight = weight, .limits = limits);
	if (rc == 0)
		rc = check_limits(limits, err);
	if (rc == 0 && account)
		rc = entity_get_account(cluster, account, NULL, &own, err);
	if (rc == 0)
		rc = entity_get(cluster, &cluster->users, name, &user, err);
	if (rc)
		return rc;
	set_user_weight(cluster, user, weight);
	user->account = own;
	set_limits(cluster, user, limits);
	return 0;
}

int strata_cluster_set_qos(struct strata_cluster *cluster, const char *name, double priority,
			   double usage_factor, const struct strata_limits *limits,
			   struct strata_error *err)
{
	struct entity *qos;
	int rc = check_limits(limits, err);

	cluster_tell(cluster, .kind = STRATA_EVENT_QOS, .name = name, .priority = priority,
		     .usage_factor = usage_factor, .limits = limits);
	if (rc == 0 && (!isfinite(priority) || !(usage_factor >= 0 && usage_factor <= 1e6)))
		rc = strata_fail_at(
			err, -EINVAL, "usage_factor",
			"priority is %g and usage_factor %g; expected a number and 0 to 1e6",
			priority, usage_factor);
	if (rc == 0)
		rc = entity_get(cluster, &cluster->qos, name, &qos, err);
	if (rc)
		return rc;
	for (struct association *association = cluster->association_list; association;
	     association = association->next)
		if (association->qos == qos)
			entity_accrue(cluster, association);
	qos->priority = priority;
	qos->usage_factor = usage_factor;
	set_limits(cluster, qos, limits);
	return 0;
}

/* Asks know the partition they name. */
static void note_partition(struct strata_cluster *cluster, const struct entity *partition)
{
	for (const struct map_text_entry *at = map_text_next(&cluster->resource_requests, NULL); at;
	     at = map_text_next(&cluster->resource_requests, at)) {
		struct resource_request *resources = at->value;

		if (strcmp(resources->partition, partition->name) == 0)
			resources->partition_entity = partition;
	}
}

int strata_cluster_set_partition(struct strata_cluster *cluster, const char *name, double priority,
				 enum strata_partition_state state, struct strata_error *err)
{
	struct entity *partition;
	int rc = 0;

	cluster_tell(cluster, .kind = STRATA_EVENT_PARTITION, .name = name, .priority = priority,
		     .partition_state = state);
	if (!isfinite(priority))
		rc = strata_fail_at(err, -EINVAL, "priority", "priority is not a number");
	else if ((unsigned)state >= STRATA_PARTITION_STATE_COUNT)
		rc = strata_fail_at(err, -EINVAL, "state", "there is no such state");
	else
		rc = entity_get(cluster, &cluster->partitions, name, &partition, err);
	if (rc)
		return rc;
	partition->priority = priority;
	if (partition->state != state) {
		partition->state = state;
		cluster->limited = cluster->changed = cluster->disturbed = true;
	}
	note_partition(cluster, partition);
	return 0;
}

const struct entity *entity_partition(const struct strata_cluster *cluster, const char *partition)
{
	return map_text_get(&cluster->partitions, partition, strlen(partition));
}

/* ---- no more ---- */

static bool has_jobs_in(const struct strata_cluster *cluster, const struct entity *partition)
{
	for (const struct map_u64_entry *at = map_u64_next(&cluster->jobs, NULL); at;
	     at = map_u64_next(&cluster->jobs, at)) {
		const struct job *job = at->value;

		if (!strata_job_ended(job->state) && job->resources->partition_entity == partition)
			return true;
	}
	return false;
}

static int remove_account(struct strata_cluster *cluster, struct entity *account,
			  struct strata_error *err)
{
	int rc = check_idle(cluster, account, err);

	if (rc == 0 && account->parent)
		rc = move_account(cluster, account, NULL, err);
	if (rc == 0)
		rc = share_set_weight(cluster->share, account->share, 1, err);
	return rc;
}

int strata_cluster_remove_entity(struct strata_cluster *cluster, enum strata_entity_type entity,
				 const char *name, struct strata_error *err)
{
	struct map_text *const maps[STRATA_ENTITY_COUNT] = { &cluster->users, &cluster->accounts,
							     &cluster->qos, &cluster->partitions };
	struct entity *gone = map_text_get(maps[entity], name, strlen(name));
	int rc;

	cluster_tell(cluster, .kind = STRATA_EVENT_REMOVE_ENTITY, .entity = entity, .name = name);
	if (!gone)
		return 0;
	rc = entity == STRATA_ENTITY_ACCOUNT ? remove_account(cluster, gone, err)
					     : check_idle(cluster, gone, err);
	if (rc == 0 && entity == STRATA_ENTITY_PARTITION && has_jobs_in(cluster, gone))
		rc = strata_fail(err, -EBUSY, "there are jobs in partition %s that have not ended",
				 name);
	if (rc)
		return rc;
	if (entity == STRATA_ENTITY_USER) /* its leaves have its weight */
		set_user_weight(cluster, gone, 1);
	gone->weight = gone->usage_factor = 1;
	gone->priority = 0;
	gone->account = NULL;
	gone->state = STRATA_PARTITION_UP;
	set_limits(cluster, gone, NULL);
	return 0;
}
