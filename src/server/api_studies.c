/*
 * /api/v1/studies: what the service works out for people (studies.h): the history under other
 * policies, a plan for a model. Asked for by a POST, looked at until it is done. A user has one at
 * a time, and sees his own; operators see all.
 */
#include "server/decider.h"
#include "server/front.h"
#include "server/live.h"
#include "server/nodes.h"
#include "server/route.h"
#include "server/studies.h"
#include "server/view.h"

#include <strata/cluster.h>
#include <strata/limits.h>
#include <strata/text.h>

#include <ctype.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POLICIES_MAX = 4 };

/* ---- reading ---- */

struct policies_conf {
	struct strata_list policies; /* of const char * */
	int64_t since_ns;
};

/* clang-format off */
static const struct strata_option policy = { "policy", STRATA_TEXT, .text = { NULL, 200 } };
static const struct strata_option policies_options[] = {
	{ "policies", STRATA_LIST, offsetof(struct policies_conf, policies), .list = { &policy, POLICIES_MAX }, .flags = STRATA_REQUIRED,
	  .help = "1 to 4 of ORDER/BACKFILL/PREDICTION/PLACEMENT; what is left out is as the service has it" },
	{ "since", STRATA_DURATION, offsetof(struct policies_conf, since_ns), .integer = { 7 * STRATA_DAY_NS, STRATA_MINUTE_NS, 92 * STRATA_DAY_NS },
	  .help = "jobs submitted in so long before now" },
	{ 0 }
};
static const struct strata_schema policies_schema = { "study of policies", NULL, sizeof(struct policies_conf), policies_options };

struct model_query {
	const char *name, *dims;
};
static const struct strata_option model_options[] = {
	{ "name", STRATA_TEXT, offsetof(struct model_query, name), .text = { NULL, 99 }, .help = "of the file" },
	{ "dims", STRATA_TEXT, offsetof(struct model_query, dims), .text = { NULL, 400 }, .help = "dimensions by name: batch=1,sequence=128" },
	{ 0 }
};
static const struct strata_schema model_query_schema = { "the query", NULL, sizeof(struct model_query), model_options };
/* clang-format on */

/* Words go to a command line as they are: nothing in them is a flag, a list or a blank. */
static bool is_word(const char *text, const char *more)
{
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && !strchr(more, *text))
			return false;
	return true;
}

/* ORDER/BACKFILL/PREDICTION/PLACEMENT, each a class that there is, or nothing. */
static int check_policy(const char *text, struct strata_arena *arena, struct strata_error *err)
{
	const struct strata_kind *kinds[] = { &strata_order_kind, &strata_backfill_kind,
					      &strata_prediction_kind, &strata_placement_kind };
	size_t count = sizeof(kinds) / sizeof(kinds[0]);
	int rc = 0;

	for (size_t i = 0; rc == 0 && text; i++) {
		size_t length = strcspn(text, "/");
		char *word = strata_arena_text(arena, text, length);
		struct strata_spec spec;

		if (i == count)
			return strata_fail(err, -EINVAL,
					   "'%.60s' is a fifth part; expected "
					   "ORDER/BACKFILL/PREDICTION/PLACEMENT",
					   text);
		if (!word)
			return strata_fail_memory(err);
		if (*word)
			rc = strata_spec_build(kinds[i], word, arena, &spec, err);
		text = text[length] ? text + length + 1 : NULL;
	}
	return rc == -ENOENT ? -EINVAL : rc;
}

static int join(const struct strata_list *list, struct strata_arena *arena, char **ret_words,
		struct strata_error *err)
{
	const char *const *items = list->items;
	size_t room = 1;

	if (!list->count)
		return strata_fail_at(err, -EINVAL, "policies", "there are none; expected 1 to %d",
				      POLICIES_MAX);
	for (size_t i = 0; i < list->count; i++) {
		if (items[i][0] == '-' || !is_word(items[i], "/:=._+-"))
			return strata_fail_at(err, -EINVAL, "policies",
					      "'%.60s' is no policy; expected "
					      "ORDER/BACKFILL/PREDICTION/PLACEMENT",
					      items[i]);
		struct strata_error why = { 0 };
		int rc = check_policy(items[i], arena, &why);

		if (rc)
			return strata_fail_at(err, rc, "policies", "%s", why.text);
		room += strlen(items[i]) + 2;
	}
	char *words = calloc(1, room);

	if (!words)
		return strata_fail_memory(err);
	for (size_t i = 0; i < list->count; i++) {
		strcat(words, i ? "," : "");
		strcat(words, *items[i] ? items[i] : "/");
	}
	*ret_words = words;
	return 0;
}

