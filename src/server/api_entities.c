/* Users, accounts, qualities of service, partitions: who they are, what they use, what they may. */
#include "server/decider.h"
#include "server/live.h"
#include "server/entities.h"
#include "server/os_user.h"
#include "server/route.h"
#include "server/token.h"
#include "server/view.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const collections[STRATA_ENTITY_COUNT] = { "users", "accounts", "qos",
							      "partitions" };

/* By its route: "/api/v1/users…" */
static enum strata_entity_type type_of(const struct request *request)
{
	const char *word = request->route->path + strlen("/api/v1/");

	for (int i = 0; i < STRATA_ENTITY_COUNT; i++)
		if (strncmp(word, collections[i], strlen(collections[i])) == 0)
			return (enum strata_entity_type)i;
	return STRATA_ENTITY_USER;
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

static void add_use(struct decider *decider, enum strata_entity_type type, const char *name,
		    json_t *json)
{
	struct strata_usage_view view = { .weight = 1, .share = 1, .factor = 1 };

	if (type == STRATA_ENTITY_USER)
		strata_cluster_user(decider->cluster, name, &view);
	else
		strata_cluster_account(decider->cluster, name, &view);
	json_object_set_new(json, "gpu_hours", json_real(view.gpu_hours));
	json_object_set_new(json, "share", json_real(view.share));
	json_object_set_new(json, "factor", json_real(view.factor));
	json_object_set_new(json, "running", json_integer(view.jobs));
	json_object_set_new(json, "waiting", json_integer(view.waiting));
	json_object_set_new(json, "gpus", json_real((double)view.gpu_milli / 1000));
	if (type == STRATA_ENTITY_USER) {
		const size_t *tasks = map_text_get(&decider->task_users, name, strlen(name));

		json_object_set_new(json, "tasks", json_integer(tasks ? (json_int_t)*tasks : 0));
	}
}

/* Who may what. */
static void add_rule(const struct strata_rule *rule, json_t *json)
{
	enum strata_entity_type type = rule->type;

	if (type == STRATA_ENTITY_USER)
		json_object_set_new(json, "qos", rule->qos ? json_string(rule->qos) : json_null());
	if (type == STRATA_ENTITY_USER || type == STRATA_ENTITY_PARTITION)
		json_object_set_new(json, "allowed_accounts", list_json(&rule->allowed_accounts));
	if (type != STRATA_ENTITY_QOS)
		json_object_set_new(json, "allowed_qos", list_json(&rule->allowed_qos));
	if (type == STRATA_ENTITY_PARTITION)
		json_object_set_new(json, "allowed_users", list_json(&rule->allowed_users));
	else
		json_object_set_new(json, "raise_priority", json_boolean(rule->raise_priority));
	if (type == STRATA_ENTITY_QOS)
		json_object_set_new(json, "open", json_boolean(rule->open));
	if (type == STRATA_ENTITY_PARTITION)
		json_object_set_new(json, "state",
				    json_string(strata_partition_state_name(rule->state)));
	if (type >= STRATA_ENTITY_QOS)
		json_object_set_new(json, "default", json_boolean(rule->usual));
}

static void add_times(const struct decider *decider, const char *name, json_t *json)
{
	struct spec_rules rules = decider->rules;

	entities_partition_rules(decider, name, &rules);
	json_object_set_new(json, "time_limit_s",
			    json_integer(rules.time_limit_ns / STRATA_SECOND_NS));
	json_object_set_new(json, "time_limit_max_s",
			    json_integer(rules.time_limit_ns_max / STRATA_SECOND_NS));
}

static json_t *view_entity(struct decider *decider, enum strata_entity_type type, const char *name)
{
	const struct entity *entity = entity_find(decider, type, name);
	const json_t *settings = entity ? entity->settings : NULL;
	struct strata_rule unknown = { .type = type };
	json_t *json = json_pack("{s:s,s:o,s:o,s:s?,s:s?,s:b}", "name", name, "limits",
				 limits_json(settings), "weight", number(settings, "weight", 1),
				 "account", json_string_value(json_object_get(settings, "account")),
				 "parent", json_string_value(json_object_get(settings, "parent")),
				 "made", entity && entity->made);

	if (!json)
		return NULL;
	add_rule(entity ? &entity->rule : &unknown, json);
	if (type <= STRATA_ENTITY_ACCOUNT)
		add_use(decider, type, name, json);
	else
		json_object_set_new(json, "priority", number(settings, "priority", 0));
	if (type == STRATA_ENTITY_PARTITION) {
		json_object_set_new(json, "configured", json_boolean(entity && entity->configured));
		add_times(decider, name, json);
	}
	if (type == STRATA_ENTITY_QOS)
		json_object_set_new(json, "usage_factor", number(settings, "usage_factor", 1));
	return json;
}

/* Names, in the arena of the request; those that there is no memory for are left out. */
struct others {
	struct decider *decider;
	struct strata_arena *arena;
	const char **names;
	size_t count, room;
};

static void add_name(void *context, const char *user)
{
	struct others *others = context;

	if (entity_find(others->decider, STRATA_ENTITY_USER, user))
		return;
	if (others->count == others->room) {
		size_t room = others->room ? 2 * others->room : 64;
		const char **names = strata_arena_array(others->arena, room, sizeof(*names));

		if (!names)
			return;
		if (others->count)
			memcpy(names, others->names, others->count * sizeof(*names));
		others->names = names;
		others->room = room;
	}
	others->names[others->count++] = user;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Users that nobody has said anything about are there with their first job or task, and as long as
 * what they have used counts. */
static void add_others(struct decider *decider, struct strata_arena *arena, json_t *list)
{
	struct others others = { .decider = decider, .arena = arena };

	strata_cluster_each_user(decider->cluster, add_name, &others);
	for (const struct map_text_entry *at = NULL;
	     (at = map_text_next(&decider->task_users, at));)
		add_name(&others, at->key);
	if (others.count)
		qsort(others.names, others.count, sizeof(*others.names), compare_names);
	for (size_t i = 0; i < others.count; i++)
		if (i == 0 || strcmp(others.names[i], others.names[i - 1]) != 0)
			json_array_append_new(list, view_entity(decider, STRATA_ENTITY_USER,
								others.names[i]));
}

/* ---- what operators may change ---- */

/*
 * Operators change weight and limits of users: neither their own, nor those of who is an operator
 * or administrator, so that nobody widens what he has by it, alone or in turns with another. What
 * gives rights (accounts and qualities of service that may be used, raise_priority) is for
 * administrators, and so are accounts, qualities of service and partitions: an operator's jobs may
 * count for any of them, and their limits are his as well.
 */
static const char *const operators_settings[] = { "weight", "limits" };

static bool is_operators(const char *setting)
{
	for (size_t i = 0; i < sizeof(operators_settings) / sizeof(operators_settings[0]); i++)
		if (strcmp(setting, operators_settings[i]) == 0)
			return true;
	return false;
}

/* Whose settings an operator may not change, as far as the system knows. Not on the decider's
 * thread: the system may ask elsewhere. */
static int check_operator_user(const struct identity *who, const char *name,
			       struct strata_error *err)
{
	struct os_user user;
	bool known = os_user_by_name(name, &user);

	if (strcmp(name, who->user) == 0 || (known && user.uid == who->uid))
		return strata_fail(err, -EPERM,
				   "operators do not change their own weight and limits; ask "
				   "an administrator");
	if (known && (user.uid == 0 || user.uid == geteuid()))
		return strata_fail(err, -EPERM,
				   "%.60s is an administrator; only administrators change "
				   "administrators and operators",
				   name);
	return 0;
}

static int check_operator_settings(const json_t *settings, struct strata_error *err)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)settings, key, value) /* which is not changed */
		if (!is_operators(key)) return strata_fail_at(
			err, -EPERM, key,
			"%.60s is for administrators; operators change weight and limits of users",
			key);
	return 0;
}

