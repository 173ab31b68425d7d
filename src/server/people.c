/*
 * Users, accounts, qualities of service and partitions as administrators made them: kept as JSON, told to the cluster, and asked by admit.c.
 * Accounts, qualities of service and partitions that nobody made do not exist; a partition that nodes are in exists by that. Users
 * are there anyway: here are those that something was said about.
 */
#include "server/people.h"

#include "core/container.h"
#include "core/option.h"
#include "core/text.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- settings ---- */

struct limits_conf {
	int64_t jobs, waiting, gpus;
	double gpu_hours;
};
struct person_conf {
	double weight, priority, usage_factor;
	const char *account, *parent, *qos;
	struct strata_list allowed_users, allowed_accounts, allowed_qos;
	bool usual, open, raise_priority;
	int state; /* enum strata_partition_state */
	int64_t time_limit_ns, time_limit_ns_max;
	struct limits_conf limits;
};

#define LIMIT(field) offsetof(struct limits_conf, field)
#define OFFSET(field) offsetof(struct person_conf, field)
static const struct strata_option limits_options[] = {
	{ "jobs", STRATA_INT, LIMIT(jobs), .integer = { 0, 0, UINT32_MAX },
	  .help = "that run at once; any number when 0" },
	{ "waiting", STRATA_INT, LIMIT(waiting), .integer = { 0, 0, UINT32_MAX },
	  .help = "that wait; any number when 0" },
	{ "gpus", STRATA_INT, LIMIT(gpus), .integer = { 0, 0, 1000000 },
	  .help = "in use at once; any number when 0" },
	{ "gpu_hours", STRATA_REAL, LIMIT(gpu_hours), .real = { 0, 0, 1e12 },
	  .help = "used, as they fade; any number when 0" },
	{ 0 }
};
static const struct strata_schema limits_schema = { "limits", NULL, sizeof(struct limits_conf),
						    limits_options };
static const struct strata_option one_name = { .type = STRATA_TEXT,
					       .text = { NULL, STRATA_NAME_BYTES_MAX - 1 } };
static const struct strata_choice states[] = {
	{ "up", STRATA_PARTITION_UP, "takes jobs and starts them" },
	{ "down", STRATA_PARTITION_DOWN, "takes jobs, starts none" },
	{ "drain", STRATA_PARTITION_DRAIN, "takes no new jobs, starts those that wait" },
	{ "inactive", STRATA_PARTITION_INACTIVE, "neither" },
	{ 0 }
};
static const struct strata_option person_options[] = {
	{ "weight", STRATA_REAL, OFFSET(weight),
	  .real = { 1, STRATA_SHARE_WEIGHT_MIN, STRATA_SHARE_WEIGHT_MAX },
	  .help = "its share beside the others'" },
	{ "priority", STRATA_REAL, OFFSET(priority), .real = { 0, -1e9, 1e9 },
	  .help = "of a quality of service or partition, for the order multifactor" },
	{ "usage_factor", STRATA_REAL, OFFSET(usage_factor), .real = { 1, 0, 1e6 },
	  .help = "of a quality of service: usage counts so many times" },
	{ "account", STRATA_TEXT, OFFSET(account), .text = { NULL, STRATA_NAME_BYTES_MAX - 1 },
	  .help = "of a user: whom its jobs count for" },
	{ "allowed_accounts", STRATA_LIST, OFFSET(allowed_accounts),
	  .list = { &one_name, STRATA_ALLOWED_NAMES_MAX },
	  .help = "of a user: other accounts it may use; of a partition: only these" },
	{ "qos", STRATA_TEXT, OFFSET(qos), .text = { NULL, STRATA_NAME_BYTES_MAX - 1 },
	  .help = "of a user: the quality of service of jobs that name none" },
	{ "allowed_qos", STRATA_LIST, OFFSET(allowed_qos),
	  .list = { &one_name, STRATA_ALLOWED_NAMES_MAX },
	  .help = "of a user or account: other qualities of service it may use; of a partition: "
		  "only these" },
	{ "allowed_users", STRATA_LIST, OFFSET(allowed_users),
	  .list = { &one_name, STRATA_ALLOWED_NAMES_MAX },
	  .help = "of a partition: only these may use it" },
	{ "raise_priority", STRATA_BOOL, OFFSET(raise_priority),
	  .help = "of a user, account or quality of service: its jobs may have the priority high "
		  "and a nice below 0" },
	{ "open", STRATA_BOOL, OFFSET(open),
	  .help = "of a quality of service: everybody may use it (above the default one: who may "
		  "raise priorities)" },
	{ "parent", STRATA_TEXT, OFFSET(parent), .text = { NULL, STRATA_NAME_BYTES_MAX - 1 },
	  .help = "of an account: the one above it" },
	{ "default", STRATA_BOOL, OFFSET(usual),
	  .help = "of a partition or quality of service: that of jobs that name none" },
	{ "state", STRATA_ENUM, OFFSET(state), .choice = { states, STRATA_PARTITION_UP },
	  .help = "of a partition: what it does with jobs" },
	{ "time_limit", STRATA_DURATION, OFFSET(time_limit_ns),
	  .integer = { 0, 0, STRATA_DURATION_NS_MAX }, .unit = "s",
	  .help = "of a partition: of jobs that ask for none; 0: the service's" },
	{ "time_limit_max", STRATA_DURATION, OFFSET(time_limit_ns_max),
	  .integer = { 0, 0, STRATA_DURATION_NS_MAX }, .unit = "s",
	  .help = "of a partition: that jobs may ask for; 0: the service's" },
	{ "limits", STRATA_TABLE, OFFSET(limits), .table = &limits_schema,
	  .help = "what it may have" },
	{ 0 }
};
const struct strata_schema people_settings_schema = { "person", NULL, sizeof(struct person_conf),
						      person_options };

