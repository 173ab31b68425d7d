/* Messages to webhooks: see webhooks.h. */
#include "server/webhooks.h"

#include "server/entities.h"
#include "server/live.h"
#include "server/load.h"
#include "server/mailer.h"
#include "server/tasks.h"
#include "server/view.h"
#include "server/webhook_process.h"
#include "core/env_log.h"
#include "store/uuid.h"

#include <strata/limits.h>

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS INT64_C(1000000000)
enum { ATTEMPTS_MAX = 10, SECRET_BYTES = 32, SECRET_TEXT = 2 * SECRET_BYTES + 1 };
enum { GONE = 410 }; /* the answer of one that wants no more messages */

/* The row that has the service's own key. */
static const char key_kind[] = "secret", key_name[] = "webhooks";

struct delivery {
	struct store_delivery row; /* texts are owned */
	struct delivery *next, *previous;
	bool durable;
	bool with_process; /* it is being sent */
};

struct webhooks {
	struct delivery *first;
	struct map_text by_id;  /* of struct delivery */
	struct map_text counts; /* of each user: size_t */
	struct webhook_process *process; /* NULL: not yet */
	struct mailer *mailer;           /* likewise */
	unsigned char key[SECRET_BYTES];
	bool has_key;
	bool fresh; /* some are not durable */
	int64_t due_ns;
};

/* ---- the list ---- */

static void delivery_free(struct delivery *delivery)
{
	free((void *)delivery->row.id);
	free((void *)delivery->row.user);
	free((void *)delivery->row.event);
	free((void *)delivery->row.url);
	free((void *)delivery->row.body);
	free((void *)delivery->row.error);
	free(delivery);
}

static const char *own(const char *text)
{
	return text ? batch_need(strdup(text)) : NULL;
}

static size_t *count_of(struct webhooks *webhooks, const char *user)
{
	size_t *count = map_text_get(&webhooks->counts, user, strlen(user));

	if (!count) {
		count = batch_need(calloc(1, sizeof(*count)));
		if (map_text_put(&webhooks->counts, user, strlen(user), count, NULL))
			batch_need(NULL);
	}
	return count;
}

static struct delivery *add(struct webhooks *webhooks, const struct store_delivery *row)
{
	struct delivery *delivery = batch_need(calloc(1, sizeof(*delivery)));

	delivery->row = *row;
	delivery->row.id = own(row->id);
	delivery->row.user = own(row->user);
	delivery->row.event = own(row->event);
	delivery->row.url = own(row->url);
	delivery->row.body = own(row->body);
	delivery->row.error = own(row->error);
	delivery->next = webhooks->first;
	if (delivery->next)
		delivery->next->previous = delivery;
	webhooks->first = delivery;
	if (map_text_put(&webhooks->by_id, delivery->row.id, strlen(delivery->row.id), delivery, NULL))
		batch_need(NULL);
	++*count_of(webhooks, delivery->row.user);
	return delivery;
}

static void remove_delivery(struct decider *decider, struct delivery *delivery)
{
	struct webhooks *webhooks = decider->webhooks;
	const char *user = delivery->row.user;
	size_t *count = count_of(webhooks, user);

	batch_put(decider, STORE_DELETE(&delivery->row));
	if (--*count == 0) {
		map_text_remove(&webhooks->counts, user, strlen(user));
		free(count);
	}
	map_text_remove(&webhooks->by_id, delivery->row.id, strlen(delivery->row.id));
	if (delivery->next)
		delivery->next->previous = delivery->previous;
	*(delivery->previous ? &delivery->previous->next : &webhooks->first) = delivery->next;
	delivery_free(delivery);
}

/* ---- loading ---- */

static int load_delivery(void *context, const void *row, struct strata_error *err)
{
	(void)err;
	add(context, row)->durable = true;
	return 0;
}

static int load_key(void *context, const void *row_any, struct strata_error *err)
{
	struct webhooks *webhooks = context;
	const struct store_entity *row = row_any;
	size_t length;

	(void)err;
	if (strcmp(row->kind, key_kind) == 0 && strcmp(row->name, key_name) == 0 && row->settings)
		webhooks->has_key = sodium_hex2bin(webhooks->key, SECRET_BYTES, row->settings,
						   strlen(row->settings), "\"", &length, NULL) == 0 &&
				    length == SECRET_BYTES;
	return 0;
}

