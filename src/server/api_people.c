/* Users, accounts, qualities of service, partitions: who they are, what they use, what they may. */
#include "server/people.h"
#include "server/route.h"

#include <strata/text.h>

#include <errno.h>
#include <microhttpd.h>
#include <string.h>

static const char *const collections[STRATA_PARTY_COUNT] = { "users", "accounts", "qos",
							     "partitions" };

/* By its route: "/api/v1/users…" */
static enum strata_party party_of(const struct request *request)
{
	const char *word = request->route->path + strlen("/api/v1/");

	for (int i = 0; i < STRATA_PARTY_COUNT; i++)
		if (strncmp(word, collections[i], strlen(collections[i])) == 0)
			return (enum strata_party)i;
	return STRATA_PARTY_USER;
}

static json_t *number(const json_t *settings, const char *key, double usual)
{
	const json_t *value = json_object_get(settings, key);

	return json_real(json_is_number(value) ? json_number_value(value) : usual);
}

static json_t *limits_json(const json_t *settings)
{
	const json_t *limits = json_object_get(settings, "limits");

	return json_pack("{s:o,s:o,s:o,s:o}", "jobs", number(limits, "jobs", 0), "waiting",
			 number(limits, "waiting", 0), "gpus", number(limits, "gpus", 0),
			 "gpu_hours", number(limits, "gpu_hours", 0));
}

static json_t *list_json(const struct strata_list *list)
{
	const char *const *names = list->items;
	json_t *json = json_array();

	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(json, json_string(names[i]));
	return json;
}

static void add_use(struct server *server, enum strata_party party, const char *name, json_t *json)
{
	struct strata_usage_view view = { .weight = 1, .factor = 1 };

	if (party == STRATA_PARTY_USER)
		strata_cluster_user(server->cluster, name, &view);
	else
		strata_cluster_account(server->cluster, name, &view);
	json_object_set_new(json, "gpu_hours", json_real(view.gpu_hours));
	json_object_set_new(json, "factor", json_real(view.factor));
	json_object_set_new(json, "running", json_integer(view.jobs));
	json_object_set_new(json, "waiting", json_integer(view.waiting));
	json_object_set_new(json, "gpus", json_real((double)view.gpu_milli / 1000));
}

/* Who may what. */
static void add_rule(const struct strata_rule *rule, json_t *json)
{
	enum strata_party party = rule->party;

	if (party == STRATA_PARTY_USER)
		json_object_set_new(json, "qos", rule->qos ? json_string(rule->qos) : json_null());
	if (party == STRATA_PARTY_USER || party == STRATA_PARTY_PARTITION)
		json_object_set_new(json, "allowed_accounts", list_json(&rule->allowed_accounts));
	if (party != STRATA_PARTY_QOS)
		json_object_set_new(json, "allowed_qos", list_json(&rule->allowed_qos));
	if (party == STRATA_PARTY_PARTITION)
		json_object_set_new(json, "allowed_users", list_json(&rule->allowed_users));
	else
		json_object_set_new(json, "raise_priority", json_boolean(rule->raise_priority));
	if (party == STRATA_PARTY_QOS)
		json_object_set_new(json, "open", json_boolean(rule->open));
	if (party == STRATA_PARTY_PARTITION)
		json_object_set_new(json, "state",
				    json_string(strata_partition_state_name(rule->state)));
	if (party >= STRATA_PARTY_QOS)
		json_object_set_new(json, "default", json_boolean(rule->usual));
}

static void add_times(const struct server *server, const char *name, json_t *json)
{
	struct spec_rules rules = server->rules;

	people_partition_rules(server, name, &rules);
	json_object_set_new(json, "time_limit_s",
			    json_integer(rules.time_limit_ns / STRATA_SECOND_NS));
	json_object_set_new(json, "time_limit_max_s",
			    json_integer(rules.time_limit_ns_max / STRATA_SECOND_NS));
}

