#include "row_sample.h"
#include "table_sample.h"

#include <pthread.h>

enum { ITEMS = 70, THREADS = 8, PIECES_MAX = 256 };

/* ---- a batch ---- */

/* Each item alone by the scalar reference, and all in one call: the same bytes, guards and all. */
static void check_batch(const struct strata_solver_row *const rows[ITEMS],
			enum strata_element element, size_t count, enum strata_isa isa,
			const struct strata_workers *workers)
{
	static struct sample_item alone[ITEMS], together[ITEMS];
	struct strata_solver_item items[ITEMS];
	uint64_t seed = count;

	for (size_t i = 0; i < ITEMS; i++) {
		sample_init(&alone[i], &seed, element, count, i % 2, rows[i]);
		sample_copy(&alone[i], &together[i]);
		items[i] = together[i].item;
		strata_solver_apply(
			&alone[i].item, 1, count,
			&(struct strata_solver_how){ element, STRATA_ISA_SCALAR, NULL });
	}
	strata_solver_apply(items, ITEMS, count,
			    &(struct strata_solver_how){ element, isa, workers });
	for (size_t i = 0; i < ITEMS; i++) {
		CHECK_BYTES(together[i].block, alone[i].block, alone[i].block_bytes);
		sample_fini(&alone[i]);
		sample_fini(&together[i]);
	}
}

/* For all elements and whatever instruction sets this machine has. */
static void check_batches(const struct strata_solver_row *const rows[ITEMS], size_t count,
			  const struct strata_workers *workers)
{
	for (int element = STRATA_F32; element <= STRATA_BF16; element++)
		for (int isa = STRATA_ISA_SCALAR; isa <= STRATA_ISA_AVX512; isa++)
			if (strata_isa_works((enum strata_isa)isa))
				check_batch(rows, (enum strata_element)element, count,
					    (enum strata_isa)isa, workers);
}

TEST(a_batch_of_many_rows_is_each_of_them_alone)
{
	static const size_t counts[] = { 0, 1, 15, 17, 257 };
	struct strata_solver_row rows[ITEMS];
	const struct strata_solver_row *chosen[ITEMS];
	uint64_t seed = 1;

	for (size_t i = 0; i < ITEMS; i++) {
		rows[i] = sample_row(&seed);
		chosen[i] = &rows[i];
	}
	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++)
		check_batches(chosen, counts[c], NULL);
}

TEST(members_may_stand_at_different_rows_of_different_tables)
{
	static const char *const names[] = {
		"ddim",
		"ddim:clip_sample=true",
		"ddim:thresholding=true:sample_max_value=3:prediction_type=v_prediction",
		"euler",
		"euler_ancestral",
		"dpmpp_2m",
		"unipc",
		"heun"
	};
	enum { TABLES = sizeof(names) / sizeof(names[0]) };
	const struct strata_solver_row *rows[ITEMS];
	struct strata_solver_table *tables[TABLES];
	struct strata_memory memory = { 0 };
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	for (size_t t = 0; t < TABLES; t++)
		tables[t] = sample_table(names[t], 9, &memory, &arena);
	for (size_t i = 0; i < ITEMS; i++)
		rows[i] = strata_solver_row_at(tables[i % TABLES], i / TABLES % 9);
	check_batches(rows, 333, NULL);
	for (size_t t = 0; t < TABLES; t++)
		strata_solver_table_free(tables[t], &memory);
	strata_arena_fini(&arena);
}

/* ---- threads ---- */

struct call {
	void (*work)(void *arg, size_t index);
	void *arg;
	size_t index;
};

static void *run_call(void *call_any)
{
	const struct call *call = call_any;

	call->work(call->arg, call->index);
	return NULL;
}

/* As a caller's pool: here a thread for each piece. The context counts them. */
static void run_threads(void *context, void (*work)(void *arg, size_t index), void *arg,
			size_t count)
{
	pthread_t threads[PIECES_MAX];
	struct call calls[PIECES_MAX];

	CHECK(count <= PIECES_MAX);
	*(size_t *)context += count;
	for (size_t i = 0; i < count; i++) {
		calls[i] = (struct call){ work, arg, i };
		CHECK_INT(pthread_create(&threads[i], NULL, run_call, &calls[i]), 0);
	}
	for (size_t i = 0; i < count; i++)
		CHECK_INT(pthread_join(threads[i], NULL), 0);
}