int webhooks_load(struct decider *decider, struct strata_error *err)
{
	struct webhooks *webhooks = calloc(1, sizeof(*webhooks));

	if (!webhooks || sodium_init() < 0) {
		free(webhooks);
		return strata_fail_memory(err);
	}
	map_text_init(&webhooks->by_id, &decider->memory);
	map_text_init(&webhooks->counts, &decider->memory);
	decider->webhooks = webhooks;
	int rc = store_load(decider->store, STORE_ENTITY, NULL, load_key, webhooks, err);

	return rc ? rc
		  : store_load(decider->store, STORE_DELIVERY, NULL, load_delivery, webhooks, err);
}

void webhooks_free(struct decider *decider)
{
	struct webhooks *webhooks = decider->webhooks;
	struct delivery *delivery;

	if (!webhooks)
		return;
	webhook_process_stop(webhooks->process);
	mailer_stop(webhooks->mailer);
	while ((delivery = webhooks->first)) {
		webhooks->first = delivery->next;
		delivery_free(delivery);
	}
	for (const struct map_text_entry *at = map_text_next(&webhooks->counts, NULL); at;
	     at = map_text_next(&webhooks->counts, at))
		free(at->value);
	map_text_fini(&webhooks->counts);
	map_text_fini(&webhooks->by_id);
	sodium_memzero(webhooks->key, sizeof(webhooks->key));
	free(webhooks);
	decider->webhooks = NULL;
}

/* ---- secrets ---- */

static void need_key(struct decider *decider)
{
	struct webhooks *webhooks = decider->webhooks;
	char text[SECRET_TEXT], json[SECRET_TEXT + 2];

	if (webhooks->has_key)
		return;
	randombytes_buf(webhooks->key, sizeof(webhooks->key));
	sodium_bin2hex(text, sizeof(text), webhooks->key, sizeof(webhooks->key));
	snprintf(json, sizeof(json), "\"%s\"", text);
	const struct store_entity row = { .kind = key_kind, .name = key_name, .settings = json };

	batch_put(decider, STORE_PUT(&row));
	webhooks->has_key = true;
}

/* HMAC-SHA256 of the texts, one behind the other, in hexadecimal. */
static void mac(const void *key, size_t key_bytes, const char *const *texts,
		char ret_text[SECRET_TEXT])
{
	crypto_auth_hmacsha256_state state;
	unsigned char bytes[crypto_auth_hmacsha256_BYTES];

	crypto_auth_hmacsha256_init(&state, key, key_bytes);
	for (; *texts; texts++)
		crypto_auth_hmacsha256_update(&state, (const unsigned char *)*texts,
					      strlen(*texts));
	crypto_auth_hmacsha256_final(&state, bytes);
	sodium_bin2hex(ret_text, SECRET_TEXT, bytes, sizeof(bytes));
}

/* Of one user: from the service's own key and the name. As text: what a receiver is told. */
static void secret_of(const struct webhooks *webhooks, const char *user, char ret_text[SECRET_TEXT])
{
	mac(webhooks->key, SECRET_BYTES, (const char *const[]){ "webhooks of ", user, NULL }, ret_text);
}

/* "t=1700000000,v1=…": of the time, a dot and the body, by the secret's text as the key. */
static void sign(const struct webhooks *webhooks, const struct delivery *delivery, int64_t now_ns,
		 char *ret_header, size_t room)
{
	char secret[SECRET_TEXT], time[32], text[SECRET_TEXT];

	secret_of(webhooks, delivery->row.user, secret);
	snprintf(time, sizeof(time), "%lld", (long long)(now_ns / SECOND_NS));
	mac(secret, strlen(secret), (const char *const[]){ time, ".", delivery->row.body, NULL },
	    text);
	snprintf(ret_header, room, "Strata-Signature: t=%s,v1=%s", time, text);
	sodium_memzero(secret, sizeof(secret));
}

