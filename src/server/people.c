/*
 * Users, accounts, qualities of service and partitions as administrators set them: kept as JSON, told to the cluster. Those that nobody
 * has said anything about are not here.
 */
#include "server/people.h"

#include "core/option.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[PEOPLE_KIND_COUNT] = { "user", "account", "qos", "partition" };

const char *people_kind_name(enum people_kind kind)
{
	return kinds[kind];
}

struct limits_conf {
	int64_t jobs, waiting, gpus;
	double gpu_hours;
};
struct person_conf {
	double weight, priority, usage_factor;
	const char *account, *parent;
	bool usual;
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
	{ "parent", STRATA_TEXT, OFFSET(parent), .text = { NULL, STRATA_NAME_BYTES_MAX - 1 },
	  .help = "of an account: the one above it" },
	{ "default", STRATA_BOOL, OFFSET(usual),
	  .help = "of a partition: jobs that name none go there" },
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

static int read_settings(const struct person *person, struct strata_arena *arena,
			 struct person_conf *ret_conf, struct strata_error *err)
{
	int rc = strata_schema_defaults(&people_settings_schema, arena, ret_conf, err);

	return rc ? rc
		  : option_read_json(&people_settings_schema, person->settings, OPTION_STORED,
				     arena, ret_conf, err);
}

static int tell_cluster(struct server *server, const struct person *person,
			struct strata_arena *arena, struct strata_error *err)
{
	struct person_conf conf;
	int rc = read_settings(person, arena, &conf, err);

	if (rc)
		return rc;
	struct strata_limits limits = { .jobs = (uint32_t)conf.limits.jobs,
					.waiting = (uint32_t)conf.limits.waiting,
					.gpu_milli = conf.limits.gpus * 1000,
					.gpu_hours = conf.limits.gpu_hours };

	switch (person->kind) {
	case PEOPLE_USER:
		return strata_cluster_set_user(server->cluster, person->name, conf.account,
					       conf.weight, &limits, err);
	case PEOPLE_ACCOUNT:
		return strata_cluster_set_account(server->cluster, person->name, conf.parent,
						  conf.weight, &limits, err);
	case PEOPLE_QOS:
		return strata_cluster_set_qos(server->cluster, person->name, conf.priority,
					      conf.usage_factor, &limits, err);
	default:
		return strata_cluster_set_partition(server->cluster, person->name, conf.priority,
						    err);
	}
}

struct person *person_find(const struct server *server, enum people_kind kind, const char *name)
{
	struct person *person = server->people;

	while (person && (person->kind != kind || strcmp(person->name, name) != 0))
		person = person->next;
	return person;
}

const char *people_default_partition(const struct server *server)
{
	for (const struct person *at = server->people; at; at = at->next)
		if (at->kind == PEOPLE_PARTITION &&
		    json_is_true(json_object_get(at->settings, "default")))
			return at->name;
	return NULL;
}

void people_partition_rules(const struct server *server, const char *name,
			    struct strata_arena *arena, struct spec_rules *rules)
{
	const struct person *partition = name ? person_find(server, PEOPLE_PARTITION, name) : NULL;
	struct person_conf conf;

	if (!partition || read_settings(partition, arena, &conf, NULL))
		return;
	if (conf.time_limit_ns_max)
		rules->time_limit_ns_max = conf.time_limit_ns_max;
	if (conf.time_limit_ns)
		rules->time_limit_ns = conf.time_limit_ns;
	if (rules->time_limit_ns > rules->time_limit_ns_max)
		rules->time_limit_ns = rules->time_limit_ns_max;
}

static struct person *make_person(struct server *server, enum people_kind kind, const char *name)
{
	struct person *person = calloc(1, sizeof(*person) + strlen(name) + 1),
		      **end = &server->people;

	if (!person)
		return NULL;
	person->kind = kind;
	strcpy(person->name, name);
	person->settings = json_object();
	while (*end)
		end = &(*end)->next;
	*end = person;
	return person;
}

/* What is named is changed over what was there; all of it or nothing. */
int person_set(struct server *server, enum people_kind kind, const char *name, json_t *settings,
	       struct strata_arena *arena, struct strata_error *err)
{
	struct person *person = person_find(server, kind, name);
	json_t *merged;
	int rc;

	if (!person)
		person = make_person(server, kind, name);
	merged = person ? json_deep_copy(person->settings) : NULL;
	if (!person || !merged || json_object_update_recursive(merged, settings)) {
		json_decref(merged);
		return strata_fail_memory(err);
	}
	json_t *old = person->settings;

	person->settings = merged;
	rc = tell_cluster(server, person, arena, err);
	if (rc) {
		person->settings = old;
		json_decref(merged);
		return rc;
	}
	json_decref(old);
	return 0;
}

void person_put(struct server *server, const struct person *person)
{
	char *text = json_dumps(person->settings, JSON_COMPACT);
	struct store_party row = { .kind = kinds[person->kind],
				   .name = person->name,
				   .parent = json_string_value(json_object_get(
					   person->settings,
					   person->kind == PEOPLE_USER ? "account" : "parent")),
				   .settings = text ? text : "{}" };

	batch_put(server, STORE_PUT(&row));
	free(text);
}

static int recover_one(void *context, const void *row_any, struct strata_error *err)
{
	struct server *server = context;
	const struct store_party *row = row_any;

	for (int kind = 0; kind < PEOPLE_KIND_COUNT; kind++) {
		if (strcmp(row->kind, kinds[kind]) != 0)
			continue;
		struct person *person = make_person(server, (enum people_kind)kind, row->name);
		json_t *settings = row->settings ? json_loads(row->settings, 0, NULL) : NULL;

		if (!person || !settings) {
			json_decref(settings);
			return strata_fail_memory(err);
		}
		json_decref(person->settings);
		person->settings = settings;
	}
	return 0;
}

/* An account is told after the one above it, whatever the order of their names. */
static int tell_account(struct server *server, struct person *account, int depth,
			struct strata_error *err)
{
	const char *above = json_string_value(json_object_get(account->settings, "parent"));
	struct person *parent = above ? person_find(server, PEOPLE_ACCOUNT, above) : NULL;
	int rc = 0;

	if (account->told || depth > STRATA_SHARE_DEPTH_MAX)
		return 0;
	if (parent)
		rc = tell_account(server, parent, depth + 1, err);
	account->told = true;
	return rc ? rc : tell_cluster(server, account, &server->scratch, err);
}

int people_recover(struct server *server, struct strata_error *err)
{
	int rc = store_load(server->store, STORE_PARTY, NULL, recover_one, server, err);

	for (struct person *at = server->people; rc == 0 && at; at = at->next)
		if (at->kind == PEOPLE_ACCOUNT)
			rc = tell_account(server, at, 0, err);
	for (struct person *at = server->people; rc == 0 && at; at = at->next)
		if (at->kind != PEOPLE_ACCOUNT)
			rc = tell_cluster(server, at, &server->scratch, err);
	return rc;
}

void people_free(struct server *server)
{
	while (server->people) {
		struct person *person = server->people;

		server->people = person->next;
		json_decref(person->settings);
		free(person);
	}
}
