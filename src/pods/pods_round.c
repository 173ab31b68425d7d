/* One round: the cluster is made, told what there is, asked, and what it says is turned into
 * what is to be asked of the API server. */
#include "pods/pods_round.h"

#include <strata/text.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DECISIONS_FIRST = 64 };
#define OVERDUE_NS (5 * STRATA_MINUTE_NS)

bool pods_waits(const struct pod *pod, int64_t now_ns)
{
	return pod->ours && !pod->node && !pod->ended && !pod->deleting && !pod->gated &&
	       !pod->refusal && !(pod->refused && now_ns < pod->again_ns);
}

int pods_round_add(struct pods_round *round, const struct pods_decision *decision)
{
	struct pods_plan *plan = round->plan;

	if (plan->count == round->decision_room) {
		size_t room = round->decision_room ? 2 * round->decision_room : DECISIONS_FIRST;
		struct pods_decision *more = strata_arena_array(round->arena, room, sizeof(*more));

		if (!more)
			return strata_fail_memory(round->err);
		if (plan->count)
			memcpy(more, plan->decisions, plan->count * sizeof(*more));
		plan->decisions = more;
		round->decision_room = room;
	}
	plan->decisions[plan->count++] = *decision;
	return 0;
}

/* ---- the pods in order ---- */

