/*
 * The loop of the scheduler: one thread owns the mirror and decides; watches, requests and the
 * lease have threads of their own. A round is due when something has changed that matters, when the
 * last one said so, and now and then, so that nothing rests on a wake-up that was lost.
 */
#include "pods/pods_scheduler_int.h"

#include "core/env_log.h"

#include <strata/text.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* A round at most so often, and not for more than a quarter of the time; and at least so often. */
#define ROUND_MIN_NS (10 * STRATA_MS_NS)
#define ROUND_MAX_NS (10 * STRATA_SECOND_NS)
/* A pod that was refused is tried again after so long. */
#define AGAIN_NS (10 * STRATA_SECOND_NS)
/* At the end, what is under way is waited for so long. */
#define LAST_NS (5 * STRATA_SECOND_NS)
enum { SCRATCH_BYTES_MAX = 1 << 30, EVENTS_AT_ONCE = 4096, GPUS_BYTES = 80 };

static int64_t monotonic_ns(const struct scheduler *scheduler)
{
	return env_now_ns(scheduler->conf->env, ENV_MONOTONIC);
}

/* ---- what is told ---- */

static void take_object(struct scheduler *scheduler, int source,
			const struct kube_watch_event *event)
{
	bool gone = event->type == KUBE_DELETED;
	struct strata_error err = { 0 };
	int rc = source == ON_NODES
			 ? pods_mirror_node(&scheduler->mirror, event->object, gone, &err)
			 : pods_mirror_pod(&scheduler->mirror, event->object, gone, &err);

	if (rc)
		log_warning("scheduler", "%s %s is left out: %s",
			    source == ON_NODES ? "node" : "pod",
			    kube_text(event->object, "metadata", "name", NULL), err.text);
}

static void take_events(struct scheduler *scheduler, int source)
{
	struct kube_watch_event event;

	for (int i = 0; i < EVENTS_AT_ONCE && kube_watch_next(scheduler->watches[source], &event);
	     i++) {
		switch (event.type) {
		case KUBE_SYNCED:
			if (scheduler->synced[source])
				log_info("scheduler", "%s were listed anew",
					 source == ON_NODES ? "nodes" : "pods");
			scheduler->synced[source] = true;
			scheduler->mirror.changes++;
			break;
		case KUBE_TROUBLE:
			atomic_fetch_add(&scheduler->figures.troubles, 1);
			log_warning("scheduler", "the API server cannot be watched: %s",
				    event.error);
			break;
		case KUBE_FINE:
			log_info("scheduler", "the API server can be watched again");
			break;
		default:
			take_object(scheduler, source, &event);
		}
		json_decref(event.object);
	}
}

static void take_result(struct scheduler *scheduler, const struct pods_result *result)
{
	struct pod *pod = result->uid ? pods_mirror_find(&scheduler->mirror, result->space,
							 result->name, result->uid)
				      : NULL;
	struct pods_figures *figures = &scheduler->figures;

	if (result->outcome == PODS_REFUSED) {
		atomic_fetch_add(&figures->refused, 1);
		log_warning("scheduler", "%s/%s: %s", result->space, result->name, result->error);
	}
	if (result->kind == PODS_ORDER_BIND && result->outcome == PODS_DONE) {
		atomic_fetch_add(&figures->bound, 1);
		atomic_fetch_add(&figures->bind_ns, (uint64_t)result->took_ns);
	}
	if (!pod)
		return;
	if (result->kind == PODS_ORDER_BIND && result->outcome != PODS_DONE) {
		pods_mirror_forget_place(&scheduler->mirror, pod);
		/* the watch will say where it is, or that it is gone; until then it is left
		 * alone */
		pod->refused = true;
		pod->again_ns = env_now_ns(scheduler->conf->env, ENV_REALTIME) + AGAIN_NS;
	}
	if (result->kind == PODS_ORDER_EVICT && result->outcome == PODS_REFUSED) {
		pod->evicting = pod->deleting = false;
		scheduler->mirror.changes++;
	}
}

static void take_results(struct scheduler *scheduler)
{
	struct pods_result result;

	while (pods_ask_next(scheduler->ask, &result))
		take_result(scheduler, &result);
}