/* Good for more than a user's own. */
static bool is_high(const struct token *token, int64_t now_ns)
{
	return token->role >= ROLE_OPERATOR && (!token->expires_ns || token->expires_ns > now_ns);
}

static bool has_high_token(const struct decider *decider, const char *name)
{
	int64_t now_ns = decider_now_ns(decider);

	for (const struct token *at = token_first(decider); at; at = at->next)
		if (is_high(at, now_ns) && strcmp(at->user, name) == 0)
			return true;
	return false;
}

/* Of users: may the caller change weight and limits? What the system alone knows (who is root
 * under another name) is found when it is tried. */
static void add_may_change(const struct decider *decider, struct request *request, json_t *list)
{
	const struct identity *who = &request->who;
	const char **high = strata_arena_array(&request->arena, STRATA_TOKENS_MAX, sizeof(*high));
	int64_t now_ns = decider_now_ns(decider);
	size_t count = 0, i;
	json_t *user;

	for (const struct token *at = token_first(decider);
	     high && who->role == ROLE_OPERATOR && at && count < STRATA_TOKENS_MAX; at = at->next)
		if (is_high(at, now_ns))
			high[count++] = at->user;
	if (count)
		qsort(high, count, sizeof(*high), compare_names);
	json_array_foreach(list, i, user) {
		const char *name = json_string_value(json_object_get(user, "name"));
		bool may = who->role == ROLE_ADMIN;

		if (who->role == ROLE_OPERATOR && high)
			may = strcmp(name, who->user) != 0 && strcmp(name, "root") != 0 &&
			      !(count && bsearch(&name, high, count, sizeof(*high), compare_names));
		json_object_set_new(user, "may_change", json_boolean(may));
	}
}

