/* Keeping nodes or GPUs for some, from a time to a time: PUT /api/v1/reservations/NAME. */
#include "server/advances.h"
#include "server/nodes.h"
#include "server/reservation.h"
#include "server/route.h"

#include <strata/limits.h>
#include <strata/slurm.h>
#include <strata/text.h>

#include <errno.h>
#include <microhttpd.h>
#include <string.h>

struct gpus_request {
	const char *node;
	struct strata_list gpu_ids; /* of int64_t */
};
struct advance_request {
	struct strata_list nodes, users, accounts; /* of const char * */
	struct strata_list gpus;                   /* of struct gpus_request */
	int64_t from_ns, to_ns, duration_ns;
	int repeat; /* enum advance_repeat */
	const char *reason;
};

#define FIELD(field) offsetof(struct advance_request, field)
static const struct strata_option one_name = { .type = STRATA_TEXT };
static const struct strata_option one_id = { .type = STRATA_INT, .integer = { 0, 0, 65535 } };
static const struct strata_option gpus_options[] = {
	{ "node", STRATA_TEXT, offsetof(struct gpus_request, node), .flags = STRATA_REQUIRED,
	  .help = "where" },
	{ "gpu_ids", STRATA_LIST, offsetof(struct gpus_request, gpu_ids),
	  .list = { &one_id, STRATA_NODE_GPUS_MAX }, .flags = STRATA_REQUIRED,
	  .help = "which, by their index" },
	{ 0 }
};
static const struct strata_schema gpus_schema = { "GPUs", NULL, sizeof(struct gpus_request),
						  gpus_options };
static const struct strata_option gpus_item = { .type = STRATA_TABLE, .table = &gpus_schema };
static const struct strata_choice repeats[] = {
	{ "no", ADVANCE_ONCE, "once" },
	{ "daily", ADVANCE_DAILY, "at the same time every day" },
	{ "weekly", ADVANCE_WEEKLY, "on the same day every week" },
	{ 0 }
};
static const struct strata_option advance_options[] = {
	{ "nodes", STRATA_LIST, FIELD(nodes), .list = { &one_name, 4096 },
	  .help = "whole nodes, as n1 or n[1-4]; all: every node" },
	{ "gpus", STRATA_LIST, FIELD(gpus), .list = { &gpus_item, 4096 },
	  .help = "or single GPUs" },
	{ "from", STRATA_TIME, FIELD(from_ns), .help = "when it begins; none: now" },
	{ "to", STRATA_TIME, FIELD(to_ns), .help = "when it ends" },
	{ "duration", STRATA_DURATION, FIELD(duration_ns),
	  .integer = { 0, 0, STRATA_DURATION_NS_MAX }, .unit = "s",
	  .help = "or how long it lasts" },
	{ "repeat", STRATA_ENUM, FIELD(repeat), .choice = { repeats, ADVANCE_ONCE },
	  .help = "whether it comes again" },
	{ "users", STRATA_LIST, FIELD(users), .list = { &one_name, STRATA_ALLOWED_NAMES_MAX },
	  .help = "who may use it" },
	{ "accounts", STRATA_LIST, FIELD(accounts), .list = { &one_name, STRATA_ALLOWED_NAMES_MAX },
	  .help = "whose jobs may; without users and accounts nobody's" },
	{ "reason", STRATA_TEXT, FIELD(reason), .text = { NULL, 256 }, .help = "why, for people" },
	{ 0 }
};
static const struct strata_schema advance_schema = { "advance reservation", "nodes or GPUs to keep",
						     sizeof(struct advance_request),
						     advance_options };

static void parse_advance(struct request *request)
{
	request_read(request, &advance_schema);
}

/* ---- what it keeps ---- */

struct kept_list {
	struct strata_kept *items; /* one for each node at most */
	uint32_t count;
};