static struct study *new_study(struct request *request, enum study_kind kind)
{
	struct study *study = calloc(1, sizeof(*study));

	if (!study) {
		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "out_of_memory",
			       "out of memory");
		return NULL;
	}
	study->kind = kind;
	study->uid = request->who.uid;
	snprintf(study->user, sizeof(study->user), "%s", request->who.user);
	return study;
}

static void release(struct request *request)
{
	study_free(request->parsed);
	request->parsed = NULL;
}

static void parse_policies(struct request *request)
{
	const struct policies_conf *conf;
	struct strata_error err = { 0 };

	if (!request_read(request, &policies_schema))
		return;
	conf = request->parsed;
	request->parsed = NULL;
	char *words = NULL;
	int rc = join(&conf->policies, &request->arena, &words, &err);

	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	struct study *study = new_study(request, STUDY_POLICIES);

	if (!study) {
		free(words);
		return;
	}
	study->words = words;
	study->since_ns = common_now_ns(request->front->common) - conf->since_ns;
	request->parsed = study;
	request->release = release;
}

/* "batch=1,sequence=128" */
static int check_dims(const char *dims, struct strata_error *err)
{
	return !dims || (dims[0] != '-' && is_word(dims, "_.=,-"))
		       ? 0
		       : strata_fail_at(err, -EINVAL, "dims",
					"'%.60s' are no dimensions; expected batch=1,sequence=128",
					dims);
}

static void parse_model(struct request *request)
{
	const struct model_query *query = request->query;
	struct strata_error err = { 0 };
	int rc = check_dims(query->dims, &err);

	if (rc == 0 && !request->body_length)
		rc = strata_fail(&err, -EINVAL, "there is no model in the request");
	if (rc) {
		request_fail(request, rc, &err);
		return;
	}
	struct study *study = new_study(request, STUDY_MODEL);

	if (!study)
		return;
	request->parsed = study;
	request->release = release;
	study->words = strdup(query->dims ? query->dims : "");
	study->bytes = malloc(request->body_length);
	if (!study->words || !study->bytes) {
		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "out_of_memory",
			       "out of memory");
		return;
	}
	memcpy(study->bytes, request->body, request->body_length);
	study->byte_count = request->body_length;
	snprintf(study->name, sizeof(study->name), "%s", query->name ? query->name : "model");
}

/* ---- for the decider ---- */

static json_t *node_json(const struct node_about *node)
{
	return json_pack("{s:s,s:f,s:I,s:I,s:s?}", "name", node->name, "cpus",
			 (double)node->conf.cpu_milli / 1000, "memory_bytes",
			 (json_int_t)node->conf.memory_bytes, "gpus",
			 (json_int_t)node->conf.gpu_count, "gpu_type", node->conf.gpu_type);
}

/* "sjf" is "sjf/easy/requested/best_fit" where the service has these. */
static char *complete(const char *words, const struct server_conf *conf)
{
	const char *const usual[] = { conf->order, conf->backfill, conf->predict, conf->placement };
	size_t room = strlen(words) + 1, longest = 4;

	for (size_t i = 0; i < 4; i++)
		longest += usual[i] ? strlen(usual[i]) : 0;
	room += POLICIES_MAX * longest;
	char *whole = calloc(1, room), *to = whole;

	while (whole && *words) {
		for (size_t i = 0; i < 4; i++) {
			size_t span = strcspn(words, "/,");

			if (span)
				to += sprintf(to, "%.*s", (int)span, words);
			else if (usual[i])
				to += sprintf(to, "%s", usual[i]);
			to += sprintf(to, "%s", i < 3 ? "/" : "");
			words += span;
			words += *words == '/';
		}
		words += strcspn(words, ",");
		to += sprintf(to, "%s", *words ? "," : "");
		words += *words == ',';
	}
	return whole;
}

static void take_policies(struct decider *decider, struct request *request)
{
	struct study *study = request->parsed;
	json_t *nodes = json_array();

	for (uint32_t row = 0; row < decider->node_count; row++)
		json_array_append_new(nodes, node_json(&decider->nodes[row]));
	json_t *json = json_pack("{s:o}", "nodes", nodes);
	char *words = complete(study->words, decider->conf);

	study->nodes = json ? json_dumps(json, JSON_COMPACT) : NULL;
	json_decref(json);
	if (words) {
		free(study->words);
		study->words = words;
	}
	if (!words || !study->nodes)
		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "out_of_memory",
			       "out of memory");
}

