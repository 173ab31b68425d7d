/* Decisions as bytes: what is packed comes out again, what is damaged is refused, what is not due
 * is not done. */
#include "pool_play.h"
#include "random.h"

#include <errno.h>

TEST(a_decision_goes_through_bytes_unchanged)
{
	struct strata_batch batch = { .number = 7,
				      .now_ns = -5,
				      .worker = UINT64_MAX,
				      .passed = 3,
				      .steps = UINT32_MAX,
				      .count = STRATA_BATCH_MAX },
			    again;
	uint8_t bytes[STRATA_BATCH_BYTES];

	for (uint64_t i = 0; i < STRATA_BATCH_MAX; i++)
		batch.tasks[i] = i << 40 | 1;
	strata_batch_pack(&batch, bytes);
	CHECK_OK(strata_batch_unpack(bytes, &again, &err));
	CHECK_BYTES(&again, &batch, sizeof(batch));
	CHECK_INT(bytes[8], 7); /* little-endian on every machine */
	CHECK_INT(bytes[9], 0);
}

TEST(a_damaged_message_is_refused)
{
	struct strata_batch batch = { .number = 1, .count = 1, .tasks = { 5 } },
			    again = { .number = 9 };
	uint8_t bytes[STRATA_BATCH_BYTES];

	for (size_t i = 0; i < STRATA_BATCH_BYTES; i++) {
		strata_batch_pack(&batch, bytes);
		bytes[i] ^= 0x10;
		CHECK_ERROR(strata_batch_unpack(bytes, &again, &err), -EBADMSG, "damaged");
	}
	batch.count = STRATA_BATCH_MAX + 1;
	strata_batch_pack(&batch, bytes);
	CHECK_ERROR(strata_batch_unpack(bytes, &again, &err), -EBADMSG, "33 tasks");
	batch.count = 0;
	batch.wait = (enum strata_wait)STRATA_WAIT_COUNT;
	strata_batch_pack(&batch, bytes);
	CHECK_ERROR(strata_batch_unpack(bytes, &again, &err), -EBADMSG, "the message has the reason");
	CHECK_INT(again.number, 9);
	batch.wait = (enum strata_wait)(STRATA_WAIT_COUNT - 1);
	strata_batch_pack(&batch, bytes);
	CHECK_OK(strata_batch_unpack(bytes, &again, &err));
	CHECK_INT(again.wait, STRATA_WAIT_COUNT - 1);
	again.number = 9;
	CHECK_INT(again.number, 9);
}

/* Rank 0 decides; the others hear of every decision and are in the same state after each. */
TEST(other_ranks_follow)
{
	enum { RANKS = 3 };
	struct strata_pool_conf conf = { .policy = play_spec("fair"), .batch_max = 4 };
	struct strata_pool *ranks[RANKS];
	uint64_t workers[RANKS], tasks[RANKS], seed = 1;
	uint8_t bytes[STRATA_BATCH_BYTES];

	for (int rank = 0; rank < RANKS; rank++) {
		CHECK_OK(strata_pool_new(&conf, &play_memory, &ranks[rank], &err));
		CHECK_OK(strata_pool_set_cap(ranks[rank], 0, 0, 4, &err));
		CHECK_OK(strata_pool_add_worker(ranks[rank], 0, 0, &workers[rank], &err));
	}
	for (int64_t now = 1; now < 500; now++) {
		struct strata_task_request request =
			play_request(now % 3 ? "a" : "b", 1 + (int64_t)random_below(&seed, 5));
		struct strata_batch batch, heard;
		struct strata_done rows[STRATA_BATCH_MAX];

		for (int rank = 0; rank < RANKS; rank++)
			CHECK_OK(strata_pool_add(ranks[rank], &request, now, &tasks[rank], &err));
		CHECK(tasks[0] == tasks[1] && tasks[1] == tasks[2]);
		CHECK_OK(strata_pool_pick(
			ranks[0], &(struct strata_ask){ .worker = workers[0], .free_bytes = -1 },
			now, &batch, NULL, &err));
		strata_batch_pack(&batch, bytes);
		CHECK_OK(strata_batch_unpack(bytes, &heard, &err));
		for (int rank = 1; rank < RANKS; rank++)
			CHECK_OK(strata_pool_apply(ranks[rank], &heard, &err));
		for (uint32_t i = 0; i < batch.count; i++)
			rows[i] = (struct strata_done){ batch.tasks[i],
							now % 2 ? STRATA_DONE_FINISHED
								: STRATA_DONE_STEPS,
							0, SECOND };
		for (int rank = 0; rank < RANKS; rank++)
			CHECK_OK(strata_pool_done(ranks[rank], workers[rank], rows, batch.count,
						  now, &err));
		CHECK(strata_pool_digest(ranks[0]) == strata_pool_digest(ranks[1]));
		CHECK(strata_pool_digest(ranks[0]) == strata_pool_digest(ranks[2]));
	}
	for (int rank = 0; rank < RANKS; rank++)
		strata_pool_free(ranks[rank]);
	play_close();
}

