/* The inventory service beside this one: see remote.h. */
#include "server/remote.h"

#include "client/client.h"
#include "client/web.h"
#include "core/env_trust.h"
#include "server/nodes.h"
#include "core/env_log.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT_NS (5 * STRATA_SECOND_NS)
#define AGAIN_NS (5 * STRATA_SECOND_NS) /* for what must be given back and could not */

enum { TOKEN_BYTES_MAX = 4096 };

struct call {
	struct call *next;
	json_t *body; /* of a reservation; NULL: it is given back */
	int64_t job, attempt;
	int rc;
	struct strata_error err;
};

struct remote {
	struct strata_memory memory;
	struct client *client; /* the thread's, once it runs */
	pthread_t thread;
	bool runs;
	pthread_mutex_t lock;
	pthread_cond_t news;
	struct call *first, *last; /* to do */
	struct call *done_first, *done_last;
	struct call *shown; /* the answer that the decider looks at */
	bool stops;
	/* the decider's: since when it does not answer, and how that was said; 0: it does */
	int64_t away_ns;
	char away[300];
};

/* ---- the other service ---- */

/* Who could put another socket, or another token, in its place could say which nodes are free. */
static int check_places(const struct server_conf *conf, struct strata_error *err)
{
	const char *token = conf->inventory_token_file, *url = conf->inventory_url;
	char dir[STRATA_PATH_BYTES_MAX];
	bool there;
	int rc = conf_check_url(url, err);

	if (rc == 0 && strncmp(url, "unix:", 5) == 0) {
		int length = (int)(strrchr(url, '/') - (url + 5));

		snprintf(dir, sizeof(dir), "%.*s", length ? length : 1, url + 5);
		rc = env_trust_check(dir, ENV_TRUST_DIR, "the directory of the inventory's socket",
				     err);
	}
	if (rc == 0 && token)
		rc = env_trust_check(token, ENV_TRUST_FILE, "the token of the inventory", err);
	return rc || !token ? rc : client_check_private(token, true, &there, err);
}

/* "http://…", or "unix:/path" */
static int open_client(const struct server_conf *conf, struct strata_memory *memory,
		       struct client **ret_client, struct strata_error *err)
{
	struct client_place place = { .timeout_ns = TIMEOUT_NS };
	struct strata_arena arena;
	char *token = NULL;
	size_t length = 0;
	int rc = check_places(conf, err);

	strata_arena_init(&arena, memory, 0);
	if (strncmp(conf->inventory_url, "unix:", 5) == 0)
		place.socket = conf->inventory_url + 5;
	else
		place.url = conf->inventory_url;
	if (rc == 0 && conf->inventory_token_file)
		rc = env_read_file(env_system(), AT_FDCWD, conf->inventory_token_file,
				   TOKEN_BYTES_MAX, &arena, &token, &length, err);
	while (rc == 0 && length && strchr(" \r\n", token[length - 1]))
		token[--length] = '\0';
	place.token = token;
	place.web = &client_web;
	if (rc == 0)
		rc = client_open(&place, memory, ret_client, err);
	strata_arena_fini(&arena);
	return rc;
}

int remote_nodes(const struct server_conf *conf, struct strata_arena *arena,
		 struct inventory *ret_inventory, struct strata_error *err)
{
	struct client_request request = { .method = "GET", .path = "/api/v1/topology" };
	struct strata_memory memory = { 0 };
	struct client *client;
	json_t *json = NULL;
	int rc = open_client(conf, &memory, &client, err);

	if (rc)
		return rc;
	rc = client_json(client, &request, &json, err);
	char *text = rc == 0 ? json_dumps(json, JSON_COMPACT) : NULL;

	if (rc == 0)
		rc = text ? inventory_read(text, strlen(text), arena, ret_inventory, err)
			  : strata_fail_memory(err);
	free(text);
	json_decref(json);
	client_close(client);
	if (rc)
		return strata_fail(err, rc, "the inventory service at %s: %s", conf->inventory_url,
				   err->text);
	return 0;
}