/* ---- what is done ---- */

static void print_gpus(uint32_t mask, char ret_text[GPUS_BYTES])
{
	size_t length = 0;

	ret_text[0] = '\0';
	for (int i = 0; i < STRATA_NODE_GPUS_MAX; i++)
		if (mask >> i & 1)
			length += (size_t)snprintf(ret_text + length, GPUS_BYTES - length, "%s%d",
						   length ? "," : "", i);
}

static int order_of(struct scheduler *scheduler, const struct pods_decision *decision,
		    struct strata_error *err)
{
	static const enum pods_order_kind kinds[] = { [PODS_BIND] = PODS_ORDER_BIND,
						      [PODS_EVICT] = PODS_ORDER_EVICT,
						      [PODS_TELL] = PODS_ORDER_TELL };
	const struct pod *pod = decision->pod;
	char gpus[GPUS_BYTES];
	struct pods_order order = {
		.kind = kinds[decision->kind],
		.space = pod->space,
		.name = pod->name,
		.uid = pod->uid,
		.node = decision->node,
		.gpus = decision->gpu_mask ? gpus : NULL,
		.reason = decision->reason,
		.sentence = decision->sentence,
		.count = decision->first ? 1 : 2,
	};

	print_gpus(decision->gpu_mask, gpus);
	return pods_ask_order(scheduler->ask, &order, err);
}

/* The mirror first: an order whose result is there before it is known would be forgotten. */
static int carry_out(struct scheduler *scheduler, const struct pods_decision *decision,
		     int64_t now_ns, struct strata_error *err)
{
	struct pod *pod = decision->pod;
	int rc = 0;

	if (decision->kind == PODS_BIND)
		rc = pods_mirror_assume(&scheduler->mirror, pod, decision->node, decision->gpu_mask,
					now_ns, err);
	if (rc == 0)
		rc = order_of(scheduler, decision, err);
	if (rc && decision->kind == PODS_BIND)
		pods_mirror_forget_place(&scheduler->mirror, pod);
	if (rc == 0 && decision->kind == PODS_EVICT) {
		pod->evicting = pod->deleting = true;
		atomic_fetch_add(&scheduler->figures.evicted, 1);
		log_info("scheduler", "%s/%s is deleted: %s", pod->space, pod->name,
			 decision->sentence);
	}
	if (rc == 0 && decision->kind == PODS_TELL)
		atomic_fetch_add(&scheduler->figures.told, 1);
	return rc == -EAGAIN ? 0 : rc;
}

static void show_figures(struct scheduler *scheduler, const struct pods_plan *plan, int64_t took_ns)
{
	struct pods_figures *figures = &scheduler->figures;

	atomic_store(&figures->waiting, plan->waiting);
	atomic_store(&figures->placed, plan->placed);
	atomic_store(&figures->nodes, plan->node_count);
	atomic_store(&figures->nodes_up, plan->nodes_up);
	atomic_store(&figures->gpus, plan->gpus);
	atomic_store(&figures->gpus_free, plan->gpus_free);
	atomic_fetch_add(&figures->rounds, 1);
	atomic_fetch_add(&figures->round_ns, (uint64_t)took_ns);
	if ((uint64_t)took_ns > atomic_load(&figures->round_max_ns))
		atomic_store(&figures->round_max_ns, (uint64_t)took_ns);
}

static void go_round(struct scheduler *scheduler)
{
	int64_t begun_ns = monotonic_ns(scheduler);
	int64_t now_ns = env_now_ns(scheduler->conf->env, ENV_REALTIME);
	struct strata_error err = { 0 };
	struct pods_plan plan;

	scheduler->decided = scheduler->mirror.changes;
	int rc = pods_round_decide(&scheduler->conf->round, &scheduler->mirror, &scheduler->usage,
				   now_ns, &scheduler->scratch, &plan, &err);

	for (size_t i = 0; rc == 0 && i < plan.count; i++)
		rc = carry_out(scheduler, &plan.decisions[i], now_ns, &err);
	if (rc)
		log_error("scheduler", "the round came to nothing: %s", err.text);
	int64_t ended_ns = monotonic_ns(scheduler), took_ns = ended_ns - begun_ns;

	scheduler->soon_ns = ended_ns + (3 * took_ns > ROUND_MIN_NS ? 3 * took_ns : ROUND_MIN_NS);
	scheduler->due_ns = ended_ns + ROUND_MAX_NS;
	if (rc == 0) {
		show_figures(scheduler, &plan, took_ns);
		if (plan.due_ns > now_ns && plan.due_ns - now_ns < ROUND_MAX_NS)
			scheduler->due_ns = ended_ns + plan.due_ns - now_ns;
	}
	strata_arena_reset(&scheduler->scratch);
}