/* ---- for HTTP threads again ---- */

static void begin(struct request *request)
{
	struct study *study = request->parsed;
	struct strata_error err = { 0 };
	int64_t id;

	if (request->answered || !study)
		return;
	request->parsed = NULL; /* it is the queue's now */
	int rc = studies_add(request->front->studies, study, &id, &err);

	if (rc == -EBUSY)
		request_refuse(request, MHD_HTTP_CONFLICT, "conflict", "%s", err.text);
	else if (rc)
		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable", "%s",
			       err.text);
	else
		request_answer(request, MHD_HTTP_ACCEPTED,
			       studies_view(request->front->studies, &request->who, id));
}

static void begin_model(struct request *request)
{
	parse_model(request);
	begin(request);
}

static bool read_id(struct request *request, int64_t *ret_id)
{
	if (strata_int_parse(request->segments[0], STRATA_TEXT_NUL, 1, INT64_MAX, ret_id, NULL) ==
	    0)
		return true;
	request_refuse(request, MHD_HTTP_NOT_FOUND, "not_found", "there is no study %.40s",
		       request->segments[0]);
	return false;
}

static void get_study(struct request *request)
{
	int64_t id;

	if (!read_id(request, &id))
		return;
	json_t *json = studies_view(request->front->studies, &request->who, id);

	if (json)
		request_answer(request, MHD_HTTP_OK, json);
	else
		request_refuse(request, MHD_HTTP_NOT_FOUND, "not_found", "there is no study %.40s",
			       request->segments[0]);
}

/* The classes of a kind, the one in use first said. */
static json_t *view_kind(const struct strata_kind *kind, const char *now)
{
	json_t *classes = json_array();

	for (size_t i = 0; kind->classes[i]; i++)
		json_array_append_new(classes,
				      json_pack("{s:s,s:s}", "name", kind->classes[i]->name,
						"summary", kind->classes[i]->summary));
	return json_pack("{s:s?,s:o}", "now", now, "classes", classes);
}

/* Whose they are, and what may be asked for. */
static void get_studies(struct request *request)
{
	const struct server_conf *conf = request->front->conf;

	request_answer(request, MHD_HTTP_OK,
		       json_pack("{s:o,s:{s:o,s:o,s:o,s:o}}", "studies",
				 studies_list(request->front->studies, &request->who), "policies",
				 "order", view_kind(&strata_order_kind, conf->order), "backfill",
				 view_kind(&strata_backfill_kind, conf->backfill), "prediction",
				 view_kind(&strata_prediction_kind, conf->predict), "placement",
				 view_kind(&strata_placement_kind, conf->placement)));
}

static void delete_study(struct request *request)
{
	int64_t id;

	if (!read_id(request, &id))
		return;
	if (studies_remove(request->front->studies, &request->who, id))
		request_answer(request, MHD_HTTP_OK, json_pack("{s:I}", "id", (json_int_t)id));
	else
		request_refuse(request, MHD_HTTP_NOT_FOUND, "not_found", "there is no study %.40s",
			       request->segments[0]);
}

/* ---- routes ---- */

const struct route api_studies_routes[] = {
	{ .method = "POST",
	  .path = "/api/v1/studies",
	  .summary = "replay the history under other policies",
	  .role = ROLE_USER,
	  .body_bytes_max = ROUTE_SMALL_BYTES,
	  .parse = parse_policies,
	  .decide = take_policies,
	  .finish = begin,
	  .body = &policies_schema,
	  .answer = "id state",
	  .also = 202 },
	{ .method = "POST",
	  .path = "/api/v1/plans",
	  .summary = "plan a model that is sent on this machine",
	  .role = ROLE_USER,
	  .body_bytes_max = STRATA_STUDY_FILE_BYTES_MAX,
	  .parse = begin_model,
	  .query = &model_query_schema,
	  .answer = "id state",
	  .also = 202 },
	{ .method = "GET",
	  .path = "/api/v1/studies",
	  .summary = "studies",
	  .role = ROLE_READER,
	  .parse = get_studies,
	  .answer = "studies policies" },
	{ .method = "GET",
	  .path = "/api/v1/studies/*",
	  .summary = "a study and its result",
	  .role = ROLE_READER,
	  .parse = get_study,
	  .answer = "id state result" },
	{ .method = "DELETE",
	  .path = "/api/v1/studies/*",
	  .summary = "cancel or forget one",
	  .role = ROLE_USER,
	  .parse = delete_study,
	  .answer = "id" },
	{ 0 },
};