/* Keeps more of a node; the whole of it when gpu_mask is 0. */
static void keep(struct kept_list *list, uint32_t row, uint16_t gpu_mask)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (list->items[i].node == row) {
			bool whole = !gpu_mask || !list->items[i].gpu_mask;

			list->items[i].gpu_mask =
				whole ? 0 : (uint16_t)(list->items[i].gpu_mask | gpu_mask);
			return;
		}
	list->items[list->count++] = (struct strata_kept){ row, gpu_mask };
}

static int keep_named(const struct decider *decider, const char *text, struct strata_arena *arena,
		      struct kept_list *list, struct strata_error *err)
{
	const char **names;
	size_t count;

	if (strcmp(text, "all") == 0) {
		for (uint32_t row = 0; row < decider->node_count; row++)
			keep(list, row, 0);
		return 0;
	}
	int rc = strata_hostlist_expand(text, strlen(text), arena, &names, &count, err);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		const struct node_about *node = nodes_find(decider, names[i]);

		if (!node)
			return strata_fail_at(err, -ENOENT, "nodes",
					      "there is no node '%.60s'; `strata nodes` lists them",
					      names[i]);
		keep(list, (uint32_t)(node - decider->nodes), 0);
	}
	return rc;
}

static int keep_gpus(const struct decider *decider, const struct gpus_request *from,
		     struct kept_list *list, struct strata_error *err)
{
	const struct node_about *node = nodes_find(decider, from->node);
	const int64_t *ids = from->gpu_ids.items;
	uint16_t mask = 0;

	if (!node)
		return strata_fail_at(err, -ENOENT, "gpus",
				      "there is no node '%.60s'; `strata nodes` lists them",
				      from->node);
	for (size_t i = 0; i < from->gpu_ids.count; i++) {
		int64_t index = ids[i] - node->gpu_first;

		if (index < 0 || index >= (int64_t)node->conf.gpu_count)
			return strata_fail_at(err, -ENOENT, "gpus", "node %s has no GPU %lld",
					      node->name, (long long)ids[i]);
		mask |= (uint16_t)(1u << index);
	}
	if (mask)
		keep(list, (uint32_t)(node - decider->nodes), mask);
	return 0;
}

static int fill_kept(const struct decider *decider, const struct advance_request *body,
		     struct strata_arena *arena, struct kept_list *list, struct strata_error *err)
{
	const char *const *names = body->nodes.items;
	const struct gpus_request *gpus = body->gpus.items;
	int rc = 0;

	list->items = strata_arena_array(arena, decider->node_count, sizeof(*list->items));
	if (!list->items)
		return strata_fail_memory(err);
	for (size_t i = 0; rc == 0 && i < body->nodes.count; i++)
		rc = keep_named(decider, names[i], arena, list, err);
	for (size_t i = 0; rc == 0 && i < body->gpus.count; i++)
		rc = keep_gpus(decider, &gpus[i], list, err);
	if (rc == 0 && list->count == 0)
		rc = strata_fail_at(err, -EINVAL, "nodes",
				    "nothing is to be kept; expected nodes (n1,n2 or all) or gpus");
	return rc;
}

/* ---- when, and for whom ---- */

/* "ann,bob", or NULL for nobody. */
static int join(const struct strata_list *list, const char *field, struct strata_arena *arena,
		const char **ret_text, struct strata_error *err)
{
	const char *const *names = list->items;
	size_t bytes = 0;
	char *text, *end;

	*ret_text = NULL;
	for (size_t i = 0; i < list->count; i++) {
		if (!*names[i] || strchr(names[i], ','))
			return strata_fail_at(err, -EINVAL, field, "'%.60s' is not a name",
					      names[i]);
		bytes += strlen(names[i]) + 1;
	}
	if (!bytes)
		return 0;
	text = end = strata_arena_get(arena, bytes);
	if (!text)
		return strata_fail_memory(err);
	for (size_t i = 0; i < list->count; i++) {
		if (i)
			*end++ = ',';
		end = stpcpy(end, names[i]);
	}
	*ret_text = text;
	return 0;
}

