/* The decider's round, and the queue of requests before it: see server.h. */
#include "server/server.h"

#include "server/reserve.h"
#include "server/route.h"
#include "server/token.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>
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

static struct request *take_requests(struct server *server)
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

static void wait_for_something(struct server *server)
{
	enum { LONGEST_MS = 10000 };
	struct pollfd fds[] = { { .fd = server->wake_fd, .events = POLLIN },
				{ .fd = server->exec->cls->fd(server->exec), .events = POLLIN } };
	int64_t due_ns = strata_cluster_next_ns(server->cluster), now_ns = server_now_ns(server);
	int64_t over_ns = reservations_sweep(server);
	int64_t wait_ms = LONGEST_MS;

	due_ns = over_ns < due_ns ? over_ns : due_ns;
	if (server->batch.count || server->batch.dirty || server->again)
		wait_ms = 0;
	else if (due_ns != INT64_MAX)
		wait_ms = due_ns <= now_ns ? 1 : (due_ns - now_ns) / 1000000 + 1;
	server->again = false;
	poll(fds, 2, (int)(wait_ms < LONGEST_MS ? wait_ms : LONGEST_MS));
}

static void decide_requests(struct server *server)
{
	struct request *request = take_requests(server);

	while (request) {
		struct request *next = request->next;

		request->route->decide(server, request);
		if (request->durable) {
			request->next = server->batch.waiters;
			server->batch.waiters = request;
		} else {
			http_answered(request);
		}
		request = next;
	}
}

static int go_round(struct server *server, struct strata_error *err)
{
	const struct strata_effect *effects = NULL;
	size_t count = 0;

	wait_for_something(server);
	reload_look(server);
	decide_requests(server);
	act_events(server);
	int64_t start_ns = env_now_ns(server->env, ENV_MONOTONIC);
	int rc = strata_cluster_pass(server->cluster, server_now_ns(server), &server->scratch,
				     &effects, &count, err);

	figures_time(&server->figures, FIGURE_PASS,
		     env_now_ns(server->env, ENV_MONOTONIC) - start_ns);

	if (rc && rc != -ENOMEM)
		return rc;
	act_note(server, effects, count);
	token_keep_uses(server);
	rc = batch_commit(server, err);
	if (rc)
		return rc;
	act_do(server, effects, count);
	act_forget(server);
	live_sweep(server);
	server->again = count > 0; /* what was done may have failed at once */
	server->rounds++;
	strata_arena_reset(&server->scratch);
	return 0;
}

int decider_run(struct server *server, struct strata_error *err)
{
	int rc = 0;

	while (rc == 0 && !atomic_load(&server->stopping))
		rc = go_round(server, err);
	struct request *request = take_requests(server);

	while (request) {
		struct request *next = request->next;

		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
			       "the service ends");
		http_answered(request);
		request = next;
	}
	return rc;
}
