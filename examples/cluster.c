/* Which job starts on which GPUs? Two nodes of four; a job waits for both, and a short one fits before it (backfill).
 *	cc cluster.c $(pkg-config --cflags --libs strata) && ./a.out */
#include <strata/cluster.h>

#include <err.h>
#include <stdio.h>

#define MINUTE INT64_C(60000000000)
static struct strata_cluster *cluster;
static struct strata_error why;

static void must(int rc)
{
	if (rc)
		errx(1, "%s", why.text);
}

/* Starts what may start; whoever runs jobs would start them here. */
static void pass(int64_t now_ns, struct strata_arena *arena)
{
	const struct strata_effect *effects;
	size_t count;

	must(strata_cluster_pass(cluster, now_ns, arena, &effects, &count, &why));
	for (size_t i = 0; i < count; i++) {
		printf("minute %2d: job %d starts on %u nodes\n", (int)(now_ns / MINUTE),
		       (int)effects[i].job, effects[i].piece_count);
		must(strata_cluster_started(cluster, effects[i].job, now_ns, &why));
	}
}

int main(void)
{
	static const struct strata_job_request jobs[] = {
		{ .id = 1, .user = "anna", .tasks = 1, .gpus = 4, .time_limit_ns = 60 * MINUTE },
		{ .id = 2, .user = "bert", .tasks = 2, .gpus = 4, .time_limit_ns = 30 * MINUTE },
		{ .id = 3, .user = "anna", .tasks = 1, .gpus = 2, .time_limit_ns = 45 * MINUTE },
	};
	struct strata_node_conf node = { .cpu_milli = 8000, .gpu_count = 4, .gpu_type = "a100" };
	static const char *const names[] = { "n1", "n2" };
	struct strata_memory memory = { 0 };
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	must(strata_cluster_new(&(struct strata_cluster_conf){ 0 }, &memory, &cluster, &why));
	for (int i = 0; i < 2; i++) {
		node.name = names[i];
		must(strata_cluster_add_node(cluster, &node, NULL, &why));
	}
	for (int i = 0; i < 3; i++)
		must(strata_cluster_submit(cluster, &jobs[i], 0, &why));
	pass(0, &arena);
	must(strata_cluster_ended(cluster, 3, STRATA_OUTCOME_COMPLETED, 45 * MINUTE, &why));
	must(strata_cluster_ended(cluster, 1, STRATA_OUTCOME_COMPLETED, 60 * MINUTE, &why));
	pass(60 * MINUTE, &arena);
	strata_cluster_free(cluster);
	strata_arena_fini(&arena);
	return 0;
}