/* Which settings each kind has. One that would mean nothing is refused: whoever sets it believes that it does something. */
static const char *const settings_of[STRATA_PARTY_COUNT] = {
	[STRATA_PARTY_USER] =
		" weight account allowed_accounts qos allowed_qos raise_priority limits ",
	[STRATA_PARTY_ACCOUNT] = " weight parent allowed_qos raise_priority limits ",
	[STRATA_PARTY_QOS] = " priority usage_factor default open raise_priority limits ",
	[STRATA_PARTY_PARTITION] = (" priority default state time_limit time_limit_max "
				    "allowed_users allowed_accounts allowed_qos "),
};

static bool has_setting(enum strata_party party, const char *name)
{
	char word[64];

	snprintf(word, sizeof(word), " %.60s ", name);
	return strstr(settings_of[party], word) != NULL;
}

int person_check(enum strata_party party, const char *name, const json_t *settings,
		 struct strata_error *err)
{
	size_t length = strlen(name);
	const char *key;
	json_t *value;

	if (!text_valid(name, length) || length >= STRATA_NAME_BYTES_MAX)
		return strata_fail_at(err, -EINVAL, "name",
				      "the name is not a text of 1 to %d bytes",
				      STRATA_NAME_BYTES_MAX - 1);
	for (const char *at = name; *at; at++)
		if ((unsigned char)*at <= ' ' || *at == 0x7f || *at == ',')
			return strata_fail_at(
				err, -EINVAL, "name",
				"the name has a blank, a comma or a control character");
	json_object_foreach((json_t *)settings, key, value) /* which is not changed */
		if (!has_setting(party, key)) return strata_fail_at(
			err, -EINVAL, key, "a %s has no setting %s; it has%s",
			strata_party_name(party), key, settings_of[party]);
	return 0;
}

static const char *or_null(const char *text)
{
	return text && *text ? text : NULL;
}

/* ---- one of them ---- */

struct person *person_find(const struct server *server, enum strata_party party, const char *name)
{
	return map_text_get(&server->people[party].by_name, name, strlen(name));
}

static const struct strata_rule *find_rule(const void *context, enum strata_party party,
					   const char *name)
{
	const struct person *person = person_find(context, party, name);

	return person ? &person->rule : NULL;
}

static const struct strata_rule *next_rule(const void *context, enum strata_party party,
					   const struct strata_rule *after)
{
	const struct server *server = context;
	const struct person *person = after ? container_of(after, const struct person, rule)->next
					    : server->people[party].first;

	return person ? &person->rule : NULL;
}

struct strata_rules people_rules(const struct server *server)
{
	return (struct strata_rules){ find_rule, next_rule, server };
}

void people_partition_rules(const struct server *server, const char *name, struct spec_rules *rules)
{
	const struct person *partition = name ? person_find(server, STRATA_PARTY_PARTITION, name)
					      : NULL;

	if (!partition)
		return;
	if (partition->time_limit_ns_max)
		rules->time_limit_ns_max = partition->time_limit_ns_max;
	if (partition->time_limit_ns)
		rules->time_limit_ns = partition->time_limit_ns;
	if (rules->time_limit_ns > rules->time_limit_ns_max)
		rules->time_limit_ns = rules->time_limit_ns_max;
}

static void free_person(struct person *person)
{
	json_decref(person->settings);
	strata_arena_fini(&person->arena);
	free(person);
}

static struct person *new_person(struct server *server, enum strata_party party, const char *name)
{
	struct person *person = calloc(1, sizeof(*person) + strlen(name) + 1);