/* A reservation of the same name gives the same answer again, so every call may be repeated. */
static int make_call(struct remote *remote, struct call *call, const char *cluster)
{
	char path[STRATA_NAME_BYTES_MAX + 80], key[48];
	struct client_request request = { .method = call->body ? "POST" : "DELETE",
					  .path = path,
					  .body = call->body,
					  .key = key };
	json_t *answer = NULL;

	snprintf(key, sizeof(key), "%" PRId64 ".%" PRId64, call->job, call->attempt);
	if (call->body)
		strcpy(path, "/api/v1/reservations");
	else
		snprintf(path, sizeof(path), "/api/v1/reservations/%s.%" PRId64, cluster,
			 call->job);
	int rc = client_json(remote->client, &request, &answer, &call->err);

	json_decref(answer);
	return rc == -ENOENT && !call->body ? 0 : rc;
}

/* What an earlier service of this name reserved, for jobs that have no place any more. */
static void give_back_leftovers(struct decider *decider, json_t *list)
{
	const char *cluster = decider->conf->cluster_name;
	size_t length = strlen(cluster), index;
	json_t *json;

	json_array_foreach(list, index, json)
	{
		const char *name = json_string_value(json_object_get(json, "job_id"));
		const struct live *live;
		int64_t job;

		if (!name || strncmp(name, cluster, length) != 0 || name[length] != '.' ||
		    strata_int_parse(name + length + 1, STRATA_TEXT_NUL, 1, INT64_MAX, &job, NULL))
			continue;
		live = live_get(decider, job);
		if (!live || !live->job.place)
			remote_give_back(decider, job);
	}
}

/* ---- the thread ---- */

static struct call *next_call(struct remote *remote)
{
	struct call *call;

	pthread_mutex_lock(&remote->lock);
	while (!remote->first && !remote->stops)
		pthread_cond_wait(&remote->news, &remote->lock);
	call = remote->stops ? NULL : remote->first;
	pthread_mutex_unlock(&remote->lock);
	return call;
}

/* What is given back must be: the others wait behind it, as they could not be reserved either. */
static bool try_again(struct remote *remote, const struct call *call)
{
	struct timespec until;

	if (call->body || call->rc == 0 || call->rc == -EACCES || call->rc == -EINVAL)
		return false;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += AGAIN_NS / STRATA_SECOND_NS;
	pthread_mutex_lock(&remote->lock);
	if (!remote->stops)
		pthread_cond_timedwait(&remote->news, &remote->lock, &until);
	bool stops = remote->stops;

	pthread_mutex_unlock(&remote->lock);
	return !stops;
}

static void *work(void *context)
{
	struct decider *decider = context;
	struct remote *remote = decider->remote;
	struct call *call;

	while ((call = next_call(remote))) {
		do
			call->rc = make_call(remote, call, decider->conf->cluster_name);
		while (try_again(remote, call));
		pthread_mutex_lock(&remote->lock);
		remote->first = call->next;
		if (!remote->first)
			remote->last = NULL;
		call->next = NULL;
		*(remote->done_last ? &remote->done_last->next : &remote->done_first) = call;
		remote->done_last = call;
		pthread_mutex_unlock(&remote->lock);
		inbox_wake(&decider->common->inbox);
	}
	return NULL;
}

static void free_call(struct call *call)
{
	if (call)
		json_decref(call->body);
	free(call);
}

static void ask(struct decider *decider, json_t *body, int64_t job, int64_t attempt)
{
	struct remote *remote = decider->remote;
	struct call *call = calloc(1, sizeof(*call));

	if (!call) { /* as good as an answer that never comes: a restart asks again */
		json_decref(body);
		log_say(LOG_LEVEL_ERROR, "inventory", job, "no memory to ask the inventory");
		return;
	}
	call->body = body;
	call->job = job;
	call->attempt = attempt;
	pthread_mutex_lock(&remote->lock);
	*(remote->last ? &remote->last->next : &remote->first) = call;
	remote->last = call;
	pthread_cond_signal(&remote->news);
	pthread_mutex_unlock(&remote->lock);
}

/* ---- for the decider ---- */

static json_t *view_piece(const struct decider *decider, const struct strata_piece *piece)
{
	const struct node_about *node = &decider->nodes[piece->node];
	json_t *ids = json_array();

	for (uint32_t i = 0; i < STRATA_NODE_GPUS_MAX; i++)
		if (piece->gpu_mask >> i & 1)
			json_array_append_new(ids, json_integer(node->gpu_first + i));
	return json_pack("{s:s,s:o,s:f,s:I}", "node", node->name, "gpu_ids", ids, "cpus",
			 (double)piece->cpu_milli / 1000, "memory",
			 (json_int_t)piece->memory_bytes);
}