static int compare_pods(const void *a_any, const void *b_any)
{
	const struct pod *a = *(struct pod *const *)a_any, *b = *(struct pod *const *)b_any;

	if (a->created_ns != b->created_ns)
		return a->created_ns < b->created_ns ? -1 : 1;
	return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

static int list_pods(struct pods_round *round)
{
	const struct map_text_entry *at = NULL;
	size_t count = round->mirror->pods.count;

	round->pods = strata_arena_array(round->arena, count, sizeof(*round->pods));
	round->sentences = strata_arena_array(round->arena, count, sizeof(*round->sentences));
	round->submitted = strata_arena_array(round->arena, count, sizeof(*round->submitted));
	if (!round->pods || !round->sentences || !round->submitted)
		return strata_fail_memory(round->err);
	while ((at = map_text_next(&round->mirror->pods, at)))
		round->pods[round->pod_count++] = at->value;
	qsort(round->pods, round->pod_count, sizeof(*round->pods), compare_pods);
	return 0;
}

/* ---- what a pod asks for ---- */

static enum strata_band band_of(const struct pods_round_conf *conf, int64_t priority)
{
	return priority >= conf->high_from  ? STRATA_BAND_HIGH
	       : priority < conf->low_below ? STRATA_BAND_LOW
					    : STRATA_BAND_NORMAL;
}

static const char *user_of(struct pods_round *round, const struct pod *pod)
{
	return strata_arena_printf(round->arena, "%s/%s", pod->space, pod->user);
}

static struct strata_job_request request_of(struct pods_round *round, size_t index,
					    int64_t priority)
{
	const struct pod *pod = round->pods[index];

	return (struct strata_job_request){
		.id = index + 1,
		.user = user_of(round, pod),
		.account = pod->space,
		.band = band_of(round->conf, pod->priority),
		.priority = priority,
		.tasks = 1,
		.cpu_milli = pod->amounts.cpu_milli,
		.memory_bytes = pod->amounts.memory_bytes,
		.gpus = (uint32_t)pod->amounts.gpus,
		.time_limit_ns = pod->time_limit_ns ? pod->time_limit_ns
						    : round->conf->time_limit_ns,
		.requeue = true,
		.preemptible = pod->ours && pod->preemptible && !pod->gang,
	};
}

/* Priorities of Kubernetes are numbers up to 2,000,000,000; their order is all that counts here, so
 * each becomes its rank among those that there are. */
struct ranks {
	int64_t *values;
	size_t count;
};

static int compare_values(const void *a_any, const void *b_any)
{
	int64_t a = *(const int64_t *)a_any, b = *(const int64_t *)b_any;

	return a < b ? -1 : a > b;
}

static int make_ranks(struct pods_round *round, struct ranks *ranks)
{
	size_t kept = 0;

	ranks->values = strata_arena_array(round->arena, round->pod_count, sizeof(int64_t));
	if (!ranks->values)
		return strata_fail_memory(round->err);
	for (size_t i = 0; i < round->pod_count; i++)
		ranks->values[i] = round->pods[i]->priority;
	qsort(ranks->values, round->pod_count, sizeof(int64_t), compare_values);
	for (size_t i = 0; i < round->pod_count; i++)
		if (i == 0 || ranks->values[i] != ranks->values[kept - 1])
			ranks->values[kept++] = ranks->values[i];
	ranks->count = kept;
	return 0;
}

static int64_t rank_of(const struct ranks *ranks, int64_t priority)
{
	const int64_t *at =
		bsearch(&priority, ranks->values, ranks->count, sizeof(int64_t), compare_values);

	return at ? at - ranks->values : 0;
}

/* ---- telling the cluster ---- */

/* How long it is taken to run in all. Nobody ends a pod at its time limit: one that is near it or
 * past it is taken to run as long again as it has, else it would count as gone for ever. */
static int64_t whole_time_ns(int64_t limit_ns, int64_t ran_ns)
{
	return limit_ns > ran_ns + OVERDUE_NS ? limit_ns : 2 * (ran_ns + OVERDUE_NS);
}

/* One that is there already: of ours or of another scheduler. It is charged by pods_usage.c. */
static int adopt(struct pods_round *round, size_t index, struct pods_row *row)
{
	const struct pod *pod = round->pods[index];
	struct strata_job_request request = request_of(round, index, 0);
	struct strata_piece piece = pods_rows_piece(row, pod, (uint32_t)(row - round->rows));
	int64_t since_ns = pod->bound_ns == STRATA_TIME_NONE ? pod->created_ns : pod->bound_ns;
	int rc;

	request.uncharged = true;
	if (!request.user)
		return strata_fail_memory(round->err);
	if (since_ns > round->now_ns)
		since_ns = round->now_ns;
	request.time_limit_ns = whole_time_ns(request.time_limit_ns, round->now_ns - since_ns);
	rc = strata_cluster_submit(round->cluster, &request, round->now_ns, round->err);
	if (rc == 0)
		rc = strata_cluster_adopt(round->cluster, request.id, 1, since_ns, &piece, 1,
					  round->err);
	if (rc == 0 && pod->deleting)
		rc = strata_cluster_stop(round->cluster, request.id, STRATA_STOP_CANCEL,
					 round->now_ns, round->err);
	return rc;
}

/* Two turns: those whose GPUs are known first, so that nobody else is given them. */
static int adopt_all(struct pods_round *round)
{
	for (int turn = 0; turn < 2; turn++)
		for (size_t i = 0; i < round->pod_count; i++) {
			struct pods_row *row;
			int rc = (round->pods[i]->gpu_mask == 0) == (turn == 1) &&
						 pods_rows_placed(round, round->pods[i], &row)
					 ? adopt(round, i, row)
					 : 0;

			if (rc)
				return rc;
			round->plan->placed += turn == 1 && round->pods[i]->ours &&
					       pods_rows_placed(round, round->pods[i], &row);
		}
	return 0;
}

static int submit(struct pods_round *round, size_t index, const struct ranks *ranks)
{
	const struct pod *pod = round->pods[index];
	struct pods_constraint *constraint = pods_rows_constraint(round, pod);
	struct pods_gang *gang;
	struct strata_error err = { 0 };

	round->plan->waiting++;
	if (!pods_gang_admit(round, pod, &gang, &round->sentences[index]))
		return round->sentences[index] ? 0 : strata_fail_memory(round->err);
	struct strata_job_request request = request_of(round, index, rank_of(ranks, pod->priority));

	if (!request.user || !constraint)
		return strata_fail_memory(round->err);
	request.features = constraint->name;
	if (gang) {
		request.gang = gang->number;
		request.gang_size = gang->cluster_size;
	}
	if (gang && gang->first_in_line) {
		request.band = STRATA_BAND_HIGH;
		request.priority = (int64_t)ranks->count;
	}
	int rc = strata_cluster_submit(round->cluster, &request, round->now_ns, &err);

	round->submitted[index] = rc == 0;
	if (rc == 0 || rc == -ENOMEM)
		return rc ? strata_fail_memory(round->err) : 0;
	round->sentences[index] = strata_arena_printf(round->arena, "%s", err.text);
	return round->sentences[index] ? 0 : strata_fail_memory(round->err);
}

static int submit_all(struct pods_round *round)
{
	struct ranks ranks = { 0 };
	int rc = make_ranks(round, &ranks);

	for (size_t i = 0; rc == 0 && i < round->pod_count; i++)
		if (pods_waits(round->pods[i], round->now_ns))
			rc = submit(round, i, &ranks);
	return rc;
}

/* ---- usage ---- */

static int charge(struct pods_round *round)
{
	struct pods_usage *usage = round->usage;
	int64_t from_ns = usage->at_ns ? usage->at_ns : round->now_ns;
	int rc = 0;

	pods_usage_fade(usage, round->now_ns);
	for (size_t i = 0; rc == 0 && i < round->pod_count; i++) {
		const struct pod *pod = round->pods[i];
		struct pods_row *row;
		int64_t since_ns = pod->bound_ns > from_ns ? pod->bound_ns : from_ns;

		if (!pod->ours || !pods_rows_placed(round, pod, &row) || since_ns >= round->now_ns)
			continue;
		const char *user = user_of(round, pod);
		double bill = strata_cluster_bill(round->cluster, (double)pod->amounts.gpus,
						  (double)pod->amounts.cpu_milli / 1000,
						  pod->amounts.memory_bytes);

		rc = user ? pods_usage_charge(usage, user,
					      bill * (double)(round->now_ns - since_ns) /
						      STRATA_HOUR_NS,
					      round->err)
			  : strata_fail_memory(round->err);
	}
	return rc;
}

static int tell_weights(struct pods_round *round)
{
	const struct strata_map *weights = &round->conf->weights;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < weights->count; i++)
		rc = strata_cluster_set_account(round->cluster, weights->keys[i], NULL,
						((const double *)weights->items)[i], NULL,
						round->err);
	return rc;
}

