/* The decider's round: see decider.h. */
#include "server/advances.h"
#include "server/decider.h"

#include "server/act.h"
#include "server/deadlines.h"
#include "server/http.h"
#include "server/entities.h"
#include "server/figures.h"
#include "server/live.h"
#include "server/parked.h"
#include "server/recorder.h"
#include "server/reload.h"
#include "server/reservation.h"
#include "server/retain.h"
#include "server/route.h"
#include "server/tasks.h"
#include "server/token.h"
#include "server/task_feed.h"
#include "server/webhooks.h"
#include "server/workers.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <string.h>

void decider_init(struct decider *decider, struct common *common)
{
	decider->common = common;
	decider->conf = common->conf;
	decider->env = common->env;
	strata_arena_init(&decider->confs, &decider->memory, 0);
	strata_arena_init(&decider->scratch, &decider->memory, 0);
	strata_arena_init(&decider->pass, &decider->memory, 0);
	map_u64_init(&decider->jobs, &decider->memory);
	map_text_init(&decider->node_names, &decider->memory);
	map_text_init(&decider->uuids, &decider->memory);
	live_init(decider);
	map_text_init(&decider->gangs, &decider->memory);
	map_text_init(&decider->models, &decider->memory);
	map_u64_init(&decider->tasks, &decider->memory);
	map_text_init(&decider->task_users, &decider->memory);
	map_text_init(&decider->chosen_models, &decider->memory);
	map_text_init(&decider->result_users, &decider->memory);
	map_u64_init(&decider->dropped_tasks, &decider->memory);
	map_u64_init(&decider->workers, &decider->memory);
	map_u64_init(&decider->worker_jobs, &decider->memory);
	map_u64_init(&decider->array_limits, &decider->memory);
	heap_init(&decider->deadlines, &decider->memory, NULL, NULL);
	entities_init(decider);
	batch_init(decider);
}

void decider_fini(struct decider *decider)
{
	map_u64_fini(&decider->jobs);
	map_text_fini(&decider->uuids);
	map_text_fini(&decider->gangs);
	map_text_fini(&decider->models);
	map_u64_fini(&decider->tasks);
	map_text_fini(&decider->task_users);
	map_text_fini(&decider->chosen_models);
	map_text_fini(&decider->result_users);
	map_u64_fini(&decider->dropped_tasks);
	map_u64_fini(&decider->workers);
	map_u64_fini(&decider->worker_jobs);
	map_u64_fini(&decider->array_limits);
	heap_fini(&decider->deadlines);
	batch_fini(decider);
	strata_arena_fini(&decider->pass);
	strata_arena_fini(&decider->scratch);
	strata_arena_fini(&decider->confs);
}

/* ---- the round ---- */

enum { LONGEST_MS = 10000, BEAT_MS = 1000 };

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t ms_until(int64_t then_ns, int64_t now_ns)
{
	return then_ns <= now_ns ? 1 : earlier((then_ns - now_ns) / 1000000 + 1, LONGEST_MS);
}

static void wait_for_something(struct decider *decider)
{
	struct pollfd fds[] = { { .fd = decider->common->inbox.wake_fd, .events = POLLIN },
				{ .fd = decider->exec->cls->fd(decider->exec), .events = POLLIN } };
	int64_t due_ns =
		earlier(strata_cluster_next_ns(decider->cluster), reservations_sweep(decider));
	int64_t wait_ms = earlier(LONGEST_MS, retain_wait_ms(decider));

	due_ns = earlier(due_ns, advances_sweep(decider));
	due_ns = earlier(due_ns, webhooks_due_ns(decider));
	due_ns = earlier(due_ns, deadlines_due_ns(decider));
	if (store_shared(decider->store))
		wait_ms = earlier(wait_ms, BEAT_MS);
	if (decider->batch.held)
		wait_ms =
			ms_until(decider->batch.retry_ns, env_now_ns(decider->env, ENV_MONOTONIC));
	else if (decider->batch.count || decider->batch.dirty || decider->again)
		wait_ms = 0;
	else if (due_ns != INT64_MAX)
		wait_ms = earlier(wait_ms, ms_until(due_ns, decider_now_ns(decider)));
	due_ns = earlier(parked_due_ns(decider), workers_due_ns(decider));
	due_ns = earlier(due_ns, task_feeds_due_ns(decider));
	if (due_ns != INT64_MAX && wait_ms > 0 && !decider->batch.held)
		wait_ms =
			earlier(wait_ms, ms_until(due_ns, env_now_ns(decider->env, ENV_MONOTONIC)));
	decider->again = false;
	poll(fds, 2, (int)wait_ms);
}

/* What is asked while nothing can be written: to read is possible. */
static void decide(struct decider *decider, struct request *request)
{
	if (decider->batch.held && strcmp(request->method, "GET") != 0)
		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
			       "the store is away (%s); nothing was changed: ask again",
			       decider->batch.held_why);
	else
		request->route->decide(decider, request);
}