/* ---- messages ---- */

static void put(struct decider *decider, const char *user, const char *url, const char *event,
		const char *what, json_t *about)
{
	struct webhooks *webhooks = decider->webhooks;
	int64_t now_ns = decider_now_ns(decider);
	char id[UUID_TEXT_BYTES];
	struct strata_error err = { 0 };

	if (!webhooks || uuid_make(decider->env, id, &err)) {
		json_decref(about);
		return;
	}
	json_t *json = json_pack("{s:s,s:s,s:o,s:o}", "id", id, "event", event, "at",
				 view_exact_time(now_ns), what, about);
	char *body = batch_need(json ? json_dumps(json, JSON_COMPACT) : NULL);

	json_decref(json);
	if (*count_of(webhooks, user) >= STRATA_WEBHOOK_USER_MAX) {
		log_warning("webhooks",
			    "%.60s has %d messages that have not arrived; one more is not sent", user,
			    STRATA_WEBHOOK_USER_MAX);
		free(body);
		return;
	}
	const struct store_delivery row = { .id = id,
					    .user = user,
					    .event = event,
					    .url = url,
					    .body = body,
					    .created_ns = now_ns,
					    .due_ns = now_ns };

	need_key(decider);
	batch_put(decider, STORE_PUT(&row));
	add(webhooks, &row);
	webhooks->fresh = true;
	free(body);
}

static json_t *about_job(const struct job *job)
{
	return json_pack(
		"{s:I,s:s?,s:s,s:s,s:s?,s:I,s:I,s:I,s:o,s:o,s:o}", "id", (json_int_t)job->id,
		"name", job->name, "user", job->user, "state", strata_job_state_name(job->state),
		"error", job->failure, "exit_code", (json_int_t)job->exit_code, "exit_signal",
		(json_int_t)job->exit_signal, "elements", (json_int_t)job_elements(job),
		"created_at", view_exact_time(job->created_ns), "started_at",
		view_exact_time(job->started_ns), "ended_at", view_exact_time(job->completed_ns));
}

static bool is_wanted(unsigned notify, enum job_news news, bool bad)
{
	return (news == JOB_STARTED && (notify & JOB_NOTIFY_BEGIN)) ||
	       (news == JOB_REQUEUED && (notify & JOB_NOTIFY_REQUEUE)) ||
	       (news == JOB_ENDED &&
		((notify & JOB_NOTIFY_END) || (bad && (notify & JOB_NOTIFY_FAIL))));
}

/* One letter for a whole array: when its first element starts, when its last one has ended. */
static bool is_letter(const struct decider *decider, const struct live *live, unsigned notify,
		      enum job_news news)
{
	struct strata_array_view view;
	bool bad = live->job.state == STRATA_JOB_FAILED;

	if (live->job.array_id &&
	    strata_cluster_array(decider->cluster, (uint64_t)live->job.array_id, &view, NULL) ==
		    0) {
		if ((news == JOB_STARTED && view.count - view.unstarted > 1) ||
		    (news == JOB_ENDED && view.open > 0))
			return false;
		bad = view.bad > 0;
	}
	return is_wanted(notify, news, bad);
}

/* Where mail of a user goes, and about what, when its jobs do not say. */
static const char *setting_of(const struct decider *decider, const char *user, const char *key)
{
	const struct entity *entity = entity_find(decider, STRATA_ENTITY_USER, user);

	const char *text = entity ? json_string_value(json_object_get(entity->settings, key))
				  : NULL;

	return text && *text ? text : NULL;
}

static void put_letter(struct decider *decider, const struct live *live, enum job_news news,
		       const char *event)
{
	const struct job_spec *spec = &live->spec->spec;
	const char *user = live->job.user;
	const char *text = spec->notify ? spec->notify : setting_of(decider, user, "notify");
	const char *mail = spec->mail ? spec->mail : setting_of(decider, user, "mail");
	unsigned notify;

	if ((!text && !spec->mail) || (spec->webhook && !spec->mail) ||
	    !job_spec_notify(text, &notify) || !is_letter(decider, live, notify, news))
		return;
	const char *url = strata_arena_printf(&decider->scratch, "mailto:%s", mail ? mail : user);

	put(decider, user, batch_need((void *)(uintptr_t)url), event, "job", about_job(&live->job));
}

