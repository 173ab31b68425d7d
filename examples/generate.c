/* A queue of pictures of two users, worked off step by step: with "fair" they take turns, with "fifo" the first comes first.
 *	cc generate.c $(pkg-config --cflags --libs strata) && ./a.out fair */
#include <strata/pool.h>

#include <stdio.h>
#include <stdlib.h>

static void must(int rc, const struct strata_error *err)
{
	if (rc) {
		fprintf(stderr, "generate: %s\n", err->text);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	static const char *const prompts[] = { "a lighthouse", "a fox", "a harbour", "rain" };
	struct strata_memory memory = { 0 };
	struct strata_pool_metrics metrics;
	struct strata_pool *pool;
	struct strata_error err;
	uint64_t worker, task;
	int64_t now_ns = 0;

	must(strata_pool_build(argc > 1 ? argv[1] : "fifo", &memory, &pool, &err), &err);
	for (int i = 0; i < 4; i++) {
		struct strata_task_request request = { .user = i < 3 ? "anna" : "bert",
						       .priority = STRATA_PRIORITY_DEFAULT,
						       .steps = 4,
						       .cost_ns = 4000000000,
						       .payload = (void *)prompts[i] };

		must(strata_pool_add(pool, &request, now_ns, &task, &err), &err);
	}
	must(strata_pool_add_worker(pool, 0, now_ns, &worker, &err), &err);
	while (!strata_pool_all_finished(pool)) {
		const struct strata_ask ask = { .worker = worker, .free_bytes = -1 };
		struct strata_task_view view;
		struct strata_batch batch;

		must(strata_pool_pick(pool, &ask, now_ns, &batch, NULL, &err), &err);
		must(strata_pool_get(pool, batch.tasks[0], &view, &err), &err);
		now_ns += 1000000000; /* where the model would do batch.steps steps, or decode */
		bool last = view.steps_done == view.steps;
		const struct strata_done done = { batch.tasks[0],
						  last ? STRATA_DONE_FINISHED : STRATA_DONE_STEPS,
						  last ? 0 : batch.steps, 1000000000 };

		must(strata_pool_done(pool, worker, &done, 1, now_ns, &err), &err);
		printf("%2d s  %s: %s, %u of %u steps\n", (int)(now_ns / 1000000000), view.user,
		       (const char *)view.payload, view.steps_done, view.steps);
	}
	strata_pool_metrics(pool, &metrics);
	printf("%llu finished\n", (unsigned long long)metrics.ended[STRATA_TASK_FINISHED]);
	strata_pool_free(pool);
	return 0;
}
