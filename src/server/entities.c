/*
 * Users, accounts, qualities of service and partitions as administrators made them: kept as JSON,
 * told to the cluster, and asked by admit.c. Accounts, qualities of service and partitions that
 * nobody made do not exist; a partition that nodes are in exists by that. Users are there anyway:
 * here are those that something was said about.
 */
#include "server/entities.h"

#include "formats/job_spec.h"
#include "server/mailer.h"

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
struct entity_conf {
	double weight, priority, usage_factor;
	const char *account, *parent, *qos, *mail, *notify;
	struct strata_list allowed_users, allowed_accounts, allowed_qos;
	bool usual, open, raise_priority;
	int state; /* enum strata_partition_state */
	int64_t time_limit_ns, time_limit_ns_max;
	struct limits_conf limits;
};

#define LIMIT(field) offsetof(struct limits_conf, field)
#define OFFSET(field) offsetof(struct entity_conf, field)
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
static const struct strata_option entity_options[] = {
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
	{ "mail", STRATA_TEXT, OFFSET(mail), .text = { NULL, 254 },
	  .help = "of a user: where mail goes; to the user of this machine when left out" },
	{ "notify", STRATA_TEXT, OFFSET(notify), .text = { NULL, 100 },
	  .help = "of a user: what of jobs is told by mail, when they do not say: begin, end, "
		  "fail, requeue, all or none" },
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
const struct strata_schema entities_settings_schema = { "person", NULL, sizeof(struct entity_conf),
							entity_options };

/* Which settings each kind has. One that would mean nothing is refused: whoever sets it believes
 * that it does something. */
static const char *const settings_of[STRATA_ENTITY_COUNT] = {
	[STRATA_ENTITY_USER] = " weight account allowed_accounts qos allowed_qos raise_priority "
			       "limits mail notify ",
	[STRATA_ENTITY_ACCOUNT] = " weight parent allowed_qos raise_priority limits ",
	[STRATA_ENTITY_QOS] = " priority usage_factor default open raise_priority limits ",
	[STRATA_ENTITY_PARTITION] = (" priority default state time_limit time_limit_max "
				     "allowed_users allowed_accounts allowed_qos "),
};

static bool has_setting(enum strata_entity_type type, const char *name)
{
	char word[64];

	snprintf(word, sizeof(word), " %.60s ", name);
	return strstr(settings_of[type], word) != NULL;
}

/* Where to and about what mail is sent; '' takes either away. */
static int check_mail(const json_t *settings, struct strata_error *err)
{
	const char *mail = json_string_value(json_object_get(settings, "mail"));
	const char *notify = json_string_value(json_object_get(settings, "notify"));
	struct strata_error why = { 0 };
	unsigned bits;

	if (mail && *mail && mailer_address_check(mail, &why))
		return strata_fail_at(err, -EINVAL, "mail", "%s", why.text);
	if (notify && !job_spec_notify(notify, &bits))
		return strata_fail_at(err, -EINVAL, "notify",
				      "notify is '%.60s'; expected some of begin, end, fail and "
				      "requeue, or all or none",
				      notify);
	return 0;
}

int entity_check(enum strata_entity_type type, const char *name, const json_t *settings,
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
				"the name '%.60s' has a blank, a comma or a control character", name);
	json_object_foreach((json_t *)settings, key, value) /* which is not changed */
		if (!has_setting(type, key)) return strata_fail_at(
			err, -EINVAL, key, "a %s has no setting %s; it has%s",
			strata_entity_type_name(type), key, settings_of[type]);
	return check_mail(settings, err);
}

static const char *or_null(const char *text)
{
	return text && *text ? text : NULL;
}

/* ---- one of them ---- */

struct entity *entity_find(const struct decider *decider, enum strata_entity_type type,
			   const char *name)
{
	return map_text_get(&decider->entities[type].by_name, name, strlen(name));
}

static const struct strata_rule *find_rule(const void *context, enum strata_entity_type type,
					   const char *name)
{
	const struct entity *entity = entity_find(context, type, name);

	return entity ? &entity->rule : NULL;
}

static const struct strata_rule *next_rule(const void *context, enum strata_entity_type type,
					   const struct strata_rule *after)
{
	const struct decider *decider = context;
	const struct entity *entity = after ? container_of(after, const struct entity, rule)->next
					    : decider->entities[type].first;

	return entity ? &entity->rule : NULL;
}

struct strata_rules entities_rules(const struct decider *decider)
{
	return (struct strata_rules){ find_rule, next_rule, decider };
}

