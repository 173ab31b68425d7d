/* The decider's round, and the queue of requests before it: see server.h. */
#include "server/server.h"

#include "server/recorder.h"
#include "server/reserve.h"
#include "server/route.h"
#include "server/token.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

bool decider_take(struct server *server, struct request *request)
{
	bool taken;
	uint64_t one = 1;

	pthread_mutex_lock(&server->lock);
	taken = server->waiting < STRATA_SERVER_QUEUE_MAX && !atomic_load(&server->stopping);
	if (taken) {
		request->next = NULL;
		*(server->last ? &server->last->next : &server->first) = request;
		server->last = request;
		server->waiting++;
	}
	pthread_mutex_unlock(&server->lock);
	if (!taken) {
		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
			       "too many requests wait, or the service ends; ask again");
		return false;
	}
	if (write(server->wake_fd, &one, sizeof(one)) < 0)
		return true; /* it is awake */
	return true;
}

struct request *decider_given(struct server *server)
{
	struct request *first;
	uint64_t count;

	if (read(server->wake_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		perror("strata: eventfd");
	pthread_mutex_lock(&server->lock);
	first = server->first;
	server->first = server->last = NULL;
	server->waiting = 0;
	pthread_mutex_unlock(&server->lock);
	return first;
}

void decider_give_back(struct server *server, struct request *first)
{
	struct request *last = first;
	size_t count = 1;

	for (; last->next; last = last->next)
		count++;
	pthread_mutex_lock(&server->lock);
	last->next = server->first;
	server->first = first;
	if (!server->last)
		server->last = last;
	server->waiting += count;
	pthread_mutex_unlock(&server->lock);
	server->again = true;
}

enum { LONGEST_MS = 10000, BEAT_MS = 1000 };

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t ms_until(int64_t then_ns, int64_t now_ns)
{
	return then_ns <= now_ns ? 1 : earlier((then_ns - now_ns) / 1000000 + 1, LONGEST_MS);
}

static void wait_for_something(struct server *server)
{
	struct pollfd fds[] = { { .fd = server->wake_fd, .events = POLLIN },
				{ .fd = server->exec->cls->fd(server->exec), .events = POLLIN } };
	int64_t due_ns =
		earlier(strata_cluster_next_ns(server->cluster), reservations_sweep(server));
	int64_t wait_ms = earlier(LONGEST_MS, retain_wait_ms(server));

	if (store_shared(server->store))
		wait_ms = earlier(wait_ms, BEAT_MS);
	if (server->held)
		wait_ms = ms_until(server->retry_ns, env_now_ns(server->env, ENV_MONOTONIC));
	else if (server->batch.count || server->batch.dirty || server->again)
		wait_ms = 0;
	else if (due_ns != INT64_MAX)
		wait_ms = earlier(wait_ms, ms_until(due_ns, server_now_ns(server)));
	server->again = false;
	poll(fds, 2, (int)wait_ms);
}

/* What is asked while nothing can be written: to read is possible. */
static void decide(struct server *server, struct request *request)
{
	if (server->held && strcmp(request->method, "GET") != 0)
		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
			       "the store is away (%s); nothing was changed: ask again",
			       server->held_why);
	else
		request->route->decide(server, request);
}

static void decide_requests(struct server *server)
{
	struct request *request = decider_given(server);

	while (request) {
		struct request *next = request->next;

		if (batch_is_full(server)) {
			decider_give_back(server, request);
			return;
		}
		decide(server, request);
		if (request->durable && !server->held) {
			request->next = server->batch.waiters;
			server->batch.waiters = request;
		} else {
			http_answered(request);
		}
		request = next;
	}
}

/* Others who could lead see that this one is alive, and it sees that it still leads, with or without something to write. */
static int beat(struct server *server, struct strata_error *err)
{
	int64_t now_ns = env_now_ns(server->env, ENV_MONOTONIC);

	if (server->held || now_ns < server->beat_ns || !store_shared(server->store))
		return 0;
	server->beat_ns = now_ns + BEAT_MS * INT64_C(1000000);
	int rc = store_beat(server->store, server->epoch, err);

	atomic_store(&server->store_down, rc != 0);
	return rc == -ESTALE ? rc : 0;
}

/* While a batch is held nothing is decided: what was is not done yet. */
static int pass(struct server *server, struct strata_error *err)
{
	if (server->held)
		return 0;
	int64_t start_ns = env_now_ns(server->env, ENV_MONOTONIC);
	int rc = strata_cluster_pass(server->cluster, server_now_ns(server), &server->pass,
				     &server->effects, &server->effect_count, err);

	figures_time(&server->figures, FIGURE_PASS,
		     env_now_ns(server->env, ENV_MONOTONIC) - start_ns);
	passes_note(server, start_ns, server->effects, server->effect_count);
	if (rc && rc != -ENOMEM)
		return rc;
	act_note(server, server->effects, server->effect_count);
	token_keep_uses(server);
	return 0;
}

static int go_round(struct server *server, struct strata_error *err)
{
	wait_for_something(server);
	reload_look(server);
	decide_requests(server);
	act_events(server);
	int rc = pass(server, err);

	recorder_write(server);
	if (rc == 0)
		rc = batch_commit(server, err);
	if (rc == 0) {
		act_do(server, server->effects, server->effect_count);
		act_forget(server);
		live_sweep(server);
		server->again |= server->effect_count >
				 0; /* what was done may have failed at once */
		server->effects = NULL;
		server->effect_count = 0;
		strata_arena_reset(&server->pass);
		rc = retain(server, err);
	}
	if (rc == 0)
		rc = beat(server, err);
	server->rounds++;
	strata_arena_reset(&server->scratch);
	return rc == -EAGAIN ? 0 : rc;
}

int decider_run(struct server *server, struct strata_error *err)
{
	int rc = 0;

	while (rc == 0 && !atomic_load(&server->stopping))
		rc = go_round(server, err);
	return rc;
}

void decider_end(struct server *server)
{
	struct request *request = decider_given(server);

	while (request) {
		struct request *next = request->next;

		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
			       "the service ends");
		http_answered(request);
		request = next;
	}
}
