/* Users, accounts, qualities of service, partitions: who they are, what they use, what they may. */
#include "core/text.h"
#include "server/people.h"
#include "server/route.h"

#include <strata/text.h>

#include <errno.h>
#include <microhttpd.h>
#include <string.h>

/* "/api/v1/users…" */
static enum people_kind kind_of(const struct request *request)
{
	static const char *const words[PEOPLE_KIND_COUNT] = { "users", "accounts", "qos",
							      "partitions" };
	const char *word = request->path + strlen("/api/v1/");

	for (int i = 0; i < PEOPLE_KIND_COUNT; i++)
		if (strncmp(word, words[i], strlen(words[i])) == 0)
			return (enum people_kind)i;
	return PEOPLE_USER;
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

static json_t *view_person(struct server *server, enum people_kind kind, const char *name)
{
	const struct person *person = person_find(server, kind, name);
	const json_t *settings = person ? person->settings : NULL;
	struct strata_usage_view view = { .weight = 1, .factor = 1 };
	json_t *json = json_pack("{s:s,s:o,s:o,s:s?,s:s?}", "name", name, "limits",
				 limits_json(settings), "weight", number(settings, "weight", 1),
				 "account", json_string_value(json_object_get(settings, "account")),
				 "parent", json_string_value(json_object_get(settings, "parent")));

	/* not only named by a job */
	if (json)
		json_object_set_new(json, "made", json_boolean(person != NULL));

	if (kind == PEOPLE_USER)
		strata_cluster_user(server->cluster, name, &view);
	if (kind == PEOPLE_ACCOUNT)
		strata_cluster_account(server->cluster, name, &view);
	if (json && kind <= PEOPLE_ACCOUNT) {
		json_object_set_new(json, "gpu_hours", json_real(view.gpu_hours));
		json_object_set_new(json, "factor", json_real(view.factor));
		json_object_set_new(json, "running", json_integer(view.jobs));
		json_object_set_new(json, "waiting", json_integer(view.waiting));
		json_object_set_new(json, "gpus", json_real((double)view.gpu_milli / 1000));
	}
	if (json && kind >= PEOPLE_QOS)
		json_object_set_new(json, "priority", number(settings, "priority", 0));
	if (json && kind == PEOPLE_PARTITION) {
		struct spec_rules rules = server->rules;
		const json_t *usual = json_object_get(settings, "default");

		people_partition_rules(server, name, &server->scratch, &rules);
		json_object_set_new(json, "default", json_boolean(json_is_true(usual)));
		json_object_set_new(json, "time_limit_s",
				    json_integer(rules.time_limit_ns / STRATA_SECOND_NS));
		json_object_set_new(json, "time_limit_max_s",
				    json_integer(rules.time_limit_ns_max / STRATA_SECOND_NS));
	}
	if (json && kind == PEOPLE_QOS)
		json_object_set_new(json, "usage_factor", number(settings, "usage_factor", 1));
	return json;
}

static void add_once(struct server *server, enum people_kind kind, json_t *list,
		     struct map_text *seen, const char *name)
{
	if (!name || !*name || map_text_get(seen, name, strlen(name)) ||
	    map_text_put(seen, name, strlen(name), list, NULL))
		return;
	json_array_append_new(list, view_person(server, kind, name));
}

/* "a,b", as a node has its partitions. */
static void add_words(struct server *server, json_t *list, struct map_text *seen, const char *words)
{
	while (words && *words) {
		size_t span = strcspn(words, ",");
		const char *name = strata_arena_text(&server->scratch, words, span);

		if (name)
			add_once(server, PEOPLE_PARTITION, list, seen, name);
		words += span + (words[span] == ',');
	}
}

/* Those that were set, and those that nodes and live jobs name. */
void api_people(struct server *server, struct request *request)
{
	static const char *const keys[PEOPLE_KIND_COUNT] = { "users", "accounts", "qos",
							     "partitions" };
	enum people_kind kind = kind_of(request);
	const struct map_u64_entry *entry;
	struct map_text seen;
	json_t *list = json_array();

	map_text_init(&seen, &server->memory);
	for (const struct person *at = server->people; at; at = at->next)
		if (at->kind == kind)
			add_once(server, kind, list, &seen, at->name);
	for (uint32_t i = 0; kind == PEOPLE_PARTITION && i < server->node_count; i++)
		add_words(server, list, &seen, server->nodes[i].conf.partitions);
	for (entry = map_u64_next(&server->jobs, NULL); entry;
	     entry = map_u64_next(&server->jobs, entry)) {
		const struct store_job *row = &((const struct live *)entry->value)->row;
		const char *const names[PEOPLE_KIND_COUNT] = { row->user, row->account, row->qos,
							       row->partition };

		add_once(server, kind, list, &seen, names[kind]);
	}
	map_text_fini(&seen);
	request_answer(request, MHD_HTTP_OK, json_pack("{s:o}", keys[kind], list));
}

void api_person_parse(struct request *request)
{
	struct strata_error err = { 0 };
	json_t *json = request_json(request);
	void *conf = strata_arena_get(&request->arena, people_settings_schema.conf_size);
	int rc = conf ? 0 : strata_fail_memory(&err);

	if (!json)
		return;
	if (rc == 0 && !text_valid(request->segments[0], strlen(request->segments[0])))
		rc = strata_fail_at(&err, -EINVAL, "name", "the name is not a text");
	if (rc == 0)
		rc = strata_schema_defaults(&people_settings_schema, &request->arena, conf, &err);
	if (rc == 0)
		rc = strata_schema_read_json(&people_settings_schema, request->body,
					     request->body_length, &request->arena, conf, &err);
	json_decref(json);
	if (rc)
		request_fail(request, rc, &err);
}

void api_person_set(struct server *server, struct request *request)
{
	enum people_kind kind = kind_of(request);
	const char *name = request->segments[0];
	struct strata_error err = { 0 };
	json_t *settings = json_loadb(request->body, request->body_length, 0, NULL);
	int rc = settings ? person_set(server, kind, name, settings, &request->arena, &err)
			  : strata_fail_memory(&err);

	if (rc) {
		json_decref(settings);
		request_fail(request, rc, &err);
		return;
	}
	person_put(server, person_find(server, kind, name));
	/* who changed what is kept */
	batch_event(server, 0, "people.changed",
		    json_pack("{s:s,s:s,s:s,s:o}", "kind", people_kind_name(kind), "name", name,
			      "by", request->who.user, "settings", settings));
	request->durable = true;
	request_answer(request, MHD_HTTP_OK, view_person(server, kind, name));
}