void entities_partition_rules(const struct decider *decider, const char *name,
			      struct spec_rules *rules)
{
	const struct entity *partition = name ? entity_find(decider, STRATA_ENTITY_PARTITION, name)
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

static void free_entity(struct entity *entity)
{
	json_decref(entity->settings);
	strata_arena_fini(&entity->arena);
	free(entity);
}

static struct entity *new_entity(struct decider *decider, enum strata_entity_type type,
				 const char *name)
{
	struct entity *entity = calloc(1, sizeof(*entity) + strlen(name) + 1);

	if (!entity)
		return NULL;
	strcpy(entity->name, name);
	entity->type = type;
	entity->settings = json_object();
	entity->rule = (struct strata_rule){ .type = type, .name = entity->name };
	strata_arena_init(&entity->arena, &decider->memory, 0);
	if (!entity->settings) {
		free_entity(entity);
		return NULL;
	}
	return entity;
}

static int link_entity(struct decider *decider, struct entity *entity, struct strata_error *err)
{
	struct entities *entities = &decider->entities[entity->type];

	if (map_text_put(&entities->by_name, entity->name, strlen(entity->name), entity, NULL))
		return strata_fail_memory(err);
	*(entities->last ? &entities->last->next : &entities->first) = entity;
	entities->last = entity;
	return 0;
}

static void unlink_entity(struct decider *decider, const struct entity *entity)
{
	struct entities *entities = &decider->entities[entity->type];
	struct entity **at = &entities->first, *before = NULL;

	map_text_remove(&entities->by_name, entity->name, strlen(entity->name));
	while (*at != entity) {
		before = *at;
		at = &(*at)->next;
	}
	*at = entity->next;
	if (entities->last == entity)
		entities->last = before;
}

static int tell_cluster(struct decider *decider, const struct entity *entity,
			const struct entity_conf *conf, struct strata_error *err)
{
	struct strata_limits limits = { .jobs = (uint32_t)conf->limits.jobs,
					.waiting = (uint32_t)conf->limits.waiting,
					.gpu_milli = conf->limits.gpus * 1000,
					.gpu_hours = conf->limits.gpu_hours };

	switch (entity->type) {
	case STRATA_ENTITY_USER:
		return strata_cluster_set_user(decider->cluster, entity->name,
					       or_null(conf->account), conf->weight, &limits, err);
	case STRATA_ENTITY_ACCOUNT:
		return strata_cluster_set_account(decider->cluster, entity->name,
						  or_null(conf->parent), conf->weight, &limits,
						  err);
	case STRATA_ENTITY_QOS:
		return strata_cluster_set_qos(decider->cluster, entity->name, conf->priority,
					      conf->usage_factor, &limits, err);
	default:
		return strata_cluster_set_partition(decider->cluster, entity->name, conf->priority,
						    (enum strata_partition_state)conf->state, err);
	}
}

static struct strata_rule make_rule(const struct entity *entity, const struct entity_conf *conf)
{
	return (struct strata_rule){
		.type = entity->type,
		.name = entity->name,
		.account =
			or_null(entity->type == STRATA_ENTITY_USER ? conf->account : conf->parent),
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
static int check_usual(const struct decider *decider, const struct strata_rule *rule,
		       struct strata_error *err)
{
	for (const struct entity *at = decider->entities[rule->type].first; rule->usual && at;
	     at = at->next)
		if (at->rule.usual && strcmp(at->name, rule->name) != 0)
			return strata_fail_at(err, -EBUSY, "default",
					      "%s %s is the default; take that away first",
					      strata_entity_type_name(rule->type), at->name);
	return 0;
}

/* What a setting names must have been made; users need not be. */
static int check_named(const struct decider *decider, const struct strata_rule *rule,
		       struct strata_error *err)
{
	struct strata_rules rules = entities_rules(decider);
	const struct {
		enum strata_entity_type type;
		const struct strata_list *list;
		const char *field;
	} lists[] = { { STRATA_ENTITY_ACCOUNT, &rule->allowed_accounts, "allowed_accounts" },
		      { STRATA_ENTITY_QOS, &rule->allowed_qos, "allowed_qos" } };
	int rc = 0;

	if (rule->account)
		rc = strata_rules_require(&rules, STRATA_ENTITY_ACCOUNT, rule->account,
					  rule->type == STRATA_ENTITY_USER ? "account" : "parent",
					  err);
	if (rc == 0 && rule->qos)
		rc = strata_rules_require(&rules, STRATA_ENTITY_QOS, rule->qos, "qos", err);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		const char *const *names = lists[i].list->items;

		for (size_t j = 0; rc == 0 && j < lists[i].list->count; j++)
			rc = strata_rules_require(&rules, lists[i].type, names[j], lists[i].field,
						  err);
	}
	return rc;
}

/* Its settings become these, whose reference is taken over when all went well. `fresh`: names in
 * them are checked. */
static int settle(struct decider *decider, struct entity *entity, json_t *settings, bool fresh,
		  struct strata_error *err)
{
	struct entity_conf conf;
	struct strata_arena arena;

