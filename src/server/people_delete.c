/* Deleting what was made: nothing that is in use, so that no job and no setting names what is not there. */
#include "server/people.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN = 5 }; /* jobs that a sentence names */

static const char *name_in(const struct store_job *row, enum strata_party party)
{
	const char *const names[STRATA_PARTY_COUNT] = { row->user, row->account, row->qos,
							row->partition };

	return names[party];
}

/* Which jobs use it, of those that have not ended. */
static int check_jobs(const struct server *server, const struct person *person,
		      struct strata_error *err)
{
	const struct map_u64_entry *entry = NULL;
	char ids[SHOWN * 24] = "";
	size_t count = 0, length = 0;

	while ((entry = map_u64_next(&server->jobs, entry))) {
		const struct store_job *row = &((const struct live *)entry->value)->row;
		const char *name = name_in(row, person->party);

		if (row->completed_ns || !name || strcmp(name, person->name) != 0)
			continue;
		if (count++ < SHOWN)
			length += (size_t)snprintf(ids + length, sizeof(ids) - length, "%s%lld",
						   length ? ", " : "", (long long)row->id);
	}
	return count ? strata_fail(err, -EBUSY,
				   "%s %s is used by %zu job%s that %s not ended: %s%s",
				   strata_party_name(person->party), person->name, count,
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

static bool names(const struct strata_rule *rule, const struct person *person)
{
	const char *name = person->name;

	switch (person->party) {
	case STRATA_PARTY_USER:
		return is_in(&rule->allowed_users, name);
	case STRATA_PARTY_ACCOUNT:
		return (rule->account && strcmp(rule->account, name) == 0) ||
		       is_in(&rule->allowed_accounts, name);
	case STRATA_PARTY_QOS:
		return (rule->qos && strcmp(rule->qos, name) == 0) ||
		       is_in(&rule->allowed_qos, name);
	default:
		return false;
	}
}

static int check_settings(const struct server *server, const struct person *person,
			  struct strata_error *err)
{
	const struct person *at = NULL;

	for (int party = 0; !at && party < STRATA_PARTY_COUNT; party++) {
		at = server->people[party].first;
		while (at && (at == person || !names(&at->rule, person)))
			at = at->next;
	}
	return at ? strata_fail(err, -EBUSY,
				"%s %s is named by the settings of %s %s; change those first",
				strata_party_name(person->party), person->name,
				strata_party_name(at->party), at->name)
		  : 0;
}

int person_delete(struct server *server, enum strata_party party, const char *name, const char *by,
		  struct strata_error *err)
{
	struct strata_rules rules = people_rules(server);
	struct person *person = person_find(server, party, name);
	int rc = 0;

	if (!person)
		rc = strata_rules_require(&rules, party, name, "name", err);
	else if (!person->made)
		rc = strata_fail(err, -EBUSY,
				 "partition %s is there because nodes of the configuration are in "
				 "it; nobody has made settings of it",
				 name);
	if (rc == 0)
		rc = check_jobs(server, person, err);
	if (rc == 0)
		rc = check_settings(server, person, err);
	if (rc == 0)
		rc = strata_cluster_remove_party(server->cluster, party, name, err);
	if (rc)
		return rc;
	batch_event(server, 0, "people.deleted",
		    json_pack("{s:s,s:s,s:s,s:O}", "kind", strata_party_name(party), "name", name,
			      "by", by, "from", person->settings));
	person_unmake(server, person);
	return 0;
}