/* ---- usage ---- */

static void save_usage(struct scheduler *scheduler)
{
	char *text = pods_usage_write(&scheduler->usage);
	struct pods_order order = {
		.kind = PODS_ORDER_SAVE,
		.space = scheduler->conf->space,
		.name = scheduler->usage_name,
		.sentence = text,
	};
	struct strata_error err = { 0 };

	if (!text || pods_ask_order(scheduler->ask, &order, &err))
		log_warning("scheduler", "the usage cannot be saved: out of memory");
	free(text);
	scheduler->saved_ns = monotonic_ns(scheduler);
}

static int read_usage(struct scheduler *scheduler, struct strata_error *err)
{
	struct kube_client *client;
	struct kube_answer answer = { 0 };
	char path[700];
	int rc = kube_client_open(scheduler->conf->config, scheduler->conf->env, &scheduler->memory,
				  &client, err);

	if (rc)
		return rc;
	snprintf(path, sizeof(path), "/api/v1/namespaces/%s/configmaps/%s", scheduler->conf->space,
		 scheduler->usage_name);
	rc = kube_call(client, &(struct kube_request){ .path = path }, &answer, err);
	const char *text = kube_text(answer.body, "data", "usage", NULL);

	if (rc == 0 && *text)
		rc = pods_usage_read(&scheduler->usage, text, err);
	kube_answer_fini(&answer);
	kube_client_close(client);
	return rc == -ENOENT ? 0 : rc;
}

/* It leads from now on. Who used what before is worth a look, but nothing to wait for. */
static void begin_to_lead(struct scheduler *scheduler)
{
	struct strata_error err = { 0 };
	int rc = read_usage(scheduler, &err);

	if (rc)
		log_warning("scheduler", "the usage from before cannot be read: %s", err.text);
	scheduler->leads = true;
	scheduler->saved_ns = monotonic_ns(scheduler);
	scheduler->due_ns = 0;
	atomic_store(&scheduler->figures.leads, true);
	log_info("scheduler", "%s leads; pods with schedulerName: %s are scheduled",
		 scheduler->self, scheduler->conf->rules.scheduler);
}

/* ---- the loop ---- */

static void take_all(struct scheduler *scheduler, const struct pollfd *sources)
{
	eventfd_t count;

	if (sources[ON_NODES].revents)
		take_events(scheduler, ON_NODES);
	if (sources[ON_PODS].revents)
		take_events(scheduler, ON_PODS);
	if (sources[ON_ANSWERS].revents)
		take_results(scheduler);
	if (sources[ON_LEASE].revents)
		(void)!read(sources[ON_LEASE].fd, &count, sizeof(count));
	if (sources[ON_SIGNAL].revents)
		scheduler->ends = true;
}

static bool may_decide(const struct scheduler *scheduler)
{
	return scheduler->leads && scheduler->synced[ON_NODES] && scheduler->synced[ON_PODS];
}

/* When the next round is due, as things are. */
static int64_t next_round_ns(const struct scheduler *scheduler)
{
	if (!may_decide(scheduler))
		return INT64_MAX;
	return scheduler->mirror.changes != scheduler->decided &&
			       scheduler->soon_ns < scheduler->due_ns
		       ? scheduler->soon_ns
		       : scheduler->due_ns;
}

static int wait_ms(const struct scheduler *scheduler)
{
	int64_t now_ns = monotonic_ns(scheduler), until_ns = next_round_ns(scheduler);

	if (until_ns > now_ns + STRATA_SECOND_NS)
		return 1000;
	return until_ns <= now_ns ? 0
				  : (int)((until_ns - now_ns + STRATA_MS_NS - 1) / STRATA_MS_NS);
}

