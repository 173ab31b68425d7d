/* Advance reservations: see advances.h. */
#include "server/advances.h"

#include "core/env_log.h"
#include "server/nodes.h"
#include "server/view.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const repeat_names[] = { "no", "daily", "weekly" };

const char *advance_repeat_name(enum advance_repeat repeat)
{
	return repeat_names[repeat];
}

/* ---- memory ---- */

static size_t text_bytes(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

static const char *copy_text(char **end, const char *text)
{
	size_t size = text_bytes(text);
	char *copy = *end;

	if (!text)
		return NULL;
	*end += size;
	return memcpy(copy, text, size);
}

/* In one block. */
static struct advance_about *copy(const struct advance_about *like)
{
	size_t kept = like->kept_count * sizeof(*like->kept);
	struct advance_about *own = malloc(sizeof(*own) + kept + text_bytes(like->name) +
					   text_bytes(like->user) + text_bytes(like->reason) +
					   text_bytes(like->users) + text_bytes(like->accounts));

	if (!own)
		return NULL;
	char *end = (char *)(own + 1) + kept;

	*own = *like;
	own->kept = memcpy(own + 1, like->kept, kept);
	own->name = copy_text(&end, like->name);
	own->user = copy_text(&end, like->user);
	own->reason = copy_text(&end, like->reason);
	own->users = copy_text(&end, like->users);
	own->accounts = copy_text(&end, like->accounts);
	return own;
}

static struct advance_about **find(struct decider *decider, const char *name)
{
	struct advance_about **at = &decider->advances;

	while (*at && strcmp((*at)->name, name) != 0)
		at = &(*at)->next;
	return at;
}

const struct advance_about *advance_find(const struct decider *decider, const char *name)
{
	return *find((struct decider *)decider, name);
}

void advances_close(struct decider *decider)
{
	while (decider->advances) {
		struct advance_about *own = decider->advances;

		decider->advances = own->next;
		free(own);
	}
}

/* ---- times ---- */

/* The same time of the clock so many days later, also where clocks are set back or forward. */
static int64_t days_later(int64_t time_ns, int days)
{
	time_t seconds = (time_t)(time_ns / STRATA_SECOND_NS);
	struct tm local;

	if (!localtime_r(&seconds, &local))
		return time_ns + days * INT64_C(86400) * STRATA_SECOND_NS;
	local.tm_mday += days;
	local.tm_isdst = -1;
	return (int64_t)mktime(&local) * STRATA_SECOND_NS + time_ns % STRATA_SECOND_NS;
}

static int repeat_days(enum advance_repeat repeat)
{
	return repeat == ADVANCE_DAILY ? 1 : repeat == ADVANCE_WEEKLY ? 7 : 0;
}

/* ---- cluster and store ---- */

static int tell_cluster(struct decider *decider, const struct advance_about *own,
			struct strata_error *err)
{
	struct strata_advance advance = { .name = own->name,
					  .begin_ns = own->begin_ns,
					  .end_ns = own->end_ns,
					  .every_ns = repeat_days(own->repeat) * INT64_C(86400) *
						      STRATA_SECOND_NS,
					  .users = own->users,
					  .accounts = own->accounts,
					  .kept = own->kept,
					  .kept_count = own->kept_count };

	return strata_cluster_reserve(decider->cluster, &advance, err);
}

static void put(struct decider *decider, const struct advance_about *own)
{
	json_t *kept = json_array();

	for (uint32_t i = 0; i < own->kept_count; i++)
		json_array_append_new(kept, json_pack("{s:s,s:i}", "node",
						      decider->nodes[own->kept[i].node].name,
						      "gpu_mask", (int)own->kept[i].gpu_mask));
	json_t *json = json_pack("{s:s,s:s?,s:s?,s:s?,s:s,s:o}", "user", own->user, "reason",
				 own->reason, "users", own->users, "accounts", own->accounts,
				 "repeat", advance_repeat_name(own->repeat), "kept", kept);
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	struct store_reservation row = { .name = own->name,
					 .begin_ns = own->begin_ns,
					 .end_ns = own->end_ns,
					 .settings = text ? text : "{}" };

	batch_put(decider, STORE_PUT(&row));
	json_decref(json);
	free(text);
}

static size_t count(const struct decider *decider)
{
	size_t found = 0;

	for (const struct advance_about *at = decider->advances; at; at = at->next)
		found++;
	return found;
}

static int add(struct decider *decider, const struct advance_about *like,
	       const struct advance_about **ret_advance, struct strata_error *err)
{
	struct advance_about *own = copy(like), **at = find(decider, like->name);
	int rc = own ? tell_cluster(decider, own, err) : strata_fail_memory(err);

	if (rc) {
		free(own);
		return rc;
	}
	own->next = *at ? (*at)->next : NULL;
	free(*at);
	*at = own;
	*ret_advance = own;
	return 0;
}

/* ---- setting and removing ---- */

int advance_set(struct decider *decider, const struct advance_about *like,
		const struct advance_about **ret_advance, struct strata_error *err)
{
	if (!advance_find(decider, like->name) && count(decider) == STRATA_ADVANCES_MAX)
		return strata_fail(err, -E2BIG,
				   "there are %d reservations; delete one first: `strata "
				   "reservations delete NAME`",
				   STRATA_ADVANCES_MAX);
	int rc = add(decider, like, ret_advance, err);

	if (rc == 0)
		put(decider, *ret_advance);
	return rc;
}

void advance_remove(struct decider *decider, const struct advance_about *gone)
{
	struct advance_about **at = find(decider, gone->name), *own = *at;
	struct store_reservation row = { .name = own->name };

	*at = own->next;
	strata_cluster_unreserve(decider->cluster, own->name, NULL);
	batch_put(decider, STORE_DELETE(&row));
	free(own);
}

/* Is it over for good? Else its next turn is made ready. */
static bool is_over(struct decider *decider, struct advance_about *own, int64_t now_ns)
{
	int days = repeat_days(own->repeat);

	if (!days)
		return true;
	int64_t length_ns = own->end_ns - own->begin_ns;

	while (own->begin_ns + length_ns <= now_ns)
		own->begin_ns = days_later(own->begin_ns, days);
	own->end_ns = own->begin_ns + length_ns;
	tell_cluster(decider, own, NULL); /* without memory the cluster goes on by its own count */
	put(decider, own);
	return false;
}

int64_t advances_sweep(struct decider *decider)
{
	int64_t now_ns = decider_now_ns(decider), next_ns = INT64_MAX;
	struct advance_about *at = decider->advances;

	while (at) {
		struct advance_about *next = at->next;

		if (at->end_ns <= now_ns && is_over(decider, at, now_ns)) {
			batch_event(decider, 0, "reservation.over",
				    json_pack("{s:s}", "name", at->name));
			advance_remove(decider, at);
		} else if (at->end_ns < next_ns) {
			next_ns = at->end_ns;
		}
		at = next;
	}
	return next_ns;
}

/* ---- as JSON ---- */

static json_t *view_gpus(const struct decider *decider, const struct advance_about *own)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < own->kept_count; i++) {
		const struct node_about *node = &decider->nodes[own->kept[i].node];
		json_t *ids = json_array();

		for (uint32_t gpu = 0; gpu < node->conf.gpu_count; gpu++)
			if (own->kept[i].gpu_mask >> gpu & 1)
				json_array_append_new(ids, json_integer(node->gpu_first + gpu));
		if (own->kept[i].gpu_mask)
			json_array_append_new(
				list, json_pack("{s:s,s:o}", "node", node->name, "gpu_ids", ids));
		else
			json_decref(ids);
	}
	return list;
}

