/* The laws of resource_aware: loaded models first, within a bound, and never more memory than the
 * budget. */
#include "pool_play.h"
#include "random.h"

#include <errno.h>

#define GIB (INT64_C(1) << 30)

static uint64_t add_model(uint64_t model, int64_t memory_bytes, int64_t now_ns)
{
	struct strata_task_request request = play_request("a", 1);

	request.model = model;
	request.memory_bytes = memory_bytes;
	return play_add_request(&request, now_ns);
}

static uint64_t next_with(uint64_t worker, uint64_t loaded, int64_t now_ns)
{
	struct strata_ask ask = {
		.worker = worker, .free_bytes = -1, .models = &loaded, .model_count = 1
	};
	struct strata_batch batch;

	CHECK_OK(strata_pool_pick(pool, &ask, now_ns, &batch, NULL, &err));
	if (batch.count == 0)
		return 0;
	play_done(&batch, STRATA_DONE_FINISHED, 0, SECOND, now_ns);
	return batch.tasks[0];
}

TEST(a_loaded_model_goes_first_but_not_for_ever)
{
	enum { BOUND = 5 };
	uint64_t others[20];

	play_open("resource_aware", &(struct strata_pool_conf){ .overtake_max = BOUND });
	uint64_t worker = play_worker(0, 0), first = add_model(1, 0, 0);

	for (int i = 0; i < 20; i++)
		others[i] = add_model(2, 0, 1);
	for (int i = 0; i < BOUND; i++)
		CHECK(next_with(worker, 2, 2) == others[i]);
	CHECK(next_with(worker, 2, 2) == first);
	CHECK(next_with(worker, 2, 2) == others[BOUND]);
	CHECK_INT(play_metrics().overtakes, BOUND);
	play_close();
}

TEST(without_a_loaded_model_it_is_fifo)
{
	play_open("resource_aware", NULL);
	uint64_t worker = play_worker(0, 0), first = add_model(1, 0, 0),
		 second = add_model(2, 0, 0);

	CHECK(next_with(worker, 99, 1) == first);
	CHECK(next_with(worker, 2, 1) == second);
	CHECK_INT(next_with(worker, 2, 1), 0);
	play_close();
}

TEST(the_budget_holds_at_the_door_and_on_the_worker)
{
	struct strata_pool_conf conf = { .batch_max = 8 };
	struct strata_task_request request = play_request("a", 1);
	uint64_t task;

	play_open("resource_aware:max_vram_gb=8", &conf);
	uint64_t worker = play_worker(0, 0);

	request.memory_bytes = 8 * GIB + 1;
	CHECK_ERROR(strata_pool_add(pool, &request, 0, &task, &err), -E2BIG, "max_vram_gb");
	CHECK_OK(strata_pool_set_cap(pool, 1, 0, 8, &err));
	for (int i = 0; i < 6; i++)
		add_model(1, 3 * GIB, 0);
	CHECK_INT(play_pick(worker, 0, NULL).count, 2); /* a third would be past it */
	play_close();
}

TEST(a_place_counts_who_may_overtake)
{
	struct strata_position position;
	uint64_t task = 0;

	play_open("resource_aware", &(struct strata_pool_conf){ .overtake_max = 2 });
	for (int i = 0; i < 100; i++)
		task = i == 10 ? add_model(1, 0, i) : (add_model(2, 0, i), task);
	CHECK_OK(strata_pool_position(pool, task, 100, &position, &err));
	CHECK_INT(position.ahead, 10);
	CHECK_INT(position.error, 22); /* each of the eleven fronts may be overtaken twice */
	play_close();
}
