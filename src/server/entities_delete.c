/* Deleting what was made: nothing that is in use, so that no job and no setting names what is not
 * there. */
#include "server/live.h"
#include "server/entities.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 5 }; /* jobs that a sentence names */

static const char *name_in(const struct job *job, enum strata_entity_type type)
{
	const char *const names[STRATA_ENTITY_COUNT] = { job->user, job->account, job->qos,
							 job->partition };

	return names[type];
}

/* Which jobs use it, of those that have not ended. */
static int check_jobs(const struct decider *decider, const struct entity *entity,
		      struct strata_error *err)
{
	char ids[SHOWN * 24] = "";
	size_t count = 0, length = 0;

	for (const struct live *live = live_first(decider); live; live = live_next(live)) {
		const struct job *job = &live->job;
		const char *name = name_in(job, entity->type);

		if (job->completed_ns || !name || strcmp(name, entity->name) != 0)
			continue;
		for (int64_t id = job_first_id(job); id <= job->id; id++)
			if (count++ < SHOWN)
				length += (size_t)snprintf(ids + length, sizeof(ids) - length,
							   "%s%lld", length ? ", " : "",
							   (long long)id);
	}
	return count ? strata_fail(err, -EBUSY,
				   "%s %s is used by %zu job%s that %s not ended: %s%s",
				   strata_entity_type_name(entity->type), entity->name, count,
				   count > 1 ? "s" : "", count > 1 ? "have" : "has", ids,
				   count > SHOWN ? " …" : "")
		     : 0;
}

static bool is_in(const struct strata_list *list, const char *name)
{
	const char *const *names = list->items;

	for (size_t i = 0; i < list->count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static bool names(const struct strata_rule *rule, const struct entity *entity)
{
	const char *name = entity->name;

	switch (entity->type) {
	case STRATA_ENTITY_USER:
		return is_in(&rule->allowed_users, name);
	case STRATA_ENTITY_ACCOUNT:
		return (rule->account && strcmp(rule->account, name) == 0) ||
		       is_in(&rule->allowed_accounts, name);
	case STRATA_ENTITY_QOS:
		return (rule->qos && strcmp(rule->qos, name) == 0) ||
		       is_in(&rule->allowed_qos, name);
	default:
		return false;
	}
}

static int check_settings(const struct decider *decider, const struct entity *entity,
			  struct strata_error *err)
{
	const struct entity *at = NULL;

	for (int type = 0; !at && type < STRATA_ENTITY_COUNT; type++) {
		at = decider->entities[type].first;
		while (at && (at == entity || !names(&at->rule, entity)))
			at = at->next;
	}
	return at ? strata_fail(err, -EBUSY,
				"%s %s is named by the settings of %s %s; change those first",
				strata_entity_type_name(entity->type), entity->name,
				strata_entity_type_name(at->type), at->name)
		  : 0;
}

int entity_delete(struct decider *decider, enum strata_entity_type type, const char *name,
		  const char *by, struct strata_error *err)
{
	struct strata_rules rules = entities_rules(decider);
	struct entity *entity = entity_find(decider, type, name);
	int rc = 0;

	if (!entity)
		rc = strata_rules_require(&rules, type, name, "name", err);
	else if (!entity->made)
		rc = strata_fail(err, -EBUSY,
				 "partition %s is there because nodes of the configuration are in "
				 "it; nobody has made settings of it",
				 name);
	if (rc == 0)
		rc = check_jobs(decider, entity, err);
	if (rc == 0)
		rc = check_settings(decider, entity, err);
	if (rc == 0)
		rc = strata_cluster_remove_entity(decider->cluster, type, name, err);
	if (rc)
		return rc;
	batch_event(decider, 0, "entity.deleted",
		    json_pack("{s:s,s:s,s:s,s:O}", "kind", strata_entity_type_name(type), "name",
			      name, "by", by, "from", entity->settings));
	entity_unmake(decider, entity);
	return 0;
}
