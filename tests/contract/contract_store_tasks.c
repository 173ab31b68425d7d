/*
 * What every back end of the store promises about generation tasks, models and results: rows come back as they were put,
 * pages are complete, retention leaves what another task needs.
 */
#include "postgres_server.h"
#include "store/store.h"
#include "unit/store_sample.h"

#include <errno.h>

static struct strata_memory memory;
static struct strata_error err;

static const char *sqlite_address(void)
{
	static char address[512];

	snprintf(address, sizeof(address), "sqlite:%s/strata.db", test_temp_dir());
	return address;
}

/* A check of every back end. */
#define EACH(name)                             \
	static void name(const char *address); \
	TEST(name##_postgres)                  \
	{                                      \
		name(postgres_server_url());   \
	}                                      \
	TEST(name##_sqlite)                    \
	{                                      \
		name(sqlite_address());        \
	}                                      \
	static void name(const char *address)

static struct store *open_leading(const char *address, uint64_t *ret_epoch)
{
	struct store *store;

	memory = (struct strata_memory){ 0 };
	CHECK_OK(store_open(address, false, &memory, &store, &err));
	CHECK_OK(store_lead(store, NULL, ret_epoch, &err));
	return store;
}

static struct store_task sample_task(int64_t id)
{
	return (struct store_task){
		.id = id,
		.user = id % 2 ? "ada" : "bob",
		.uid = 1000,
		.model = id % 3 ? "digits" : "sdxl",
		.status = "pending",
		.parameters = "{\"prompt\":\"a seven\"}",
		.priority = 5,
		.created_ns = id * 1000,
		.steps = 20,
		.seed = id + 7,
	};
}

static void put_task(struct store *store, const struct store_task *task, uint64_t epoch)
{
	struct store_change change = STORE_PUT(task);

	CHECK_OK(store_apply(store, &change, 1, epoch, &err));
}

EACH(a_task_comes_back_as_it_was_put)
{
	struct store_task task = { .id = 17,
				   .user = "ada",
				   .uid = 1001,
				   .account = "vision",
				   .model = "digits",
				   .status = "finished",
				   .parameters = "{}",
				   .priority = -3,
				   .deadline_ns = 4,
				   .created_ns = 5,
				   .started_ns = 6,
				   .ended_ns = 7,
				   .steps = 20,
				   .steps_done = 19,
				   .attempts = 2,
				   .seed = INT64_MAX,
				   .error = "no memory",
				   .cancelled_by = "root",
				   .cost_ns = 123,
				   .images = "[]" },
			  got;
	struct strata_arena arena;
	int64_t last;
	uint64_t epoch;
	struct store *store = open_leading(address, &epoch);

	strata_arena_init(&arena, &memory, 0);
	put_task(store, &task, epoch);
	CHECK_OK(store_task_get(store, 17, &arena, &got, &err));
	CHECK_INT(got.id, 17);
	CHECK_TEXT(got.user, "ada");
	CHECK_INT(got.uid, 1001);
	CHECK_TEXT(got.account, "vision");
	CHECK_TEXT(got.model, "digits");
	CHECK_TEXT(got.status, "finished");
	CHECK_TEXT(got.parameters, "{}");
	CHECK_INT(got.priority, -3);
	CHECK_INT(got.deadline_ns, 4);
	CHECK_INT(got.created_ns, 5);
	CHECK_INT(got.started_ns, 6);
	CHECK_INT(got.ended_ns, 7);
	CHECK_INT(got.steps, 20);
	CHECK_INT(got.steps_done, 19);
	CHECK_INT(got.attempts, 2);
	CHECK_INT(got.seed, INT64_MAX);
	CHECK_TEXT(got.error, "no memory");
	CHECK_TEXT(got.cancelled_by, "root");
	CHECK_INT(got.cost_ns, 123);
	CHECK_TEXT(got.images, "[]");
	task = sample_task(17); /* a row says what is */
	put_task(store, &task, epoch);
	CHECK_OK(store_task_get(store, 17, &arena, &got, &err));
	CHECK_TEXT(got.images, NULL);
	CHECK_TEXT(got.account, NULL);
	CHECK_OK(store_last(store, STORE_TASK, &last, &err));
	CHECK_INT(last, 17);
	CHECK_ERROR(store_task_get(store, 18, &arena, &got, &err), -ENOENT, "there is no task 18");
	struct store_change removed = STORE_DELETE(&task);

	CHECK_ERROR(store_apply(store, &removed, 1, epoch, &err), -EINVAL, "tasks are not deleted");
	task.model = NULL;
	struct store_change bad = STORE_PUT(&task);

	CHECK_ERROR(store_apply(store, &bad, 1, epoch, &err), -EINVAL, "model is missing");
	strata_arena_fini(&arena);
	store_close(store);
}

static void page(struct store *store, struct store_task_query query, struct sample_ids *ret_found)
{
	ret_found->count = 0;
	CHECK_OK(store_tasks_page(store, &query, sample_take_id, ret_found, &err));
}

EACH(pages_of_tasks_are_complete)
{
	static const char *const statuses[] = { "pending", "failed" };
	const char *many[STRATA_STORE_STATES_MAX + 1];
	struct sample_ids found;
	uint64_t epoch;
	struct store *store = open_leading(address, &epoch);

	for (int64_t id = 1; id <= 30; id++) {
		struct store_task task = sample_task(id);

		if (id > 20) {
			task.status = id % 5 ? "finished" : "failed";
			task.ended_ns = id;
		}
		put_task(store, &task, epoch);
	}
	page(store, (struct store_task_query){ .limit = 12 }, &found);
	CHECK_INT(found.count, 12);
	CHECK_INT(found.ids[11], 12);
	page(store, (struct store_task_query){ .limit = 30, .after = 12 }, &found);
	CHECK_INT(found.count, 18);
	CHECK_INT(found.ids[0], 13);
	page(store, (struct store_task_query){ .limit = 30, .after = 12, .descending = true },
	     &found);
	CHECK_INT(found.count, 11);
	CHECK_INT(found.ids[0], 11);
	page(store, (struct store_task_query){ .limit = 30, .user = "bob", .model = "sdxl" },
	     &found);
	CHECK_INT(found.count, 5);
	CHECK_INT(found.ids[4], 30);
	page(store,
	     (struct store_task_query){ .limit = 30, .statuses = statuses, .status_count = 2 },
	     &found);
	CHECK_INT(found.count, 22);
	CHECK_INT(found.ids[20], 25);
	found.count = 0;
	CHECK_OK(store_load(store, STORE_TASK, &(struct store_filter){ .live = true },
			    sample_take_id, &found, &err));
	CHECK_INT(found.count, 20);
	CHECK_INT(found.ids[0], 1);
	struct store_task_query query = { .limit = STRATA_STORE_PAGE_MAX + 1 };

	CHECK_ERROR(store_tasks_page(store, &query, sample_take_id, &found, &err), -ERANGE,
		    "expected 1 to 10000");
	query = (struct store_task_query){ .limit = 1, .user = "\xff" };
	CHECK_ERROR(store_tasks_page(store, &query, sample_take_id, &found, &err), -EINVAL,
		    "not valid UTF-8");
	for (size_t i = 0; i <= STRATA_STORE_STATES_MAX; i++)
		many[i] = "pending";
	query = (struct store_task_query){ .limit = 1,
					   .statuses = many,
					   .status_count = STRATA_STORE_STATES_MAX };
	CHECK_OK(store_tasks_page(store, &query, sample_take_id, &found, &err));
	query.status_count++;
	CHECK_ERROR(store_tasks_page(store, &query, sample_take_id, &found, &err), -ERANGE,
		    "17 statuses");
	store_close(store);
}

static int take_model(void *context, const void *row, struct strata_error *error)
{
	const struct store_model *model = row;

	(void)error;
	CHECK_TEXT(model->name, "digits");
	CHECK_TEXT(model->settings, "{\"gpus\":0}");
	CHECK_INT(model->paused, 1);
	CHECK_INT(model->created_ns, 9);
	++*(int *)context;
	return 0;
}

EACH(models_are_put_and_deleted)
{
	struct store_model models[] = { { "digits", "{}", 0, 9 }, { "digits", "{\"gpus\":0}", 1, 9 } },
			   gone = { .name = "sdxl", .settings = "{}" };
	struct store_change changes[] = { STORE_PUT(&models[0]), STORE_PUT(&gone),
					  STORE_PUT(&models[1]), STORE_DELETE(&gone) };
	int count = 0;
	uint64_t epoch;
	struct store *store = open_leading(address, &epoch);

	CHECK_OK(store_apply(store, changes, 4, epoch, &err));
	CHECK_OK(store_load(store, STORE_MODEL, NULL, take_model, &count, &err));
	CHECK_INT(count, 1);
	store_close(store);
}

enum { RIGHTS_BYTES = 200 };

struct gone {
	char hashes[8][STORE_HASH_BYTES];
	size_t count;
	int64_t bytes;
};

static int take_gone(void *context, const void *row, struct strata_error *error)
{
	const struct store_gone *one = row;
	struct gone *gone = context;

	(void)error;
	CHECK_TEXT(one->user, sample_task(one->result.task).user);
	gone->bytes += one->result.size_bytes;
	if (one->used)
		return 0;
	CHECK(gone->count < 8);
	snprintf(gone->hashes[gone->count++], STORE_HASH_BYTES, "%s", one->result.hash);
	return 0;
}

/* "5 shared;": each as its task and hash. */
static int take_right(void *context, const void *row, struct strata_error *error)
{
	const struct store_result *one = row;
	char *text = context;
	size_t length = strlen(text);

	(void)error;
	CHECK_INT(one->size_bytes, 100);
	snprintf(text + length, RIGHTS_BYTES - length, "%lld %s;", (long long)one->task, one->hash);
	return 0;
}

static void put_ended(struct store *store, int64_t id, int64_t ended_ns, const char *hash,
		      uint64_t epoch)
{
	struct store_task task = sample_task(id);
	struct store_result result = { .hash = hash, .task = id, .size_bytes = 100 };
	struct store_change changes[] = { STORE_PUT(&task), STORE_PUT(&result) };

	task.ended_ns = ended_ns;
	CHECK_OK(store_apply(store, changes, hash ? 2 : 1, epoch, &err));
}

EACH(old_tasks_are_forgotten_with_what_no_other_needs)
{
	struct sample_ids found = { 0 };
	struct gone gone = { 0 };
	char rights[RIGHTS_BYTES] = "";
	size_t count;
	bool used;
	uint64_t epoch;
	struct store *store = open_leading(address, &epoch);

	put_ended(store, 1, 10, "shared", epoch);
	put_ended(store, 2, 30, "own", epoch);
	put_ended(store, 3, 20, NULL, epoch);
	put_ended(store, 4, 0, NULL, epoch); /* live */
	put_ended(store, 5, 99, "shared", epoch);
	put_ended(store, 6, 1, NULL, epoch); /* the newest: stays */
	CHECK_OK(store_forget_tasks(store, 99, 2, epoch, take_gone, &gone, &count, &err));
	CHECK_INT(count, 2);
	CHECK_INT(gone.count, 0); /* 5 has the same picture */
	CHECK_OK(store_forget_tasks(store, 99, 2, epoch, take_gone, &gone, &count, &err));
	CHECK_INT(count, 1);
	CHECK_INT(gone.count, 1);
	CHECK_TEXT(gone.hashes[0], "own");
	CHECK_OK(store_task_results(store, 5, take_right, rights, &err));
	CHECK_OK(store_task_results(store, 4, take_right, rights, &err));
	CHECK_TEXT(rights, "5 shared;");
	CHECK_OK(store_result_used(store, "own", &used, &err));
	CHECK(!used);
	CHECK_OK(store_result_used(store, "shared", &used, &err));
	CHECK(used);
	CHECK_OK(store_load(store, STORE_TASK, NULL, sample_take_id, &found, &err));
	CHECK_INT(found.count, 3);
	CHECK_INT(found.ids[0], 4);
	CHECK_INT(found.ids[2], 6);
	CHECK_ERROR(store_forget_tasks(store, 99, STRATA_STORE_PAGE_MAX + 1, epoch, take_gone,
				       &gone, &count, &err),
		    -ERANGE, "expected 1 to 10000");
	CHECK_ERROR(store_forget_tasks(store, 99, 1, epoch - 1, take_gone, &gone, &count, &err),
		    -ESTALE, "epoch");
	store_close(store);
}

static int take_sum(void *context, const void *row, struct strata_error *error)
{
	const struct store_result_sum *sum = row;

	(void)error;
	CHECK(strcmp(sum->user, "ada") == 0 || strcmp(sum->user, "bob") == 0);
	*(int64_t *)context += sum->size_bytes;
	return 0;
}

EACH(old_results_are_dropped_and_their_tasks_stay)
{
	struct sample_ids found = { 0 };
	struct store_drop drop = { .before_ns = 50, .bytes = INT64_MAX, .limit = 2 };
	struct gone gone = { 0 };
	int64_t sum = 0;
	size_t count;
	uint64_t epoch;
	struct store *store = open_leading(address, &epoch);

	put_ended(store, 1, 30, "own", epoch);
	put_ended(store, 2, 10, "shared", epoch);
	put_ended(store, 3, 20, NULL, epoch);
	put_ended(store, 4, 0, NULL, epoch); /* live */
	put_ended(store, 5, 60, "shared", epoch);
	put_ended(store, 6, 70, "other", epoch);
	CHECK_OK(store_results_sum(store, take_sum, &sum, &err));
	CHECK_INT(sum, 400);
	CHECK_OK(store_drop_results(store, &drop, epoch, take_gone, &gone, &drop.from_ns, &count,
				    &err));
	CHECK_INT(count, 1);
	CHECK_INT(gone.count, 0); /* 5 has the same picture */
	CHECK_INT(drop.from_ns, 20);
	CHECK_OK(store_drop_results(store, &drop, epoch, take_gone, &gone, &drop.from_ns, &count,
				    &err));
	CHECK_INT(count, 1);
	CHECK_TEXT(gone.hashes[0], "own");
	drop.from_ns = 30;
	CHECK_OK(store_drop_results(store, &drop, epoch, take_gone, &gone, &drop.from_ns, &count,
				    &err));
	CHECK_INT(count, 0);
	CHECK_INT(drop.from_ns, 50); /* as far as was asked */
	drop = (struct store_drop){ .before_ns = 99, .bytes = 1, .limit = 10 };
	CHECK_OK(store_drop_results(store, &drop, epoch, take_gone, &gone, &drop.from_ns, &count,
				    &err));
	CHECK_INT(count, 1); /* no more than is needed */
	CHECK_TEXT(gone.hashes[1], "shared");
	CHECK_INT(drop.from_ns, 70);
	CHECK_INT(gone.bytes, 300);
	sum = 0;
	CHECK_OK(store_results_sum(store, take_sum, &sum, &err));
	CHECK_INT(sum, 100);
	CHECK_OK(store_load(store, STORE_TASK, NULL, sample_take_id, &found, &err));
	CHECK_INT(found.count, 6);
	drop.limit = STRATA_STORE_PAGE_MAX + 1;
	CHECK_ERROR(store_drop_results(store, &drop, epoch, take_gone, &gone, &drop.from_ns, &count,
				       &err),
		    -ERANGE, "expected 1 to 10000");
	drop.limit = 1;
	CHECK_ERROR(store_drop_results(store, &drop, epoch - 1, take_gone, &gone, &drop.from_ns,
				       &count, &err),
		    -ESTALE, "epoch");
	store_close(store);
}

static int use_store(struct strata_memory *failing, void *context, struct strata_error *error)
{
	struct store_task first = sample_task(1), second = sample_task(2), got;
	struct store_result result = { .hash = "h", .task = 1, .size_bytes = 1 };
	struct store_change changes[] = { STORE_PUT(&first), STORE_PUT(&second),
					  STORE_PUT(&result) };
	struct store_task_query query = { .limit = 10 };
	struct sample_ids found = { 0 };
	struct gone gone = { 0 };
	struct strata_arena arena;
	struct store *store;
	uint64_t epoch;
	size_t count;
	int rc = store_open(context, false, failing, &store, error);

	if (rc < 0)
		return rc;
	first.ended_ns = 1;
	strata_arena_init(&arena, failing, 0);
	rc = store_lead(store, NULL, &epoch, error);
	if (rc == 0)
		rc = store_apply(store, changes, 3, epoch, error);
	if (rc == 0)
		rc = store_tasks_page(store, &query, sample_take_id, &found, error);
	if (rc == 0)
		rc = store_task_get(store, 2, &arena, &got, error);
	if (rc == 0)
		rc = store_forget_tasks(store, 5, 10, epoch, take_gone, &gone, &count, error);
	if (rc == 0) {
		test_result_text(got.parameters);
		test_result_int((int64_t)gone.count);
		test_result_int((int64_t)count);
	}
	strata_arena_fini(&arena);
	store_close(store);
	return rc;
}

EACH(tasks_survive_every_failed_allocation)
{
	char copy[512];

	snprintf(copy, sizeof(copy), "%s", address);
	CHECK(test_every_allocation(use_store, copy) > 10);
}