	if (!person)
		return NULL;
	strcpy(person->name, name);
	person->party = party;
	person->settings = json_object();
	person->rule = (struct strata_rule){ .party = party, .name = person->name };
	strata_arena_init(&person->arena, &server->memory, 0);
	if (!person->settings) {
		free_person(person);
		return NULL;
	}
	return person;
}

static int link_person(struct server *server, struct person *person, struct strata_error *err)
{
	struct people *people = &server->people[person->party];

	if (map_text_put(&people->by_name, person->name, strlen(person->name), person, NULL))
		return strata_fail_memory(err);
	*(people->last ? &people->last->next : &people->first) = person;
	people->last = person;
	return 0;
}

static void unlink_person(struct server *server, const struct person *person)
{
	struct people *people = &server->people[person->party];
	struct person **at = &people->first, *before = NULL;

	map_text_remove(&people->by_name, person->name, strlen(person->name));
	while (*at != person) {
		before = *at;
		at = &(*at)->next;
	}
	*at = person->next;
	if (people->last == person)
		people->last = before;
}

static int tell_cluster(struct server *server, const struct person *person,
			const struct person_conf *conf, struct strata_error *err)
{
	struct strata_limits limits = { .jobs = (uint32_t)conf->limits.jobs,
					.waiting = (uint32_t)conf->limits.waiting,
					.gpu_milli = conf->limits.gpus * 1000,
					.gpu_hours = conf->limits.gpu_hours };

	switch (person->party) {
	case STRATA_PARTY_USER:
		return strata_cluster_set_user(server->cluster, person->name,
					       or_null(conf->account), conf->weight, &limits, err);
	case STRATA_PARTY_ACCOUNT:
		return strata_cluster_set_account(server->cluster, person->name,
						  or_null(conf->parent), conf->weight, &limits,
						  err);
	case STRATA_PARTY_QOS:
		return strata_cluster_set_qos(server->cluster, person->name, conf->priority,
					      conf->usage_factor, &limits, err);
	default:
		return strata_cluster_set_partition(server->cluster, person->name, conf->priority,
						    (enum strata_partition_state)conf->state, err);
	}
}

static struct strata_rule make_rule(const struct person *person, const struct person_conf *conf)
{
	return (struct strata_rule){
		.party = person->party,
		.name = person->name,
		.account =
			or_null(person->party == STRATA_PARTY_USER ? conf->account : conf->parent),
		.qos = or_null(conf->qos),
		.allowed_accounts = conf->allowed_accounts,
		.allowed_qos = conf->allowed_qos,
		.allowed_users = conf->allowed_users,
		.usual = conf->usual,
		.open = conf->open,
		.raise_priority = conf->raise_priority,
		.priority = conf->priority,
		.state = (enum strata_partition_state)conf->state,
	};
}

/* There is one default of a kind. */
static int check_usual(const struct server *server, const struct strata_rule *rule,
		       struct strata_error *err)
{
	for (const struct person *at = server->people[rule->party].first; rule->usual && at;
	     at = at->next)
		if (at->rule.usual && strcmp(at->name, rule->name) != 0)
			return strata_fail_at(err, -EBUSY, "default",
					      "%s %s is the default; take that away first",
					      strata_party_name(rule->party), at->name);
	return 0;
}

/* What a setting names must have been made; users need not be. */
static int check_named(const struct server *server, const struct strata_rule *rule,
		       struct strata_error *err)
{
	struct strata_rules rules = people_rules(server);
	const struct {
		enum strata_party party;
		const struct strata_list *list;
		const char *field;
	} lists[] = { { STRATA_PARTY_ACCOUNT, &rule->allowed_accounts, "allowed_accounts" },
		      { STRATA_PARTY_QOS, &rule->allowed_qos, "allowed_qos" } };
	int rc = 0;

	if (rule->account)
		rc = strata_rules_require(&rules, STRATA_PARTY_ACCOUNT, rule->account,
					  rule->party == STRATA_PARTY_USER ? "account" : "parent",
					  err);
	if (rc == 0 && rule->qos)
		rc = strata_rules_require(&rules, STRATA_PARTY_QOS, rule->qos, "qos", err);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		const char *const *names = lists[i].list->items;

		for (size_t j = 0; rc == 0 && j < lists[i].list->count; j++)
			rc = strata_rules_require(&rules, lists[i].party, names[j], lists[i].field,
						  err);
	}
	return rc;
}

/* Its settings become these, whose reference is taken over when all went well. `fresh`: names in them are checked. */
static int settle(struct server *server, struct person *person, json_t *settings, bool fresh,
		  struct strata_error *err)
{
	struct person_conf conf;
	struct strata_arena arena;

	strata_arena_init(&arena, &server->memory, 0);
	int rc = strata_schema_defaults(&people_settings_schema, &arena, &conf, err);