json_t *advance_view(const struct decider *decider, const struct advance_about *own)
{
	int64_t now_ns = decider_now_ns(decider);
	json_t *nodes = json_array();

	for (uint32_t i = 0; i < own->kept_count; i++)
		if (!own->kept[i].gpu_mask)
			json_array_append_new(nodes,
					      json_string(decider->nodes[own->kept[i].node].name));
	return json_pack("{s:s,s:s,s:s?,s:o,s:o,s:s,s:b,s:o,s:o,s:o,s:o}", "name", own->name,
			 "user", own->user, "reason", own->reason, "from", view_time(own->begin_ns),
			 "to", view_time(own->end_ns), "repeat", advance_repeat_name(own->repeat),
			 "active", own->begin_ns <= now_ns && now_ns < own->end_ns, "nodes", nodes,
			 "gpus", view_gpus(decider, own), "users", view_words(own->users),
			 "accounts", view_words(own->accounts));
}

json_t *advances_of_node(const struct decider *decider, uint32_t row)
{
	json_t *list = json_array();

	for (const struct advance_about *at = decider->advances; at; at = at->next)
		for (uint32_t i = 0; i < at->kept_count; i++)
			if (at->kept[i].node == row)
				json_array_append_new(list, json_string(at->name));
	return list;
}

/* ---- after a start ---- */

/* What is kept of nodes that are still there. */
static uint32_t read_kept(const struct decider *decider, const json_t *list,
			  struct strata_kept *kept)
{
	uint32_t found = 0;
	json_t *json;
	size_t index;

	json_array_foreach(list, index, json)
	{
		const char *name = json_string_value(json_object_get(json, "node"));
		const struct node_about *node = name ? nodes_find(decider, name) : NULL;
		json_int_t mask = json_integer_value(json_object_get(json, "gpu_mask"));

		if (node && mask >> node->conf.gpu_count == 0)
			kept[found++] = (struct strata_kept){ (uint32_t)(node - decider->nodes),
							      (uint16_t)mask };
	}
	return found;
}

bool advance_recover(struct decider *decider, const struct store_reservation *row,
		     const json_t *settings)
{
	const json_t *list = json_object_get(settings, "kept");
	const char *repeat = json_string_value(json_object_get(settings, "repeat"));
	const char *user = json_string_value(json_object_get(settings, "user"));
	struct advance_about like = {
		.name = row->name,
		.user = user ? user : "unknown",
		.reason = json_string_value(json_object_get(settings, "reason")),
		.users = json_string_value(json_object_get(settings, "users")),
		.accounts = json_string_value(json_object_get(settings, "accounts")),
		.begin_ns = row->begin_ns,
		.end_ns = row->end_ns,
	};
	const struct advance_about *own;

	if (!list)
		return false;
	for (int i = ADVANCE_DAILY; repeat && i <= ADVANCE_WEEKLY; i++)
		if (strcmp(repeat, repeat_names[i]) == 0)
			like.repeat = (enum advance_repeat)i;
	like.kept = strata_arena_array(&decider->scratch, json_array_size(list) + 1,
				       sizeof(*like.kept));
	like.kept_count = like.kept ? read_kept(decider, list, like.kept) : 0;
	if (like.kept_count == 0 || add(decider, &like, &own, NULL)) /* its nodes have gone */
		log_warning("recovery", "the reservation %s cannot be kept", row->name);
	return true;
}