static void beat(struct scheduler *scheduler, int64_t now_ns)
{
	struct pods_figures *figures = &scheduler->figures;

	atomic_store(&figures->beat_ns, now_ns);
	atomic_store(&figures->synced, scheduler->synced[ON_NODES] && scheduler->synced[ON_PODS]);
	atomic_store(&figures->under_way, pods_ask_under_way(scheduler->ask));
	atomic_store(&figures->left_out, pods_ask_left_out(scheduler->ask));
}

static int loop(struct scheduler *scheduler, struct strata_error *err)
{
	struct pollfd sources[SOURCE_COUNT] = {
		[ON_NODES] = { kube_watch_fd(scheduler->watches[ON_NODES]), POLLIN, 0 },
		[ON_PODS] = { kube_watch_fd(scheduler->watches[ON_PODS]), POLLIN, 0 },
		[ON_ANSWERS] = { pods_ask_fd(scheduler->ask), POLLIN, 0 },
		[ON_LEASE] = { pods_lease_fd(scheduler->lease), POLLIN, 0 },
		[ON_SIGNAL] = { scheduler->signals, POLLIN, 0 },
	};

	while (!scheduler->ends) {
		if (poll(sources, SOURCE_COUNT, wait_ms(scheduler)) < 0 && errno != EINTR)
			return strata_fail(err, -errno, "cannot wait: %s", strerror(errno));
		take_all(scheduler, sources);
		if (pods_lease_lost(scheduler->lease))
			return strata_fail(err, -EPERM, "another scheduler leads now");
		if (!scheduler->leads && atomic_load(pods_lease_leads(scheduler->lease)))
			begin_to_lead(scheduler);
		int64_t now_ns = monotonic_ns(scheduler);

		beat(scheduler, now_ns);
		if (now_ns >= next_round_ns(scheduler))
			go_round(scheduler);
		if (scheduler->leads && now_ns >= scheduler->saved_ns + scheduler->conf->save_ns)
			save_usage(scheduler);
	}
	return 0;
}

/* What was ordered is asked for; the usage goes last. */
static void end_well(struct scheduler *scheduler)
{
	int64_t until_ns = monotonic_ns(scheduler) + LAST_NS;

	if (scheduler->leads)
		save_usage(scheduler);
	while (scheduler->leads && pods_ask_under_way(scheduler->ask) &&
	       monotonic_ns(scheduler) < until_ns)
		poll(&(struct pollfd){ pods_ask_fd(scheduler->ask), POLLIN, 0 }, 1, 50),
			take_results(scheduler);
}

/* ---- beginning and end ---- */

int pods_scheduler_run(const struct pods_scheduler_conf *conf, struct strata_error *err)
{
	struct scheduler *scheduler = calloc(1, sizeof(*scheduler));

	if (!scheduler)
		return strata_fail_memory(err);
	scheduler->conf = conf;
	scheduler->signals = -1;
	atomic_store(&scheduler->figures.beat_ns, env_now_ns(conf->env, ENV_MONOTONIC));
	strata_arena_init(&scheduler->scratch, &scheduler->memory, SCRATCH_BYTES_MAX);
	pods_mirror_init(&scheduler->mirror, &scheduler->memory, &conf->rules);
	pods_usage_init(&scheduler->usage, &scheduler->memory, conf->half_life_ns);
	int rc = scheduler_open(scheduler, err);

	if (rc == 0)
		rc = loop(scheduler, err);
	if (rc == 0)
		end_well(scheduler);
	pods_ask_close(scheduler->ask);
	pods_lease_close(scheduler->lease); /* nothing is asked any more: another may lead */
	kube_watch_close(scheduler->watches[ON_NODES]);
	kube_watch_close(scheduler->watches[ON_PODS]);
	pods_ports_close(scheduler->ports);
	pods_usage_fini(&scheduler->usage);
	pods_mirror_fini(&scheduler->mirror);
	strata_arena_fini(&scheduler->scratch);
	if (scheduler->signals >= 0)
		close(scheduler->signals);
	free(scheduler);
	return rc;
}