	if (rc == 0)
		rc = option_read_json(&people_settings_schema, settings, fresh ? 0 : OPTION_STORED,
				      &arena, &conf, err);
	struct strata_rule rule;

	if (rc == 0)
		rule = make_rule(person, &conf);
	if (rc == 0 && fresh)
		rc = check_usual(server, &rule, err);
	if (rc == 0 && fresh)
		rc = check_named(server, &rule, err);
	if (rc == 0)
		rc = tell_cluster(server, person, &conf, err);
	if (rc) {
		strata_arena_fini(&arena);
		return rc;
	}
	json_decref(person->settings);
	strata_arena_fini(&person->arena);
	person->settings = settings;
	person->arena = arena;
	person->rule = rule;
	person->time_limit_ns = conf.time_limit_ns;
	person->time_limit_ns_max = conf.time_limit_ns_max;
	return 0;
}

int person_settle(struct server *server, struct person *person, struct strata_error *err)
{
	json_t *settings = json_incref(person->settings);
	int rc = settle(server, person, settings, false, err);

	if (rc)
		json_decref(settings);
	return rc;
}

int person_add(struct server *server, enum strata_party party, const char *name,
	       struct person **ret_person, struct strata_error *err)
{
	struct person *person = new_person(server, party, name);
	int rc = person ? link_person(server, person, err) : strata_fail_memory(err);

	if (rc && person)
		free_person(person);
	if (rc == 0)
		*ret_person = person;
	return rc;
}

/* ---- changes ---- */

void person_put(struct server *server, const struct person *person)
{
	char *text = json_dumps(person->settings, JSON_COMPACT);
	struct store_party row = { .kind = strata_party_name(person->party),
				   .name = person->name,
				   .parent = person->rule.account,
				   .settings = text ? text : "{}" };

	batch_put(server, STORE_PUT(&row));
	free(text);
}

/* Of the settings that were named: what they were, null where nothing was said. */
static json_t *before(const json_t *old, const json_t *named)
{
	json_t *from = json_object(), *value;
	const char *key;

	json_object_foreach((json_t *)named, key, value) /* which is not changed */
	{
		value = json_object_get(old, key);
		json_object_set_new(from, key, value ? json_deep_copy(value) : json_null());
	}
	return from;
}

static void note_change(struct server *server, const struct person *person, const char *by,
			bool is_new, json_t *from, const json_t *settings)
{
	batch_event(server, 0, "people.changed",
		    json_pack("{s:s,s:s,s:s,s:b,s:o,s:o}", "kind", strata_party_name(person->party),
			      "name", person->name, "by", by, "made", is_new, "from", from, "to",
			      json_deep_copy(settings)));
}

int person_set(struct server *server, enum strata_party party, const char *name,
	       const json_t *settings, const char *by, struct strata_error *err)
{
	struct person *known = person_find(server, party, name);
	struct person *person = known ? known : new_person(server, party, name);
	json_t *merged = person ? json_deep_copy(person->settings) : NULL;
	json_t *from = person ? before(person->settings, settings) : NULL;
	int rc = 0;

	if (!from || !merged || json_object_update_recursive(merged, (json_t *)settings))
		rc = strata_fail_memory(err);
	if (rc == 0 && !known)
		rc = link_person(server, person, err);
	bool linked = rc == 0;

	if (rc == 0)
		rc = settle(server, person, merged, true, err);
	if (rc) {
		json_decref(merged);
		json_decref(from);
		if (!known && linked)
			unlink_person(server, person);
		if (!known && person)
			free_person(person);
		return rc;
	}
	note_change(server, person, by, !person->made, from, settings);
	person->made = true;
	person_put(server, person);
	return 0;
}

void person_unmake(struct server *server, struct person *person)
{
	struct store_party row = { .kind = strata_party_name(person->party), .name = person->name };

	batch_put(server, STORE_DELETE(&row));
	if (!person->configured) {
		unlink_person(server, person);
		free_person(person);
		return;
	}
	json_object_clear(person->settings);
	strata_arena_reset(&person->arena);
	person->rule = (struct strata_rule){ .party = person->party, .name = person->name };
	person->time_limit_ns = person->time_limit_ns_max = 0;
	person->made = false;
}

void people_init(struct server *server)
{
	for (int party = 0; party < STRATA_PARTY_COUNT; party++)
		map_text_init(&server->people[party].by_name, &server->memory);
}

void people_free(struct server *server)
{
	for (int party = 0; party < STRATA_PARTY_COUNT; party++) {
		struct people *people = &server->people[party];

		while (people->first) {
			struct person *person = people->first;

			people->first = person->next;
			free_person(person);
		}
		people->last = NULL;
		map_text_fini(&people->by_name);
	}
	people_init(server);
}
