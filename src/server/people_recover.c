/*
 * Users, accounts, qualities of service and partitions after a start: those that the store has, partitions that nodes of the configuration are
 * in, and names that were taken over from a version that did not ask who made them.
 */
#include "server/people.h"

#include <strata/limits.h>

#include <string.h>

static int recover_one(void *context, const void *row_any, struct strata_error *err)
{
	struct server *server = context;
	const struct store_party *row = row_any;
	struct person *person;
	int party = 0;

	while (party < STRATA_PARTY_COUNT &&
	       strcmp(row->kind, strata_party_name((enum strata_party)party)) != 0)
		party++;
	if (party == STRATA_PARTY_COUNT)
		return 0; /* of a kind that this program does not know */
	int rc = person_add(server, (enum strata_party)party, row->name, &person, err);

	if (rc)
		return rc;
	person->made = true;
	person->taken_over = !row->settings;
	json_t *settings = row->settings ? json_loads(row->settings, 0, NULL) : json_object();

	if (!settings)
		return strata_fail_memory(err);
	json_decref(person->settings);
	person->settings = settings;
	return 0;
}

/* Words as "a,b": a node's partitions. */
static int add_configured(struct server *server, const char *words, struct strata_error *err)
{
	int rc = 0;

	while (rc == 0 && *words) {
		size_t span = strcspn(words, ",");
		const char *name = strata_arena_text(&server->scratch, words, span);
		struct person *person =
			name && span ? person_find(server, STRATA_PARTY_PARTITION, name) : NULL;

		if (!name)
			rc = strata_fail_memory(err);
		else if (span && !person)
			rc = person_add(server, STRATA_PARTY_PARTITION, name, &person, err);
		if (person)
			person->configured = true;
		words += span + (words[span] == ',');
	}
	return rc;
}

static int recover_configured(struct server *server, struct strata_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < server->node_count; i++) {
		const char *partitions = server->nodes[i].conf.partitions;

		rc = add_configured(server,
				    partitions && *partitions ? partitions : PEOPLE_ALL_NODES, err);
	}
	return rc;
}

/* An account is told after the one above it, whatever the order of their names. */
static int tell_account(struct server *server, struct person *account, int depth,
			struct strata_error *err)
{
	const char *above = json_string_value(json_object_get(account->settings, "parent"));
	struct person *parent = above ? person_find(server, STRATA_PARTY_ACCOUNT, above) : NULL;
	int rc = 0;

	if (account->told || depth > STRATA_SHARE_DEPTH_MAX)
		return 0;
	if (parent)
		rc = tell_account(server, parent, depth + 1, err);
	account->told = true;
	return rc ? rc : person_settle(server, account, err);
}

int people_recover(struct server *server, struct strata_error *err)
{
	int rc = store_load(server->store, STORE_PARTY, NULL, recover_one, server, err);

	if (rc == 0)
		rc = recover_configured(server, err);
	for (struct person *at = server->people[STRATA_PARTY_ACCOUNT].first; rc == 0 && at;
	     at = at->next)
		rc = tell_account(server, at, 0, err);
	for (int party = 0; party < STRATA_PARTY_COUNT; party++)
		for (struct person *at = server->people[party].first; rc == 0 && at; at = at->next)
			if (party != STRATA_PARTY_ACCOUNT && at->made)
				rc = person_settle(server, at, err);
	return rc;
}

static void take_over(struct server *server, struct person *person)
{
	person->taken_over = false;
	person_put(server, person);
	batch_event(server, 0, "people.taken_over",
		    json_pack("{s:s,s:s,s:s}", "kind", strata_party_name(person->party), "name",
			      person->name, "by", "upgrade"));
}

void people_take_over(struct server *server)
{
	for (int party = 0; party < STRATA_PARTY_COUNT; party++)
		for (struct person *at = server->people[party].first; at; at = at->next)
			if (at->taken_over)
				take_over(server, at);
}