void remote_reserve(struct decider *decider, const struct live *live)
{
	char name[STRATA_NAME_BYTES_MAX + 32];
	struct strata_job_view view;
	json_t *pieces = json_array();

	snprintf(name, sizeof(name), "%s.%" PRId64, decider->conf->cluster_name, live->job.id);
	if (strata_cluster_job(decider->cluster, (uint64_t)live->job.id, &view, NULL) == 0)
		for (uint32_t i = 0; i < view.piece_count; i++)
			json_array_append_new(pieces, view_piece(decider, &view.pieces[i]));
	ask(decider, json_pack("{s:s,s:o}", "job_id", name, "pieces", pieces), live->job.id,
	    live->job.attempt);
}

void remote_give_back(struct decider *decider, int64_t job)
{
	ask(decider, NULL, job, 0);
}

/* A refusal is an answer. */
static void note_away(struct decider *decider)
{
	struct remote *remote = decider->remote;
	int rc = remote->shown->rc;
	bool away = rc == -EAGAIN || rc == -ECONNREFUSED || rc == -ECONNRESET ||
		    rc == -ETIMEDOUT || rc == -EHOSTUNREACH || rc == -ENETUNREACH || rc == -ENOENT;

	if (!away)
		remote->away_ns = 0;
	else if (!remote->away_ns)
		remote->away_ns = decider_now_ns(decider);
	if (away)
		snprintf(remote->away, sizeof(remote->away), "%.290s", remote->shown->err.text);
}

const char *remote_trouble(const struct decider *decider, int64_t *ret_since_ns)
{
	const struct remote *remote = decider->remote;

	if (!remote || !remote->away_ns)
		return NULL;
	*ret_since_ns = remote->away_ns;
	return remote->away;
}

bool remote_take(struct decider *decider, struct remote_answer *ret_answer)
{
	struct remote *remote = decider->remote;

	if (!remote)
		return false;
	do {
		free_call(remote->shown);
		pthread_mutex_lock(&remote->lock);
		remote->shown = remote->done_first;
		if (remote->shown)
			remote->done_first = remote->shown->next;
		if (!remote->done_first)
			remote->done_last = NULL;
		pthread_mutex_unlock(&remote->lock);
	} while (remote->shown && !remote->shown->body);
	if (!remote->shown)
		return false;
	note_away(decider);
	*ret_answer = (struct remote_answer){ .job = remote->shown->job,
					      .attempt = remote->shown->attempt,
					      .granted = remote->shown->rc == 0,
					      .why_not = remote->shown->err.text };
	return true;
}

/* ---- beginning and end ---- */

int remote_open(struct decider *decider, struct strata_error *err)
{
	struct remote *remote;

	if (!decider->conf->inventory_url)
		return 0;
	remote = calloc(1, sizeof(*remote));
	if (!remote)
		return strata_fail_memory(err);
	decider->remote = remote;
	pthread_mutex_init(&remote->lock, NULL);
	pthread_cond_init(&remote->news, NULL);
	return open_client(decider->conf, &remote->memory, &remote->client, err);
}

int remote_start(struct decider *decider, struct strata_error *err)
{
	struct client_request request = { .method = "GET", .path = "/api/v1/reservations" };
	struct remote *remote = decider->remote;
	json_t *json = NULL;

	if (!remote)
		return 0;
	/* a service that does not list them has to forget them by itself */
	if (client_json(remote->client, &request, &json, NULL) == 0)
		give_back_leftovers(decider, json_object_get(json, "reservations"));
	json_decref(json);
	int rc = pthread_create(&remote->thread, NULL, work, decider);

	if (rc)
		return strata_fail(err, -rc, "no thread: %s", strerror(rc));
	remote->runs = true;
	return 0;
}

static void free_calls(struct call *call)
{
	while (call) {
		struct call *next = call->next;

		free_call(call);
		call = next;
	}
}

void remote_close(struct decider *decider)
{
	struct remote *remote = decider->remote;

	if (!remote)
		return;
	pthread_mutex_lock(&remote->lock);
	remote->stops = true;
	pthread_cond_signal(&remote->news);
	pthread_mutex_unlock(&remote->lock);
	if (remote->runs)
		pthread_join(remote->thread, NULL);
	free_calls(remote->first);
	free_calls(remote->done_first);
	free_call(remote->shown);
	client_close(remote->client);
	pthread_cond_destroy(&remote->news);
	pthread_mutex_destroy(&remote->lock);
	free(remote);
	decider->remote = NULL;
}