/* A part of a round that had something to do. */
static void trace_part(const struct decider *decider, const char *name, int64_t start_ns,
		       const char *key, size_t count)
{
	const struct service_trace *trace = &decider->common->trace;

	if (count)
		service_trace_slice(trace, trace->decider, name, start_ns, 0,
				    strata_trace_int(key, (int64_t)count));
}

static void decide_requests(struct decider *decider)
{
	struct request *request = inbox_take(&decider->common->inbox);
	int64_t start_ns = service_trace_now_ns(&decider->common->trace);
	size_t count = 0;

	for (; request; count++) {
		struct request *next = request->next;

		if (batch_is_full(decider)) {
			inbox_give_back(&decider->common->inbox, request);
			decider->again = true;
			break;
		}
		decide(decider, request);
		if (request->parked) {
			/* who parked it answers it */
		} else if (request->durable && !decider->batch.held) {
			batch_wait(decider, request);
		} else {
			http_answered(request);
		}
		request = next;
	}
	trace_part(decider, "requests", start_ns, "requests", count);
}

/* Others who could lead see that this one is alive, and it sees that it still leads, with or
 * without something to write. */
static int beat(struct decider *decider, struct strata_error *err)
{
	int64_t now_ns = env_now_ns(decider->env, ENV_MONOTONIC);

	if (decider->batch.held || now_ns < decider->beat_ns || !store_shared(decider->store))
		return 0;
	decider->beat_ns = now_ns + BEAT_MS * INT64_C(1000000);
	int rc = store_beat(decider->store, decider->epoch, err);

	atomic_store(&decider->common->store_down, rc != 0);
	return rc == -ESTALE ? rc : 0;
}

/* While a batch is held nothing is decided: what was is not done yet. */
static int pass(struct decider *decider, struct strata_error *err)
{
	if (decider->batch.held)
		return 0;
	int64_t start_ns = env_now_ns(decider->env, ENV_MONOTONIC);
	int rc = strata_cluster_pass(decider->cluster, decider_now_ns(decider), &decider->pass,
				     &decider->effects, &decider->effect_count, err);

	int64_t took_ns = env_now_ns(decider->env, ENV_MONOTONIC) - start_ns;

	metrics_time(&decider->common->metrics, METRIC_PASS, took_ns);
	if (decider->effect_count) /* most others had nothing to think about */
		figures_add(decider, FIGURE_PASS, "", (double)took_ns / 1e9);
	passes_note(decider, start_ns, decider->effects, decider->effect_count);
	trace_part(decider, "pass", start_ns, "effects", decider->effect_count);
	if (rc && rc != -ENOMEM)
		return rc;
	act_note(decider, decider->effects, decider->effect_count);
	token_keep_uses(decider);
	return 0;
}

/* What happens by itself: leases end, workers come and go, those who wait hear of it, messages
 * arrive. */
static void look_around(struct decider *decider)
{
	if (decider->batch.held)
		return;
	deadlines_look(decider);
	workers_look(decider);
	parked_look(decider);
	webhooks_look(decider);
	figures_look(decider);
}

static int go_round(struct decider *decider, struct strata_error *err)
{
	wait_for_something(decider);
	reload_look(decider->common);
	decide_requests(decider);
	act_events(decider);
	look_around(decider);
	int rc = pass(decider, err);

	recorder_write(decider);
	if (rc == 0)
		rc = batch_commit(decider, err);
	if (rc == 0) {
		int64_t start_ns = service_trace_now_ns(&decider->common->trace);

		act_do(decider, decider->effects, decider->effect_count);
		trace_part(decider, "carrying out", start_ns, "effects", decider->effect_count);
		act_forget(decider);
		task_feeds_look(decider);
		tasks_committed(decider);
		webhooks_committed(decider);
		live_sweep(decider);
		decider->again |= decider->effect_count >
				  0; /* what was done may have failed at once */
		decider->effects = NULL;
		decider->effect_count = 0;
		strata_arena_reset(&decider->pass);
		rc = retain(decider, err);
	}
	if (rc == 0)
		rc = beat(decider, err);
	decider->rounds++;
	strata_arena_reset(&decider->scratch);
	return rc == -EAGAIN ? 0 : rc;
}

int decider_run(struct decider *decider, struct strata_error *err)
{
	int rc = 0;

	while (rc == 0 && !atomic_load(&decider->common->stopping))
		rc = go_round(decider, err);
	return rc;
}

void decider_end(struct decider *decider)
{
	struct request *request = inbox_end(&decider->common->inbox);

	parked_end(decider, "the service ends");
	while (request) {
		struct request *next = request->next;

		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
			       "the service ends");
		http_answered(request);
		request = next;
	}
}