	strata_arena_init(&arena, &decider->memory, 0);
	int rc = strata_schema_defaults(&entities_settings_schema, &arena, &conf, err);

	if (rc == 0)
		rc = option_read_json(&entities_settings_schema, settings,
				      fresh ? 0 : OPTION_STORED, &arena, &conf, err);
	struct strata_rule rule;

	if (rc == 0)
		rule = make_rule(entity, &conf);
	if (rc == 0 && fresh)
		rc = check_usual(decider, &rule, err);
	if (rc == 0 && fresh)
		rc = check_named(decider, &rule, err);
	if (rc == 0)
		rc = tell_cluster(decider, entity, &conf, err);
	if (rc) {
		strata_arena_fini(&arena);
		return rc;
	}
	json_decref(entity->settings);
	strata_arena_fini(&entity->arena);
	entity->settings = settings;
	entity->arena = arena;
	entity->rule = rule;
	entity->time_limit_ns = conf.time_limit_ns;
	entity->time_limit_ns_max = conf.time_limit_ns_max;
	return 0;
}

int entity_settle(struct decider *decider, struct entity *entity, struct strata_error *err)
{
	json_t *settings = json_incref(entity->settings);
	int rc = settle(decider, entity, settings, false, err);

	if (rc)
		json_decref(settings);
	return rc;
}

int entity_add(struct decider *decider, enum strata_entity_type type, const char *name,
	       struct entity **ret_entity, struct strata_error *err)
{
	struct entity *entity = new_entity(decider, type, name);
	int rc = entity ? link_entity(decider, entity, err) : strata_fail_memory(err);

	if (rc && entity)
		free_entity(entity);
	if (rc == 0)
		*ret_entity = entity;
	return rc;
}

/* ---- changes ---- */

void entity_put(struct decider *decider, const struct entity *entity)
{
	char *text = json_dumps(entity->settings, JSON_COMPACT);
	struct store_entity row = { .kind = strata_entity_type_name(entity->type),
				    .name = entity->name,
				    .parent = entity->rule.account,
				    .settings = text ? text : "{}" };

	batch_put(decider, STORE_PUT(&row));
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

static void note_change(struct decider *decider, const struct entity *entity, const char *by,
			bool is_new, json_t *from, const json_t *settings)
{
	batch_event(decider, 0, "entity.changed",
		    json_pack("{s:s,s:s,s:s,s:b,s:o,s:o}", "kind",
			      strata_entity_type_name(entity->type), "name", entity->name, "by", by,
			      "made", is_new, "from", from, "to", json_deep_copy(settings)));
}

int entity_set(struct decider *decider, enum strata_entity_type type, const char *name,
	       const json_t *settings, const char *by, struct strata_error *err)
{
	struct entity *known = entity_find(decider, type, name);
	struct entity *entity = known ? known : new_entity(decider, type, name);
	json_t *merged = entity ? json_deep_copy(entity->settings) : NULL;
	json_t *from = entity ? before(entity->settings, settings) : NULL;
	int rc = 0;

	if (!from || !merged || json_object_update_recursive(merged, (json_t *)settings))
		rc = strata_fail_memory(err);
	if (rc == 0 && !known)
		rc = link_entity(decider, entity, err);
	bool linked = rc == 0;

	if (rc == 0)
		rc = settle(decider, entity, merged, true, err);
	if (rc) {
		json_decref(merged);
		json_decref(from);
		if (!known && linked)
			unlink_entity(decider, entity);
		if (!known && entity)
			free_entity(entity);
		return rc;
	}
	note_change(decider, entity, by, !entity->made, from, settings);
	entity->made = true;
	entity_put(decider, entity);
	return 0;
}

void entity_unmake(struct decider *decider, struct entity *entity)
{
	struct store_entity row = { .kind = strata_entity_type_name(entity->type),
				    .name = entity->name };

	batch_put(decider, STORE_DELETE(&row));
	if (!entity->configured) {
		unlink_entity(decider, entity);
		free_entity(entity);
		return;
	}
	json_object_clear(entity->settings);
	strata_arena_reset(&entity->arena);
	entity->rule = (struct strata_rule){ .type = entity->type, .name = entity->name };
	entity->time_limit_ns = entity->time_limit_ns_max = 0;
	entity->made = false;
}

void entities_init(struct decider *decider)
{
	for (int type = 0; type < STRATA_ENTITY_COUNT; type++)
		map_text_init(&decider->entities[type].by_name, &decider->memory);
}

void entities_free(struct decider *decider)
{
	for (int type = 0; type < STRATA_ENTITY_COUNT; type++) {
		struct entities *entities = &decider->entities[type];

		while (entities->first) {
			struct entity *entity = entities->first;

			entities->first = entity->next;
			free_entity(entity);
		}
		entities->last = NULL;
		map_text_fini(&entities->by_name);
	}
	entities_init(decider);
}