static json_t *view_person(struct server *server, enum strata_party party, const char *name)
{
	const struct person *person = person_find(server, party, name);
	const json_t *settings = person ? person->settings : NULL;
	struct strata_rule unknown = { .party = party };
	json_t *json = json_pack("{s:s,s:o,s:o,s:s?,s:s?,s:b}", "name", name, "limits",
				 limits_json(settings), "weight", number(settings, "weight", 1),
				 "account", json_string_value(json_object_get(settings, "account")),
				 "parent", json_string_value(json_object_get(settings, "parent")),
				 "made", person && person->made);

	if (!json)
		return NULL;
	add_rule(person ? &person->rule : &unknown, json);
	if (party <= STRATA_PARTY_ACCOUNT)
		add_use(server, party, name, json);
	else
		json_object_set_new(json, "priority", number(settings, "priority", 0));
	if (party == STRATA_PARTY_PARTITION) {
		json_object_set_new(json, "configured", json_boolean(person && person->configured));
		add_times(server, name, json);
	}
	if (party == STRATA_PARTY_QOS)
		json_object_set_new(json, "usage_factor", number(settings, "usage_factor", 1));
	return json;
}

/* Users that nobody has said anything about are there with their first job. */
static void add_others(struct server *server, json_t *list)
{
	const struct map_u64_entry *entry = NULL;
	struct map_text seen;

	map_text_init(&seen, &server->memory);
	while ((entry = map_u64_next(&server->jobs, entry))) {
		const char *user = ((const struct live *)entry->value)->row.user;
		size_t length = strlen(user);

		if (person_find(server, STRATA_PARTY_USER, user) ||
		    map_text_get(&seen, user, length) ||
		    map_text_put(&seen, user, length, list, NULL))
			continue;
		json_array_append_new(list, view_person(server, STRATA_PARTY_USER, user));
	}
	map_text_fini(&seen);
}

void api_people(struct server *server, struct request *request)
{
	enum strata_party party = party_of(request);
	json_t *list = json_array();

	for (const struct person *at = server->people[party].first; at; at = at->next)
		if (at->made || strcmp(at->name, PEOPLE_ALL_NODES) != 0)
			json_array_append_new(list, view_person(server, party, at->name));
	if (party == STRATA_PARTY_USER)
		add_others(server, list);
	request_answer(request, MHD_HTTP_OK, json_pack("{s:o}", collections[party], list));
}

void api_person_parse(struct request *request)
{
	struct strata_error err = { 0 };
	json_t *json = request_json(request);
	void *conf = strata_arena_get(&request->arena, people_settings_schema.conf_size);
	int rc = conf ? 0 : strata_fail_memory(&err);

	if (!json)
		return;
	if (rc == 0)
		rc = strata_schema_defaults(&people_settings_schema, &request->arena, conf, &err);
	if (rc == 0)
		rc = strata_schema_read_json(&people_settings_schema, request->body,
					     request->body_length, &request->arena, conf, &err);
	if (rc == 0)
		rc = person_check(party_of(request), request->segments[0], json, &err);
	json_decref(json);
	if (rc)
		request_fail(request, rc, &err);
}

void api_person_set(struct server *server, struct request *request)
{
	enum strata_party party = party_of(request);
	const char *name = request->segments[0];
	struct strata_error err = { 0 };
	json_t *settings = json_loadb(request->body, request->body_length, 0, NULL);
	int rc = settings ? person_set(server, party, name, settings, request->who.user, &err)
			  : strata_fail_memory(&err);

	json_decref(settings);
	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	request->durable = true;
	request_answer(request, MHD_HTTP_OK, view_person(server, party, name));
}

void api_person_delete(struct server *server, struct request *request)
{
	enum strata_party party = party_of(request);
	const char *name = request->segments[0];
	struct strata_error err = { 0 };
	int rc = person_delete(server, party, name, request->who.user, &err);

	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	request->durable = true;
	request_answer(request, MHD_HTTP_OK, json_pack("{s:s}", "name", name));
}