TEST(any_number_of_workers_gives_the_same_bits)
{
	enum { COUNT = 100001 };
	struct strata_solver_row row;
	uint64_t seed = 5;
	size_t pieces = 0;

	do
		row = sample_row(&seed);
	while (!(row.flags & STRATA_ROW_THRESHOLD) || row.write_count < 2);
	for (int element = STRATA_F32; element <= STRATA_BF16; element++) {
		struct sample_item start, alone, shared;

		sample_init(&start, &seed, (enum strata_element)element, COUNT, true, &row);
		sample_copy(&start, &alone);
		struct strata_solver_how how = { (enum strata_element)element, strata_isa_best(),
						 NULL };

		strata_solver_apply(&alone.item, 1, COUNT, &how);
		for (size_t count = 1; count <= 7; count += 2) {
			struct strata_workers workers = { run_threads, &pieces, count };

			sample_copy(&start, &shared);
			how.workers = &workers;
			strata_solver_apply(&shared.item, 1, COUNT, &how);
			CHECK_BYTES(shared.block, alone.block, alone.block_bytes);
			sample_fini(&shared);
		}
		sample_fini(&alone);
		sample_fini(&start);
	}
	CHECK(pieces >= 3 * 3 * 3);
}

TEST(a_small_latent_wakes_nobody)
{
	struct strata_solver_row row = { .next = { .a = 2 } };
	size_t pieces = 0;
	struct strata_workers workers = { run_threads, &pieces, 8 };
	struct sample_item sample;
	uint64_t seed = 1;

	sample_init(&sample, &seed, STRATA_F32, 4 * 64 * 64, true, &row);
	strata_solver_apply(&sample.item, 1, sample.count,
			    &(struct strata_solver_how){ STRATA_F32, strata_isa_best(), &workers });
	CHECK_INT(pieces, 0);
	sample_fini(&sample);
}

/* One table, and one trajectory of each thread. */
struct trajectory {
	const struct strata_solver_table *table;
	float sample[100];
};

static void *run_trajectory(void *trajectory_any)
{
	enum { COUNT = 100 };
	struct trajectory *run = trajectory_any;
	float output[COUNT], memory[STRATA_SOLVER_SLOTS_MAX][COUNT];
	void *slots[STRATA_SOLVER_SLOTS_MAX];

	for (size_t k = 0; k < STRATA_SOLVER_SLOTS_MAX; k++)
		slots[k] = memory[k];
	for (size_t i = 0; i < COUNT; i++)
		run->sample[i] = (float)run->table->init_noise_sigma * ((float)i / COUNT - 0.5f);
	for (size_t r = 0; r < run->table->row_count; r++) {
		const struct strata_solver_row *row = strata_solver_row_at(run->table, r);
		struct strata_solver_item item = { row,         run->sample, output,
						   run->sample, slots,       NULL };

		for (size_t i = 0; i < COUNT; i++)
			output[i] = (float)row->input_scale * run->sample[i] * 0.9f;
		strata_solver_apply(
			&item, 1, COUNT,
			&(struct strata_solver_how){ STRATA_F32, strata_isa_best(), NULL });
	}
	return NULL;
}

/* What this is worth is seen with SAN=thread. */
TEST(many_threads_share_one_table)
{
	static struct trajectory runs[THREADS];
	struct strata_solver_table *table;
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	pthread_t threads[THREADS];

	strata_arena_init(&arena, &memory, 0);
	table = sample_table("unipc", 30, &memory, &arena);
	for (size_t i = 0; i < THREADS; i++) {
		runs[i].table = table;
		CHECK_INT(pthread_create(&threads[i], NULL, run_trajectory, &runs[i]), 0);
	}
	for (size_t i = 0; i < THREADS; i++)
		CHECK_INT(pthread_join(threads[i], NULL), 0);
	for (size_t i = 1; i < THREADS; i++)
		CHECK_BYTES(runs[i].sample, runs[0].sample, sizeof(runs[0].sample));
	CHECK(runs[0].sample[99] > -1000 && runs[0].sample[99] < 1000);
	strata_solver_table_free(table, &memory);
	strata_arena_fini(&arena);
}