static void get_entities(struct decider *decider, struct request *request)
{
	enum strata_entity_type type = type_of(request);
	json_t *list = json_array();

	for (const struct entity *at = decider->entities[type].first; at; at = at->next)
		if (at->made || strcmp(at->name, PEOPLE_ALL_NODES) != 0)
			json_array_append_new(list, view_entity(decider, type, at->name));
	if (type == STRATA_ENTITY_USER) {
		add_others(decider, &request->arena, list);
		add_may_change(decider, request, list);
	}
	request_answer(request, MHD_HTTP_OK, json_pack("{s:o}", collections[type], list));
}

static void parse_entity(struct request *request)
{
	struct strata_error err = { 0 };
	bool operates = request->who.role < ROLE_ADMIN;

	if (operates && check_operator_user(&request->who, request->segments[0], &err)) {
		request_fail(request, -EPERM, &err);
		return;
	}
	json_t *json = request_json(request);
	void *conf = strata_arena_get(&request->arena, entities_settings_schema.conf_size);
	int rc = conf ? 0 : strata_fail_memory(&err);

	if (!json)
		return;
	if (rc == 0)
		rc = strata_schema_defaults(&entities_settings_schema, &request->arena, conf, &err);
	if (rc == 0)
		rc = strata_schema_read_json(&entities_settings_schema, request->body,
					     request->body_length, &request->arena, conf, &err);
	if (rc == 0)
		rc = entity_check(type_of(request), request->segments[0], json, &err);
	if (rc == 0 && operates)
		rc = check_operator_settings(json, &err);
	json_decref(json);
	if (rc)
		request_fail(request, rc, &err);
}

static void put_entity(struct decider *decider, struct request *request)
{
	enum strata_entity_type type = type_of(request);
	const char *name = request->segments[0];
	struct strata_error err = { 0 };

	if (request->who.role < ROLE_ADMIN && has_high_token(decider, name)) {
		request_refuse(request, MHD_HTTP_FORBIDDEN, "forbidden",
			       "%.60s has a token of an operator or administrator; only "
			       "administrators change administrators and operators",
			       name);
		return;
	}
	json_t *settings = json_loadb(request->body, request->body_length, 0, NULL);
	int rc = settings ? entity_set(decider, type, name, settings, request->who.user, &err)
			  : strata_fail_memory(&err);

	json_decref(settings);
	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	request->durable = true;
	request_answer(request, MHD_HTTP_OK, view_entity(decider, type, name));
}

static void delete_entity(struct decider *decider, struct request *request)
{
	enum strata_entity_type type = type_of(request);
	const char *name = request->segments[0];
	struct strata_error err = { 0 };
	int rc = entity_delete(decider, type, name, request->who.user, &err);

	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	request->durable = true;
	request_answer(request, MHD_HTTP_OK, json_pack("{s:s}", "name", name));
}