/* Who has used what until now. */
static int tell_usage(struct pods_round *round)
{
	const struct map_text_entry *at = NULL;
	int rc = 0;

	while (rc == 0 && (at = map_text_next(&round->usage->users, at))) {
		const struct pods_used *used = at->value;
		const char *slash = memchr(at->key, '/', at->key_bytes);
		const char *account =
			slash ? strata_arena_text(round->arena, at->key, (size_t)(slash - at->key))
			      : at->key;

		rc = account ? strata_cluster_add_usage(round->cluster, at->key, account,
							used->gpu_hours, round->now_ns, round->err)
			     : strata_fail_memory(round->err);
	}
	return rc;
}

/* ---- what it decided ---- */

static struct pods_gang *gang_of_start(const struct pods_round *round, const struct pod *pod)
{
	return pod->gang ? map_text_get(&round->gangs, pod->gang, strlen(pod->gang)) : NULL;
}

/* Takes the other amounts of all that would start: of two in one pass the second may find no room
 * any more, and its gang with it. */
static void take_others(struct pods_round *round, const struct strata_effect *effects, size_t count,
			bool *failed)
{
	for (size_t i = 0; i < count; i++) {
		if (effects[i].kind != STRATA_EFFECT_START)
			continue;
		const struct pod *pod = round->pods[effects[i].job - 1];
		struct pods_gang *gang = gang_of_start(round, pod);

		failed[i] =
			!pods_rows_take_others(round, &round->rows[effects[i].pieces[0].node], pod);
		if (failed[i] && gang)
			gang->failed = true;
	}
}

static int add_start(struct pods_round *round, const struct strata_effect *effect, bool failed)
{
	struct pod *pod = round->pods[effect->job - 1];
	const struct pods_gang *gang = gang_of_start(round, pod);
	const struct strata_piece *piece = &effect->pieces[0];
	const char *node = round->rows[piece->node].node->name;

	/* the next round, which is due then, finds it another place or says why */
	if (failed && !gang)
		return 0;
	if (gang && gang->failed) {
		round->sentences[effect->job - 1] = strata_arena_printf(
			round->arena, "node %s has no room for all that would go there now", node);
		return round->sentences[effect->job - 1] ? 0 : strata_fail_memory(round->err);
	}
	return pods_round_add(round, &(struct pods_decision){ .kind = PODS_BIND,
							      .pod = pod,
							      .node = node,
							      .gpu_mask = piece->gpu_mask });
}