static int fill_times(const struct advance_request *body, int64_t now_ns,
		      struct advance_about *like, struct strata_error *err)
{
	static const int64_t day_ns = INT64_C(86400) * STRATA_SECOND_NS;
	int64_t most_ns = body->repeat == ADVANCE_DAILY ? day_ns : 7 * day_ns;

	like->begin_ns = body->from_ns ? body->from_ns : now_ns;
	if (body->to_ns && body->duration_ns)
		return strata_fail_at(err, -EINVAL, "to",
				      "there is both an end (to) and a duration (for); expected "
				      "one of them");
	if (!body->to_ns && !body->duration_ns)
		return strata_fail_at(
			err, -EINVAL, "to",
			"nothing says how long it lasts; expected either an end (to) or "
			"a duration (for)");
	like->end_ns = body->to_ns ? body->to_ns : like->begin_ns + body->duration_ns;
	if (like->end_ns <= like->begin_ns || like->end_ns <= now_ns)
		return strata_fail_at(err, -EINVAL, body->to_ns ? "to" : "duration",
				      "it would have ended before %s",
				      like->end_ns <= now_ns ? "now" : "it begins");
	if (body->repeat != ADVANCE_ONCE && like->end_ns - like->begin_ns > most_ns)
		return strata_fail_at(err, -EINVAL, "repeat",
				      "it lasts longer than %s, after which it would come again",
				      body->repeat == ADVANCE_DAILY ? "a day" : "a week");
	return 0;
}

static int fill(const struct decider *decider, struct request *request, struct advance_about *like,
		struct strata_error *err)
{
	const struct advance_request *body = request->parsed;
	struct kept_list kept = { 0 };
	int rc = fill_times(body, decider_now_ns(decider), like, err);

	if (rc == 0)
		rc = fill_kept(decider, body, &request->arena, &kept, err);
	if (rc == 0)
		rc = join(&body->users, "users", &request->arena, &like->users, err);
	if (rc == 0)
		rc = join(&body->accounts, "accounts", &request->arena, &like->accounts, err);
	like->kept = kept.items;
	like->kept_count = kept.count;
	like->repeat = (enum advance_repeat)body->repeat;
	like->reason = body->reason;
	return rc;
}

static void put_advance(struct decider *decider, struct request *request)
{
	struct advance_about like = { .name = request->segments[0], .user = request->who.user };
	bool known = advance_find(decider, like.name) != NULL;
	const struct advance_about *own;
	struct strata_error err = { 0 };
	int rc = 0;

	if (strlen(like.name) >= STRATA_NAME_BYTES_MAX)
		rc = strata_fail_at(&err, -EINVAL, "name", "the name is longer than %d bytes",
				    STRATA_NAME_BYTES_MAX - 1);
	else if (reservation_at(decider, like.name))
		rc = strata_fail_at(&err, -EEXIST, "name", "%.60s has GPUs reserved already",
				    like.name);
	else
		rc = fill(decider, request, &like, &err);
	if (rc == 0)
		rc = advance_set(decider, &like, &own, &err);
	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	batch_event(decider, 0, known ? "reservation.changed" : "reservation.made",
		    json_pack("{s:s,s:s}", "name", own->name, "by", own->user));
	request->durable = true;
	request_answer(request, known ? MHD_HTTP_OK : MHD_HTTP_CREATED, advance_view(decider, own));
}

const struct route api_advances_routes[] = {
	{ .method = "PUT",
	  .path = "/api/v1/reservations/*",
	  .summary = "keep nodes or GPUs for some, from a time to a time",
	  .role = ROLE_OPERATOR,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_advance,
	  .decide = put_advance,
	  .body = &advance_schema,
	  .answer = "name from to nodes",
	  .also = 201 },
	{ 0 },
};
