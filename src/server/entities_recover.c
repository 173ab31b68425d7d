/*
 * Users, accounts, qualities of service and partitions after a start: those that the store has,
 * partitions that nodes of the configuration are in, and names that were taken over from a version
 * that did not ask who made them.
 */
#include "server/nodes.h"
#include "server/entities.h"

#include <strata/limits.h>

#include <string.h>

static int recover_one(void *context, const void *row_any, struct strata_error *err)
{
	struct decider *decider = context;
	const struct store_entity *row = row_any;
	struct entity *entity;
	int type = 0;

	while (type < STRATA_ENTITY_COUNT &&
	       strcmp(row->kind, strata_entity_type_name((enum strata_entity_type)type)) != 0)
		type++;
	if (type == STRATA_ENTITY_COUNT)
		return 0; /* of a kind that this program does not know */
	int rc = entity_add(decider, (enum strata_entity_type)type, row->name, &entity, err);

	if (rc)
		return rc;
	entity->made = true;
	entity->taken_over = !row->settings;
	json_t *settings = row->settings ? json_loads(row->settings, 0, NULL) : json_object();

	if (!settings)
		return strata_fail_memory(err);
	json_decref(entity->settings);
	entity->settings = settings;
	return 0;
}

/* Words as "a,b": a node's partitions. */
static int add_configured(struct decider *decider, const char *words, struct strata_error *err)
{
	int rc = 0;

	while (rc == 0 && *words) {
		size_t span = strcspn(words, ",");
		const char *name = strata_arena_text(&decider->scratch, words, span);
		struct entity *entity =
			name && span ? entity_find(decider, STRATA_ENTITY_PARTITION, name) : NULL;

		if (!name)
			rc = strata_fail_memory(err);
		else if (span && !entity)
			rc = entity_add(decider, STRATA_ENTITY_PARTITION, name, &entity, err);
		if (entity)
			entity->configured = true;
		words += span + (words[span] == ',');
	}
	return rc;
}

static int recover_configured(struct decider *decider, struct strata_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < decider->node_count; i++) {
		const char *partitions = decider->nodes[i].conf.partitions;

		rc = add_configured(decider,
				    partitions && *partitions ? partitions : PEOPLE_ALL_NODES, err);
	}
	return rc;
}

/* An account is told after the one above it, whatever the order of their names. */
static int tell_account(struct decider *decider, struct entity *account, int depth,
			struct strata_error *err)
{
	const char *above = json_string_value(json_object_get(account->settings, "parent"));
	struct entity *parent = above ? entity_find(decider, STRATA_ENTITY_ACCOUNT, above) : NULL;
	int rc = 0;

	if (account->told || depth > STRATA_SHARE_DEPTH_MAX)
		return 0;
	if (parent)
		rc = tell_account(decider, parent, depth + 1, err);
	account->told = true;
	return rc ? rc : entity_settle(decider, account, err);
}

int entities_recover(struct decider *decider, struct strata_error *err)
{
	int rc = store_load(decider->store, STORE_ENTITY, NULL, recover_one, decider, err);

	if (rc == 0)
		rc = recover_configured(decider, err);
	for (struct entity *at = decider->entities[STRATA_ENTITY_ACCOUNT].first; rc == 0 && at;
	     at = at->next)
		rc = tell_account(decider, at, 0, err);
	for (int type = 0; type < STRATA_ENTITY_COUNT; type++)
		for (struct entity *at = decider->entities[type].first; rc == 0 && at;
		     at = at->next)
			if (type != STRATA_ENTITY_ACCOUNT && at->made)
				rc = entity_settle(decider, at, err);
	return rc;
}

static void take_over(struct decider *decider, struct entity *entity)
{
	entity->taken_over = false;
	entity_put(decider, entity);
	batch_event(decider, 0, "entity.taken_over",
		    json_pack("{s:s,s:s,s:s}", "kind", strata_entity_type_name(entity->type),
			      "name", entity->name, "by", "upgrade"));
}

void entities_take_over(struct decider *decider)
{
	for (int type = 0; type < STRATA_ENTITY_COUNT; type++)
		for (struct entity *at = decider->entities[type].first; at; at = at->next)
			if (at->taken_over)
				take_over(decider, at);
}