TEST(a_decision_that_is_not_due_is_refused)
{
	play_open("fifo", NULL);
	uint64_t worker = play_worker(0, 0), task = play_add("a", 3, 0),
		 other = play_add("a", 3, 0);
	struct strata_batch batch = {
		.number = 1, .worker = worker, .steps = 1, .count = 1, .tasks = { task }
	};
	struct strata_batch bad = batch;
	uint64_t before = strata_pool_digest(pool);

	bad.number = 2;
	CHECK_ERROR(strata_pool_apply(pool, &bad, &err), -ESTALE, "due is 1");
	bad = batch;
	bad.steps = 5;
	CHECK_ERROR(strata_pool_apply(pool, &bad, &err), -ESTALE, "due is 1 of 1 steps");
	bad = batch;
	bad.worker = 99;
	CHECK_ERROR(strata_pool_apply(pool, &bad, &err), -ESTALE, "worker");
	bad = batch;
	bad.tasks[0] = 99;
	CHECK_ERROR(strata_pool_apply(pool, &bad, &err), -ESTALE, "there is no task");
	bad = batch;
	bad.passed = 98;
	CHECK_ERROR(strata_pool_apply(pool, &bad, &err), -ESTALE, "passed over");
	bad = batch;
	bad.count = 0;
	CHECK_ERROR(strata_pool_apply(pool, &bad, &err), -EINVAL, "0 tasks");
	bad.count = 2;
	bad.tasks[1] = task;
	CHECK_ERROR(strata_pool_apply(pool, &bad, &err), -EINVAL, "twice");
	CHECK(strata_pool_digest(pool) == before);
	CHECK_OK(strata_pool_apply(pool, &batch, &err));
	CHECK_INT(play_status(task), STRATA_TASK_ENCODING);
	batch.number = 2;
	batch.tasks[0] = other;
	CHECK_ERROR(strata_pool_apply(pool, &batch, &err), -ESTALE, "not reported");
	CHECK_OK(strata_pool_cancel(pool, other, 0, &err));
	batch.worker = play_worker(0, 0);
	CHECK_ERROR(strata_pool_apply(pool, &batch, &err), -ESTALE, "cancelled here");
	play_close();
}

/* A coordinator sends that there is nothing to do, too: the other pools hear of the worker, and of when to ask again. */
TEST(nothing_to_do_is_a_decision_like_any_other)
{
	struct strata_pool_conf conf = { .batch_max = 4, .batch_wait_ns = 5 * SECOND };
	uint8_t bytes[STRATA_BATCH_BYTES];
	struct strata_batch batch, heard;
	struct strata_pool *rank;
	struct strata_task_request request = play_request("anna", 3);
	uint64_t worker, task;

	play_open("fifo", &conf);
	conf.policy = play_spec("fifo");
	CHECK_OK(strata_pool_new(&conf, &play_memory, &rank, &err));
	struct strata_pool *both[] = { pool, rank };

	for (int i = 0; i < 2; i++)
		CHECK_OK(strata_pool_add_worker(both[i], 0, 0, &worker, &err));
	const struct strata_ask ask = { .worker = worker, .free_bytes = -1 };

	for (int round = 0; round < 3; round++) {
		if (round == 1) /* it could have mates, and waits for them */
			for (int i = 0; i < 2; i++) {
				CHECK_OK(strata_pool_set_cap(both[i], request.model, request.shape,
							     4, &err));
				CHECK_OK(strata_pool_add(both[i], &request, SECOND, &task, &err));
			}
		CHECK_OK(
			strata_pool_pick(pool, &ask, (1 + 4 * round) * SECOND, &batch, NULL, &err));
		CHECK_INT(batch.count, round == 2);
		CHECK_INT(batch.wait, round == 0   ? STRATA_WAIT_EMPTY
				      : round == 1 ? STRATA_WAIT_BATCH
						   : STRATA_WAIT_NONE);
		CHECK_INT(batch.number, round == 2);
		strata_batch_pack(&batch, bytes);
		CHECK_OK(strata_batch_unpack(bytes, &heard, &err));
		CHECK_INT(heard.until_ns, batch.until_ns);
		CHECK_INT(heard.wait, batch.wait);
		CHECK_OK(strata_pool_apply(rank, &heard, &err));
		CHECK_INT(strata_pool_next_ns(rank), strata_pool_next_ns(pool));
		CHECK(strata_pool_digest(rank) == strata_pool_digest(pool));
	}
	heard.count = heard.steps = 0;
	heard.number = 7;
	CHECK_ERROR(strata_pool_apply(rank, &heard, &err), -ESTALE, "the last here is 1");
	strata_pool_free(rank);
	play_close();
}