/* ---- routes ---- */

const struct route api_entities_routes[] = {
	{ .method = "GET",
	  .path = "/api/v1/users",
	  .summary = "users and their shares",
	  .role = ROLE_READER,
	  .decide = get_entities,
	  .answer = "users" },
	{ .method = "PUT",
	  .path = "/api/v1/users/*",
	  .summary = "set a user",
	  .role = ROLE_ADMIN,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_entity,
	  .decide = put_entity,
	  .body = &entities_settings_schema,
	  .answer = "name limits" },
	{ .method = "PATCH",
	  .path = "/api/v1/users/*",
	  .summary = "change a user",
	  .role = ROLE_OPERATOR, /* weight and limits; see above */
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_entity,
	  .decide = put_entity,
	  .body = &entities_settings_schema,
	  .answer = "name limits" },
	{ .method = "DELETE",
	  .path = "/api/v1/users/*",
	  .summary = "delete a user",
	  .role = ROLE_ADMIN,
	  .decide = delete_entity,
	  .answer = "name" },
	{ .method = "GET",
	  .path = "/api/v1/accounts",
	  .summary = "accounts and their shares",
	  .role = ROLE_READER,
	  .decide = get_entities,
	  .answer = "accounts" },
	{ .method = "PUT",
	  .path = "/api/v1/accounts/*",
	  .summary = "set an account",
	  .role = ROLE_ADMIN,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_entity,
	  .decide = put_entity,
	  .body = &entities_settings_schema,
	  .answer = "name limits" },
	{ .method = "PATCH",
	  .path = "/api/v1/accounts/*",
	  .summary = "change an account",
	  .role = ROLE_ADMIN,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_entity,
	  .decide = put_entity,
	  .body = &entities_settings_schema,
	  .answer = "name limits" },
	{ .method = "DELETE",
	  .path = "/api/v1/accounts/*",
	  .summary = "delete an account",
	  .role = ROLE_ADMIN,
	  .decide = delete_entity,
	  .answer = "name" },
	{ .method = "GET",
	  .path = "/api/v1/qos",
	  .summary = "qualities of service",
	  .role = ROLE_READER,
	  .decide = get_entities,
	  .answer = "qos" },
	{ .method = "PUT",
	  .path = "/api/v1/qos/*",
	  .summary = "set a quality of service",
	  .role = ROLE_ADMIN,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_entity,
	  .decide = put_entity,
	  .body = &entities_settings_schema,
	  .answer = "name limits" },
	{ .method = "PATCH",
	  .path = "/api/v1/qos/*",
	  .summary = "change a quality of service",
	  .role = ROLE_ADMIN,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_entity,
	  .decide = put_entity,
	  .body = &entities_settings_schema,
	  .answer = "name limits" },
	{ .method = "DELETE",
	  .path = "/api/v1/qos/*",
	  .summary = "delete a quality of service",
	  .role = ROLE_ADMIN,
	  .decide = delete_entity,
	  .answer = "name" },
	{ .method = "GET",
	  .path = "/api/v1/partitions",
	  .summary = "partitions",
	  .role = ROLE_READER,
	  .decide = get_entities,
	  .answer = "partitions" },
	{ .method = "PUT",
	  .path = "/api/v1/partitions/*",
	  .summary = "set a partition",
	  .role = ROLE_ADMIN,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_entity,
	  .decide = put_entity,
	  .body = &entities_settings_schema,
	  .answer = "name limits" },
	{ .method = "PATCH",
	  .path = "/api/v1/partitions/*",
	  .summary = "change a partition",
	  .role = ROLE_ADMIN,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_entity,
	  .decide = put_entity,
	  .body = &entities_settings_schema,
	  .answer = "name limits" },
	{ .method = "DELETE",
	  .path = "/api/v1/partitions/*",
	  .summary = "delete a partition",
	  .role = ROLE_ADMIN,
	  .decide = delete_entity,
	  .answer = "name" },
	{ 0 },
};