void webhook_job(struct decider *decider, const struct live *live, enum job_news news)
{
	static const char *const events[] = { [JOB_STARTED] = "job.started",
					      [JOB_REQUEUED] = "job.requeued",
					      [JOB_ENDED] = "job.ended" };
	const struct job_spec *spec = live->spec ? &live->spec->spec : NULL;
	unsigned notify;

	if (!spec)
		return;
	if (spec->webhook && job_spec_notify(spec->notify, &notify) &&
	    is_wanted(notify, news, live->job.state == STRATA_JOB_FAILED))
		put(decider, live->job.user, spec->webhook, events[news], "job",
		    about_job(&live->job));
	put_letter(decider, live, news, events[news]);
}

void webhook_task_ended(struct decider *decider, const struct task *task)
{
	json_t *parameters = json_loads(task->row.parameters, 0, NULL);
	const char *url = json_string_value(json_object_get(parameters, "webhook"));
	json_t *about = url ? task_view(&task->row, true) : NULL;

	if (about)
		put(decider, task->row.user, url, "task.ended", "task", about);
	json_decref(parameters);
}

/* ---- sending ---- */

/* 10 s, 30 s, 90 s …: with that setting the last attempt is a day after the first. */
static int64_t wait_ns(const struct decider *decider, int64_t attempts)
{
	int64_t wait = decider->conf->webhook_retry_ns;

	for (int64_t i = 1; i < attempts; i++)
		wait *= 3;
	return wait;
}

/* Where it is missing the name alone, which cannot be started. */
static const char *find_program(struct strata_arena *arena)
{
	static const char *const places[] = { "strata-webhooks",
					      "../libexec/strata/strata-webhooks", NULL };
	const char *path = load_find_program(arena, places);

	return path && strstr(path, places[0]) ? path : places[0];
}

static char *line_of(const struct webhooks *webhooks, const struct delivery *delivery, int64_t now_ns)
{
	char signature[SECRET_TEXT + 64], id[64 + UUID_TEXT_BYTES], event[STRATA_NAME_BYTES_MAX];

	sign(webhooks, delivery, now_ns, signature, sizeof(signature));
	snprintf(id, sizeof(id), "Strata-Delivery: %s", delivery->row.id);
	snprintf(event, sizeof(event), "Strata-Event: %s", delivery->row.event);
	json_t *json = json_pack("{s:s,s:s,s:s,s:[s,s,s,s]}", "id", delivery->row.id, "url",
				 delivery->row.url, "body", delivery->row.body, "headers",
				 "Content-Type: application/json", id, event, signature);
	char *line = json ? json_dumps(json, JSON_COMPACT) : NULL;

	json_decref(json);
	return line;
}

/* False: it could not be handed over. */
static bool hand_to_process(struct decider *decider, const struct delivery *delivery,
			    int64_t now_ns)
{
	struct webhooks *webhooks = decider->webhooks;
	const struct webhook_process_conf conf = { .program = find_program(&decider->scratch),
						   .addresses = decider->conf->webhook_allow,
						   .inbox = &decider->common->inbox };
	struct strata_error err = { 0 };

	if (!webhooks->process && webhook_process_start(&conf, &webhooks->process, &err)) {
		log_warning("webhooks", "%s", err.text);
		return false;
	}
	char *line = line_of(webhooks, delivery, now_ns);

	return line && webhook_process_put(webhooks->process, delivery->row.id, line);
}

static bool hand_to_mailer(struct decider *decider, const struct delivery *delivery)
{
	struct webhooks *webhooks = decider->webhooks;
	const struct mailer_conf conf = { .program = decider->conf->mail_program,
					  .inbox = &decider->common->inbox };
	struct strata_error err = { 0 };

	if (!webhooks->mailer && mailer_start(&conf, &webhooks->mailer, &err)) {
		log_warning("mail", "%s", err.text);
		return false;
	}
	char *text = mailer_letter(delivery->row.url, delivery->row.body);

	return text && mailer_put(webhooks->mailer, delivery->row.id, delivery->row.user, text);
}

