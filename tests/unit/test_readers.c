/* The pool of readers: bounded, shared by threads, opened late. */
#include "store/readers.h"
#include "unit/store_sample.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

static struct strata_memory memory;
static struct strata_error err;
static char address[512];

static void make_store(void)
{
	struct store *store;
	uint64_t epoch;

	memory = (struct strata_memory){ 0 };
	snprintf(address, sizeof(address), "%s/strata.db", test_temp_dir());
	CHECK_OK(store_open(address, false, &memory, &store, &err));
	CHECK_OK(store_lead(store, NULL, &epoch, &err));
	CHECK_OK(sample_put_job(store, 1, epoch, &err));
	store_close(store);
}

TEST(there_are_as_many_as_were_asked_for)
{
	struct store_readers *readers;
	struct store *one, *two, *three;

	make_store();
	CHECK_OK(store_readers_new(address, 2, &memory, &readers, &err));
	CHECK_OK(store_readers_take(readers, 0, &one, &err));
	CHECK_OK(store_readers_take(readers, 0, &two, &err));
	CHECK(one != two);
	CHECK_ERROR(store_readers_take(readers, 1000000, &three, &err), -EAGAIN, "all 2 readers");
	store_readers_give(readers, one);
	store_readers_give(readers, two);
	CHECK_OK(store_readers_take(readers, 0, &three, &err)); /* the warm one */
	CHECK(three == two);
	store_readers_give(readers, three);
	store_readers_free(readers);
	CHECK_ERROR(store_readers_new(address, 0, &memory, &readers, &err), -ERANGE, "0 readers");
	CHECK_ERROR(
		store_readers_new(address, STRATA_STORE_READERS_MAX + 1, &memory, &readers, &err),
		-ERANGE, "257 readers; expected 1 to 256");
	CHECK_OK(store_readers_new(address, STRATA_STORE_READERS_MAX, &memory, &readers, &err));
	store_readers_free(readers);
	store_readers_free(NULL);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_store_that_is_not_there_frees_its_place)
{
	struct store_readers *readers;
	struct store *store;

	snprintf(address, sizeof(address), "%s/none.db", test_temp_dir());
	CHECK_OK(store_readers_new(address, 1, &memory, &readers, &err));
	for (int i = 0; i < 3; i++)
		CHECK_ERROR(store_readers_take(readers, 0, &store, &err), -ENOENT, "none.db");
	store_readers_free(readers);
}

static struct store_readers *shared;
static atomic_int read_count;

static void *read_often(void *context)
{
	(void)context;
	for (int i = 0; i < 50; i++) {
		struct store *store;
		int64_t last = 0;

		if (store_readers_take(shared, INT64_C(60000000000), &store, NULL) == 0) {
			if (store_last(store, STORE_JOB, &last, NULL) == 0 && last == 1)
				atomic_fetch_add(&read_count, 1);
			store_readers_give(shared, store);
		}
	}
	return NULL;
}

TEST(threads_share_them)
{
	pthread_t threads[8];

	make_store();
	read_count = 0;
	CHECK_OK(store_readers_new(address, 3, &memory, &shared, &err));
	for (int i = 0; i < 8; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, read_often, NULL), 0);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	CHECK_INT(read_count, 400);
	store_readers_free(shared);
}

static int make_readers(struct strata_memory *failing, void *context, struct strata_error *error)
{
	struct store_readers *readers = NULL;
	int rc = store_readers_new(context, 4, failing, &readers, error);

	store_readers_free(readers);
	return rc;
}

TEST(an_allocation_may_fail)
{
	test_every_allocation(make_readers, address);
}