static int add_stop(struct pods_round *round, const struct strata_effect *effect)
{
	struct pod *pod = round->pods[effect->job - 1];
	const struct pod *for_whom = effect->preemptor ? round->pods[effect->preemptor - 1] : NULL;

	if (pod->deleting || !for_whom || !for_whom->preempts)
		return 0;
	struct pods_decision evict = {
		.kind = PODS_EVICT,
		.pod = pod,
		.reason = "Preempted",
		.sentence = strata_arena_printf(
			round->arena, "makes room for pod %s/%s, whose priority is %lld",
			for_whom->space, for_whom->name, (long long)for_whom->priority),
	};

	return evict.sentence ? pods_round_add(round, &evict) : strata_fail_memory(round->err);
}

static int carry_out(struct pods_round *round)
{
	const struct strata_effect *effects;
	size_t count;
	int rc = strata_cluster_pass(round->cluster, round->now_ns, round->arena, &effects, &count,
				     round->err);
	bool *failed = rc ? NULL : strata_arena_array(round->arena, count, sizeof(*failed));

	if (rc == 0 && !failed)
		return strata_fail_memory(round->err);
	if (rc == 0)
		take_others(round, effects, count, failed);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		if (effects[i].kind == STRATA_EFFECT_START)
			rc = add_start(round, &effects[i], failed[i]);
		else if (effects[i].kind == STRATA_EFFECT_STOP)
			rc = add_stop(round, &effects[i]);
	}
	return rc;
}

/* ---- all of it ---- */

static void measure(struct pods_round *round)
{
	struct strata_cluster_metrics metrics;

	strata_cluster_metrics(round->cluster, &metrics);
	round->plan->node_count = metrics.node_count;
	round->plan->nodes_up = metrics.nodes_up;
	round->plan->gpus = metrics.gpu_milli / 1000;
	round->plan->gpus_free = metrics.gpu_milli_free / 1000;
	round->plan->due_ns = strata_cluster_next_ns(round->cluster);
}

static int decide(struct pods_round *round)
{
	int rc = list_pods(round);

	if (rc == 0)
		rc = pods_rows_make(round);
	if (rc == 0)
		rc = pods_gangs_make(round);
	for (size_t i = 0; rc == 0 && i < round->pod_count; i++)
		if (pods_waits(round->pods[i], round->now_ns) &&
		    !pods_rows_constraint(round, round->pods[i]))
			rc = strata_fail_memory(round->err);
	if (rc == 0)
		rc = pods_rows_add_to_cluster(round);
	if (rc == 0)
		rc = charge(round);
	if (rc == 0)
		rc = tell_weights(round);
	if (rc == 0)
		rc = tell_usage(round);
	if (rc == 0)
		rc = adopt_all(round);
	if (rc == 0)
		rc = submit_all(round);
	if (rc == 0)
		rc = carry_out(round);
	if (rc == 0)
		rc = pods_gangs_take_down(round);
	if (rc == 0)
		rc = pods_tell(round);
	if (rc == 0)
		measure(round);
	return rc;
}

int pods_round_decide(const struct pods_round_conf *conf, struct pods_mirror *mirror,
		      struct pods_usage *usage, int64_t now_ns, struct strata_arena *arena,
		      struct pods_plan *ret_plan, struct strata_error *err)
{
	struct pods_plan plan = { .due_ns = INT64_MAX };
	struct pods_round round = { .conf = conf,
				    .mirror = mirror,
				    .usage = usage,
				    .arena = arena,
				    .err = err,
				    .now_ns = now_ns,
				    .plan = &plan };
	int rc = strata_cluster_new(&conf->cluster, mirror->memory, &round.cluster, err);

	if (rc)
		return rc;
	map_text_init(&round.constraints, mirror->memory);
	map_text_init(&round.gangs, mirror->memory);
	rc = decide(&round);
	map_text_fini(&round.constraints);
	map_text_fini(&round.gangs);
	strata_cluster_free(round.cluster);
	if (rc == 0)
		*ret_plan = plan;
	return rc;
}