static void hand_over(struct decider *decider, struct delivery *delivery, int64_t now_ns)
{
	delivery->with_process = mailer_is_address(delivery->row.url)
					 ? hand_to_mailer(decider, delivery)
					 : hand_to_process(decider, delivery, now_ns);
	/* here only: it is no attempt */
	if (!delivery->with_process)
		delivery->row.due_ns = now_ns + wait_ns(decider, 1);
}

void webhooks_committed(struct decider *decider)
{
	struct webhooks *webhooks = decider->webhooks;
	int64_t now_ns = decider_now_ns(decider);

	if (!webhooks || (!webhooks->fresh && now_ns < webhooks->due_ns))
		return;
	webhooks->fresh = false;
	webhooks->due_ns = INT64_MAX;
	for (struct delivery *at = webhooks->first; at; at = at->next) {
		at->durable = true;
		if (!at->with_process && at->row.due_ns <= now_ns)
			hand_over(decider, at, now_ns);
		if (!at->with_process && at->row.due_ns < webhooks->due_ns)
			webhooks->due_ns = at->row.due_ns;
	}
}

int64_t webhooks_due_ns(const struct decider *decider)
{
	return decider->webhooks ? decider->webhooks->due_ns : INT64_MAX;
}

static void take_result(struct decider *decider, const struct webhook_result *result)
{
	struct webhooks *webhooks = decider->webhooks;
	struct delivery *delivery =
		map_text_get(&webhooks->by_id, result->id, strlen(result->id));

	if (!delivery)
		return;
	assert(delivery->durable);
	delivery->with_process = false;
	if (!result->error) {
		remove_delivery(decider, delivery);
		return;
	}
	delivery->row.attempts++;
	if (result->status == GONE || delivery->row.attempts >= ATTEMPTS_MAX) {
		log_warning("webhooks", "a message of %.60s to %.200s is given up after %lld attempts: %s",
			    delivery->row.user, delivery->row.url, (long long)delivery->row.attempts,
			    result->error);
		remove_delivery(decider, delivery);
		return;
	}
	free((void *)delivery->row.error);
	delivery->row.error = own(result->error);
	delivery->row.due_ns = decider_now_ns(decider) + wait_ns(decider, delivery->row.attempts);
	if (delivery->row.due_ns < webhooks->due_ns)
		webhooks->due_ns = delivery->row.due_ns;
	batch_put(decider, STORE_PUT(&delivery->row));
}

static void take_results(struct decider *decider, struct webhook_result *result)
{
	while (result) {
		struct webhook_result *next = result->next;

		take_result(decider, result);
		webhook_result_free(result);
		result = next;
	}
}

void webhooks_look(struct decider *decider)
{
	struct webhooks *webhooks = decider->webhooks;

	if (webhooks && webhooks->process)
		take_results(decider, webhook_process_take(webhooks->process));
	if (webhooks && webhooks->mailer)
		take_results(decider, mailer_take(webhooks->mailer));
}

/* ---- for the user ---- */

json_t *webhooks_view(struct decider *decider, const char *user)
{
	struct webhooks *webhooks = decider->webhooks;
	char secret[SECRET_TEXT];
	json_t *list = json_array();

	need_key(decider);
	secret_of(webhooks, user, secret);
	for (const struct delivery *at = webhooks->first; at; at = at->next)
		if (strcmp(at->row.user, user) == 0)
			json_array_insert_new(
				list, 0,
				json_pack("{s:s,s:s,s:s,s:I,s:s?,s:o,s:o}", "id", at->row.id, "event",
					  at->row.event, "url", at->row.url, "attempts",
					  (json_int_t)at->row.attempts, "error", at->row.error,
					  "created_at", view_exact_time(at->row.created_ns), "due_at",
					  view_exact_time(at->row.due_ns)));
	json_t *json = json_pack("{s:s,s:o}", "secret", secret, "waiting", list);

	sodium_memzero(secret, sizeof(secret));
	return json;
}
