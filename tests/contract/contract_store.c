/*
 * What every back end of the store promises, the same checks for each: rows come back as they were put, a batch is all or
 * nothing, an older epoch is refused, pages are complete, retention leaves what is needed.
 */
#include "core/buf.h"
#include "postgres_server.h"
#include "random.h"
#include "store/store.h"
#include "unit/store_sample.h"

#include <errno.h>
#include <fnmatch.h>
#include <float.h>
#include <stdlib.h>
#include <unistd.h>

static struct strata_memory memory;
static struct strata_error err;

static const char *sqlite_address(void)
{
	static char address[512];

	snprintf(address, sizeof(address), "sqlite:%s/strata.db", test_temp_dir());
	return address;
}

static const struct {
	const char *name;
	const char *(*address)(void); /* of an empty store */
} back_ends[] = {
	{ "postgres", postgres_server_url },
	{ "sqlite", sqlite_address },
};

/* A check of every back end. */
#define EACH(name)                             \
	static void name(const char *address); \
	TEST(name##_postgres)                  \
	{                                      \
		name(back_ends[0].address());  \
	}                                      \
	TEST(name##_sqlite)                    \
	{                                      \
		name(back_ends[1].address());  \
	}                                      \
	static void name(const char *address)

TEST(every_back_end_is_here)
{
	for (size_t i = 0; store_kind.classes[i]; i++) {
		CHECK(i < 2);
		CHECK_TEXT(store_kind.classes[i]->name, back_ends[i].name);
		CHECK_OK(strata_class_check(store_kind.classes[i], &err));
	}
}

static struct store *open_store(const char *address, bool read_only)
{
	struct store *store;

	memory = (struct strata_memory){ 0 };
	CHECK_OK(store_open(address, read_only, &memory, &store, &err));
	return store;
}

static struct store *open_leading(const char *address, uint64_t *ret_epoch)
{
	struct store *store = open_store(address, false);

	CHECK_OK(store_lead(store, NULL, ret_epoch, &err));
	return store;
}

static void put(struct store *store, struct store_change change, uint64_t epoch)
{
	CHECK_OK(store_apply(store, &change, 1, epoch, &err));
}

/* ---- rows ---- */

struct copies {
	enum store_row kind;
	struct strata_arena arena;
	void *rows[64];
	size_t count;
};

static int take_copy(void *context, const void *row, struct strata_error *error)
{
	struct copies *copies = context;

	CHECK(copies->count < 64);
	copies->rows[copies->count] = store_row_copy(copies->kind, row, &copies->arena);
	return copies->rows[copies->count++] ? 0 : strata_fail_memory(error);
}

static void load(struct store *store, enum store_row kind, const struct store_filter *filter,
		 struct copies *ret_copies)
{
	static struct strata_memory plain;

	*ret_copies = (struct copies){ .kind = kind };
	strata_arena_init(&ret_copies->arena, &plain, 0);
	CHECK_OK(store_load(store, kind, filter, take_copy, ret_copies, &err));
}

static void same_job(const struct store_job *got, const struct store_job *want)
{
	CHECK_INT(got->id, want->id);
	CHECK_TEXT(got->uuid, want->uuid);
	CHECK_TEXT(got->user, want->user);
	CHECK_INT(got->uid, want->uid);
	CHECK_INT(got->gid, want->gid);
	CHECK_TEXT(got->account, want->account);
	CHECK_TEXT(got->partition, want->partition);
	CHECK_TEXT(got->qos, want->qos);
	CHECK_TEXT(got->name, want->name);
	CHECK_TEXT(got->state, want->state);
	CHECK_TEXT(got->reason, want->reason);
	CHECK_INT(got->band, want->band);
	CHECK_INT(got->priority, want->priority);
	CHECK_INT(got->gpu_count, want->gpu_count);
	CHECK_TEXT(got->gpu_type, want->gpu_type);
	CHECK_INT(got->cpu_cores, want->cpu_cores);
	CHECK_INT(got->memory_bytes, want->memory_bytes);
	CHECK_TEXT(got->command, want->command);
	CHECK_TEXT(got->working_dir, want->working_dir);
	CHECK_INT(got->created_ns, want->created_ns);
	CHECK_INT(got->eligible_ns, want->eligible_ns);
	CHECK_INT(got->scheduled_ns, want->scheduled_ns);
	CHECK_INT(got->started_ns, want->started_ns);
	CHECK_INT(got->completed_ns, want->completed_ns);
	CHECK_INT(got->time_limit_ns, want->time_limit_ns);
	CHECK_INT(got->attempt, want->attempt);
	CHECK_INT(got->exit_code, want->exit_code);
	CHECK_INT(got->exit_signal, want->exit_signal);
	CHECK_INT(got->array_id, want->array_id);
	CHECK_INT(got->array_index, want->array_index);
	CHECK_INT(got->gang_id, want->gang_id);
	CHECK_TEXT(got->spec, want->spec);
	CHECK_TEXT(got->script, want->script);
	CHECK_TEXT(got->environment, want->environment);
	CHECK_TEXT(got->place, want->place);
	CHECK_TEXT(got->request_key, want->request_key);
	CHECK_TEXT(got->comment, want->comment);
	CHECK_TEXT(got->stopping, want->stopping);
	CHECK_INT(got->preempted, want->preempted);
	CHECK_TEXT(got->ran_on, want->ran_on);
	CHECK_TEXT(got->cancelled_by, want->cancelled_by);
}

static const struct store_job extreme = {
	.id = INT64_MAX,
	.uuid = "ffffffff-ffff-7fff-bfff-ffffffffffff",
	.user = "o'Brien\"; DROP TABLE jobs; --",
	.uid = INT64_MAX,
	.gid = INT64_MIN,
	.account = "Größe 日本語 🚀",
	.partition = "",
	.qos = "$1 ?1 :a @b %s \\ \\x00",
	.name = "\x01\x1f\x7f line\nline\ttab",
	.state = "queued",
	.reason = "NULL",
	.band = -1,
	.priority = INT64_MIN,
	.gpu_count = INT64_MAX,
	.gpu_type = "a100",
	.cpu_cores = -1,
	.memory_bytes = INT64_MAX,
	.command = "[\"a'b\",\"c\\\"d\"]",
	.working_dir = "/",
	.created_ns = INT64_MIN,
	.eligible_ns = INT64_MAX,
	.scheduled_ns = 1,
	.started_ns = -1,
	.completed_ns = 0,
	.time_limit_ns = INT64_MAX,
	.attempt = 2,
	.exit_code = -3,
	.exit_signal = 9,
	.array_id = 4,
	.array_index = INT64_MIN,
	.gang_id = 6,
	.spec = "{\"a\":null}",
	.place = "[]",
	.request_key = "k",
	.comment = "",
	.stopping = "cancel",
	.preempted = 3,
	.ran_on = "[{\"node\":\"n2\"}]",
	.cancelled_by = "ann",
};

EACH(a_job_comes_back_as_it_was_put)
{
	struct store_job bare = { .id = 1, .uuid = "u", .user = "", .state = "", .command = "[]" };
	struct store_change changes[] = { STORE_PUT(&bare), STORE_PUT(&extreme) };
	uint64_t epoch;
	struct store *store = open_leading(address, &epoch);
	struct copies found;

	CHECK_OK(store_apply(store, changes, 2, epoch, &err));
	load(store, STORE_JOB, NULL, &found);
	CHECK_INT(found.count, 2);
	same_job(found.rows[0], &bare);
	same_job(found.rows[1], &extreme);
	/* Put again it is replaced, in every column; applied twice it is the same. */
	bare = extreme;
	bare.id = 1;
	bare.uuid = "u";
	bare.user = "eve";
	CHECK_OK(store_apply(store, changes, 2, epoch, &err));
	CHECK_OK(store_apply(store, changes, 2, epoch, &err));
	strata_arena_fini(&found.arena);
	load(store, STORE_JOB, NULL, &found);
	CHECK_INT(found.count, 2);
	same_job(found.rows[0], &bare);
	strata_arena_fini(&found.arena);
	store_close(store);
	CHECK_INT(memory.used_bytes, 0);
}

EACH(every_kind_of_row_comes_back)
{
	struct store_step step = { 7, -1, "s", "running", "[]", NULL, 1, 2, 3, 4 };
	struct store_array array = { 7, "ada", 10, 2, 5, "0-9" };
	struct store_event event = { 3, 4, 7, "job.started", "{}" };
	struct store_usage usage = { "", "ada", 0, DBL_MAX, -0.1, DBL_TRUE_MIN, 1e300, 3, 9 };
	struct store_entity entity = { "user", "ada", "vision", "{\"weight\":2}" };
	struct store_token token = { "t1", "hash", "ada", "admin", 1, 2, 3, 4, NULL, "t0" };
	struct store_node node = { "gpu-01", "drained", "fan", 77, NULL };
	struct store_reservation reservation = { "night", 1, 2, "{}" };
	struct store_checkpoint checkpoint = { 7, 1, "/ckpt/7", 1 << 20, 5, 1000 };
	struct store_delivery delivery = {
		"u1", "ada", "job.ended", "http://h", "{}", NULL, 2, 3, 4
	};
	struct store_samples samples = { 7, 2, 77, "{}" };
	struct store_figure figure = { "wait", "band normal", 20000, 61.5, 0, DBL_MAX, 9, "[]" };
	struct store_change changes[] = { STORE_PUT(&step),       STORE_PUT(&array),
					  STORE_PUT(&event),      STORE_PUT(&usage),
					  STORE_PUT(&entity),     STORE_PUT(&token),
					  STORE_PUT(&node),       STORE_PUT(&reservation),
					  STORE_PUT(&checkpoint), STORE_PUT(&delivery),
					  STORE_PUT(&samples),    STORE_PUT(&figure) };
	uint64_t epoch;
	struct store *store = open_leading(address, &epoch);
	struct copies found;

	CHECK_OK(store_apply(store, changes, 12, epoch, &err));
	for (int i = 0; i < 12; i++) {
		load(store, changes[i].kind, NULL, &found);
		CHECK_INT(found.count, 1);
		if (changes[i].kind == STORE_USAGE) {
			const struct store_usage *got = found.rows[0];

			CHECK(got->amount == DBL_MAX && got->gpu_seconds == -0.1);
			CHECK(got->cpu_seconds == DBL_TRUE_MIN &&
			      got->memory_byte_seconds == 1e300);
			CHECK_INT(got->updated_ns, 9);
		} else if (changes[i].kind == STORE_TOKEN) {
			const struct store_token *got = found.rows[0];

			CHECK_TEXT(got->hash, "hash");
			CHECK_INT(got->used_ns, 4);
			CHECK_TEXT(got->comment, NULL);
			CHECK_TEXT(got->made_by, "t0");
		} else if (changes[i].kind == STORE_STEP) {
			const struct store_step *got = found.rows[0];

			CHECK_INT(got->number, -1);
			CHECK_INT(got->exit_signal, 4);
		} else if (changes[i].kind == STORE_CHECKPOINT) {
			const struct store_checkpoint *got = found.rows[0];

			CHECK_TEXT(got->path, "/ckpt/7");
			CHECK_INT(got->step, 1000);
		} else if (changes[i].kind == STORE_DELIVERY) {
			const struct store_delivery *got = found.rows[0];

			CHECK_TEXT(got->url, "http://h");
			CHECK_TEXT(got->error, NULL);
			CHECK_INT(got->due_ns, 4);
		} else if (changes[i].kind == STORE_SAMPLES) {
			const struct store_samples *got = found.rows[0];

			CHECK_TEXT(got->points, "{}");
			CHECK_INT(got->attempt, 2);
		} else if (changes[i].kind == STORE_FIGURE) {
			const struct store_figure *got = found.rows[0];

			CHECK_TEXT(got->of, "band normal");
			CHECK_INT(got->day, 20000);
			CHECK(got->median == 61.5 && got->low == 0 && got->high == DBL_MAX);
			CHECK_TEXT(got->sketch, "[]");
		} else if (changes[i].kind == STORE_ENTITY) {
			const struct store_entity *got = found.rows[0];

			CHECK_TEXT(got->parent, "vision");
			CHECK_TEXT(got->settings, "{\"weight\":2}");
		}
		strata_arena_fini(&found.arena);
	}
	store_close(store);
}

EACH(rows_are_deleted_by_key)
{
	struct store_entity ada = { .kind = "user", .name = "ada" },
			    eve = { .kind = "user", .name = "eve" };
	struct store_entity qos = { .kind = "qos", .name = "ada" };
	struct store_change changes[] = { STORE_PUT(&ada), STORE_PUT(&eve), STORE_PUT(&qos),
					  STORE_DELETE(&ada) };
	struct sample_job sample;
	struct store_change kept = STORE_DELETE(sample_job(&sample, 1));
	uint64_t epoch;
	struct store *store = open_leading(address, &epoch);
	struct copies found;

	CHECK_OK(store_apply(store, changes, 4, epoch, &err));
	put(store, STORE_DELETE(&ada), epoch); /* gone already: as asked */
	load(store, STORE_ENTITY, NULL, &found);
	CHECK_INT(found.count, 2);
	CHECK_TEXT(((const struct store_entity *)found.rows[0])->kind, "qos");
	CHECK_TEXT(((const struct store_entity *)found.rows[1])->name, "eve");
	strata_arena_fini(&found.arena);
	CHECK_ERROR(store_apply(store, &kept, 1, epoch, &err), -EINVAL, "jobs are not deleted");
	store_close(store);
}

EACH(large_texts_and_blobs_come_back)
{
	size_t size = STRATA_STORE_TEXT_BYTES_MAX;
	char *text = malloc(size + 2), hash[STORE_HASH_BYTES];
	struct sample_job sample;
	struct strata_arena arena;
	struct store_blob blob = { .hash = hash, .bytes = text, .size_bytes = size }, got;
	struct store_job job;
	uint64_t epoch;
	struct store *store = open_leading(address, &epoch);

	CHECK(text);
	memset(text, 'x', size + 1);
	text[size + 1] = text[size] = '\0';
	strata_arena_init(&arena, &memory, 0);
	sample_job(&sample, 1);
	sample.row.comment = text;
	put(store, STORE_PUT(&sample.row), epoch);
	CHECK_OK(store_job_get(store, 1, &arena, &job, &err));
	CHECK_TEXT(job.comment, text);
	text[size] = 'x';
	struct store_change large = STORE_PUT(&sample.row);

	CHECK_ERROR(store_apply(store, &large, 1, epoch, &err), -E2BIG,
		    "comment has 4194305 bytes");
	CHECK_TEXT(err.field, "changes[0].comment");
	for (size_t i = 0; i < size; i++)
		text[i] = (char)i; /* zeroes and all */
	store_blob_hash(text, size, hash);
	put(store, STORE_PUT(&blob), epoch);
	CHECK_OK(store_blob_get(store, hash, &arena, &got, &err));
	CHECK_INT(got.size_bytes, size);
	CHECK_BYTES(got.bytes, text, size);
	blob.size_bytes = 0;
	store_blob_hash("", 0, hash);
	put(store, STORE_PUT(&blob), epoch);
	CHECK_OK(store_blob_get(store, hash, &arena, &got, &err));
	CHECK_INT(got.size_bytes, 0);
	hash[0] = 'x';
	CHECK_ERROR(store_blob_get(store, hash, &arena, &got, &err), -ENOENT, "there is no blob x");
	struct store_change wrong = STORE_PUT(&blob);

	CHECK_ERROR(store_apply(store, &wrong, 1, epoch, &err), -EINVAL, "is not the hash of");
	strata_arena_fini(&arena);
	free(text);
	store_close(store);
}

EACH(bad_rows_change_nothing)
{
	struct sample_job good, bad;
	struct store_change changes[] = { STORE_PUT(sample_job(&good, 1)),
					  STORE_PUT(sample_job(&bad, 2)) };
	struct store_usage usage = { .account = "", .user = "", .amount = 1 / 0.0 };
	struct store_change infinite = STORE_PUT(&usage);
	struct sample_ids found = { 0 };
	uint64_t epoch;
	struct store *store = open_leading(address, &epoch);

	bad.row.comment = "\xff";
	CHECK_ERROR(store_apply(store, changes, 2, epoch, &err), -EINVAL,
		    "comment is not valid UTF-8");
	CHECK_TEXT(err.field, "changes[1].comment");
	bad.row.comment = NULL;
	bad.row.user = NULL;
	CHECK_ERROR(store_apply(store, changes, 2, epoch, &err), -EINVAL, "user_id is missing");
	bad.row.user = "ada";
	bad.row.id = 0;
	CHECK_ERROR(store_apply(store, changes, 2, epoch, &err), -EINVAL,
		    "id is 0; expected more than 0");
	bad.row.id = 2;
	bad.row.uuid = good.row.uuid;
	CHECK_ERROR(store_apply(store, changes, 2, epoch, &err), -EEXIST,
		    "another job has this uuid");
	sample_job(&bad, 2);
	bad.row.script = "0000000000000000000000000000000000000000000000000000000000000000";
	CHECK_ERROR(store_apply(store, changes, 2, epoch, &err), -ENOENT,
		    "a blob that is not there");
	CHECK_ERROR(store_apply(store, &infinite, 1, epoch, &err), -EINVAL,
		    "amount is not a finite");
	CHECK_ERROR(store_apply(store, changes, STRATA_STORE_CHANGES_MAX + 1, epoch, &err), -E2BIG,
		    "262145 changes");
	CHECK_OK(store_load(store, STORE_JOB, NULL, sample_take_id, &found, &err));
	CHECK_INT(found.count, 0);
	/* And the store goes on. */
	CHECK_OK(store_apply(store, changes, 1, epoch, &err));
	CHECK_OK(store_apply(store, NULL, 0, epoch, &err));
	store_close(store);
}

EACH(a_batch_may_be_as_large_as_the_limit)
{
	struct store_change *changes = calloc(STRATA_STORE_CHANGES_MAX, sizeof(*changes));
	struct store_event *events = calloc(STRATA_STORE_CHANGES_MAX, sizeof(*events));
	uint64_t epoch;
	struct store *store = open_leading(address, &epoch);
	int64_t last;

	CHECK(changes && events);
	for (int i = 0; i < STRATA_STORE_CHANGES_MAX; i++) {
		events[i] = (struct store_event){ .sequence = i + 1, .kind = "job.queued" };
		changes[i] = STORE_PUT(&events[i]);
	}
	CHECK_OK(store_apply(store, changes, STRATA_STORE_CHANGES_MAX, epoch, &err));
	CHECK_OK(store_last(store, STORE_EVENT, &last, &err));
	CHECK_INT(last, STRATA_STORE_CHANGES_MAX);
	free(changes);
	free(events);
	store_close(store);
}

EACH(a_request_key_is_unique_for_its_user)
{
	struct sample_job one, two, other;
	struct store_change first = STORE_PUT(sample_job(&one, 1));
	struct store_change second = STORE_PUT(sample_job(&two, 2));
	struct store_change third = STORE_PUT(sample_job(&other, 3));
	struct strata_arena arena;
	struct store_job job;
	uint64_t epoch;
	struct store *store = open_leading(address, &epoch);

	strata_arena_init(&arena, &memory, 0);
	one.row.request_key = two.row.request_key = other.row.request_key = "retry-1";
	other.row.user = "eve";
	CHECK_OK(store_apply(store, &first, 1, epoch, &err));
	CHECK_OK(store_apply(store, &first, 1, epoch, &err));
	CHECK_ERROR(store_apply(store, &second, 1, epoch, &err), -EEXIST,
		    "another job of this user has this request key");
	CHECK_TEXT(err.field, "request_key");
	CHECK_OK(store_apply(store, &third, 1, epoch, &err));
	CHECK_OK(store_job_requested(store, "ada", "retry-1", &arena, &job, &err));
	CHECK_INT(job.id, 1);
	CHECK_OK(store_job_requested(store, "eve", "retry-1", &arena, &job, &err));
	CHECK_INT(job.id, 3);
	CHECK_ERROR(store_job_requested(store, "eve", "\xff", &arena, &job, &err), -ENOENT,
		    "no job");
	CHECK_OK(store_job_find(store, one.uuid, &arena, &job, &err));
	CHECK_INT(job.id, 1);
	CHECK_ERROR(store_job_find(store, two.uuid, &arena, &job, &err), -ENOENT, "no job 0189");
	CHECK_ERROR(store_job_get(store, 2, &arena, &job, &err), -ENOENT, "there is no job 2");
	strata_arena_fini(&arena);
	store_close(store);
}

/* ---- the lead ---- */

EACH(an_older_epoch_is_refused)
{
	uint64_t epoch, later, now;
	size_t count;
	struct store *store = open_leading(address, &epoch), *other;

	CHECK_INT(epoch, 1);
	CHECK_OK(sample_put_job(store, 1, epoch, &err));
	CHECK_ERROR(sample_put_job(store, 2, epoch + 1, &err), -ESTALE, "replaced by an older one");
	CHECK_ERROR(sample_put_job(store, 2, 0, &err), -ESTALE, "another server leads");
	CHECK_ERROR(sample_put_job(store, 2, UINT64_MAX, &err), -ESTALE, "older one");
	/* Only one leads. */
	CHECK_OK(store_open(address, false, &memory, &other, &err));
	CHECK_ERROR(store_lead(other, NULL, &later, &err), -EBUSY, "another server");
	CHECK_OK(store_epoch(other, &now, &err));
	CHECK_INT(now, 1);
	store_close(store);
	CHECK_OK(store_lead(other, NULL, &later, &err));
	CHECK_INT(later, 2);
	CHECK_ERROR(sample_put_job(other, 2, epoch, &err), -ESTALE,
		    "at epoch 2, this write carries 1");
	CHECK_ERROR(store_forget(other, 1, 1, epoch, &count, &err), -ESTALE, "epoch");
	CHECK_OK(sample_put_job(other, 2, later, &err));
	store_close(other);
	CHECK_INT(memory.used_bytes, 0);
}

EACH(who_leads_is_written_down)
{
	static const struct store_leader self = { .address = "http://127.0.0.1:8420",
						  .host = "one",
						  .since_ns = 5 };
	struct store_leader found;
	struct strata_arena arena;
	struct store *store;
	uint64_t epoch;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(store_open(address, false, &memory, &store, &err));
	CHECK_OK(store_leader(store, &arena, &found, &err));
	CHECK_INT(found.epoch, 0);
	CHECK_TEXT(found.address, "");
	CHECK_OK(store_lead(store, &self, &epoch, &err));
	CHECK_OK(store_leader(store, &arena, &found, &err));
	CHECK_INT(found.epoch, epoch);
	CHECK_TEXT(found.address, "http://127.0.0.1:8420");
	CHECK_TEXT(found.host, "one");
	CHECK_INT(found.since_ns, 5);
	int64_t beats = found.beats;

	CHECK_OK(store_beat(store, epoch, &err));
	CHECK_OK(store_leader(store, &arena, &found, &err));
	CHECK_INT(found.beats, beats + 1);
	CHECK_ERROR(store_beat(store, epoch - 1, &err), -ESTALE, "another server leads");
	store_close(store);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

EACH(only_a_shared_store_can_be_taken_from_its_leader)
{
	uint64_t early, late;
	struct store *first = open_leading(address, &early), *second;

	CHECK_OK(store_open(address, false, &memory, &second, &err));
	CHECK_ERROR(store_lead(second, NULL, &late, &err), -EBUSY, "another server");
	if (store_shared(second)) {
		CHECK_OK(store_depose(second, &err));
		int rc = -EBUSY;

		for (int i = 0; i < 1000 && rc == -EBUSY; i++, usleep(10000))
			rc = store_lead(second, NULL, &late, &err);
		CHECK_OK(rc);
		CHECK_ERROR(sample_put_job(first, 1, early, &err), -ESTALE, "another server leads");
		CHECK_OK(sample_put_job(second, 1, late, &err));
	} else {
		CHECK_ERROR(store_depose(second, &err), -ENOTSUP, "one server");
		CHECK_OK(sample_put_job(first, 1, early, &err));
	}
	store_close(first);
	store_close(second);
	CHECK_INT(memory.used_bytes, 0);
}

EACH(readers_read_and_do_not_write)
{
	struct sample_ids found = { 0 };
	uint64_t epoch, none;
	struct store *store = open_leading(address, &epoch), *reader;

	CHECK_OK(sample_put_job(store, 1, epoch, &err));
	CHECK_OK(store_open(address, true, &memory, &reader, &err));
	CHECK_OK(sample_put_job(store, 2, epoch, &err));
	CHECK_OK(store_load(reader, STORE_JOB, NULL, sample_take_id, &found, &err));
	CHECK_INT(found.count, 2);
	CHECK_ERROR(sample_put_job(reader, 3, epoch, &err), -EROFS, "read only");
	CHECK_ERROR(store_lead(reader, NULL, &none, &err), -EROFS, "read only");
	store_close(reader);
	store_close(store);
}

/* ---- pages, against a plain list ---- */

enum { HISTORY = 2500 };
static const char *const users[] = { "ada", "eve", "o'Brien" };
static const char *const states[] = { "queued", "running", "completed", "failed" };

static struct sample_job history[HISTORY];

/* Also what the databases take for wildcards of theirs. */
static const char *const job_names[] = { "train", "train_50%", "Trains", "ev_al\\" };
static const char *const patterns[] = { "train", "TRAIN*", "*_*", "*%", "*l\\", "" };

static void fill_history(struct store *store, uint64_t epoch)
{
	static struct store_change changes[HISTORY];
	uint64_t seed = 1;

	for (int i = 0; i < HISTORY; i++) {
		struct store_job *row = &history[i].row;

		sample_job(&history[i], 3 * i + 1);
		row->user = users[random_below(&seed, 3)];
		row->state = states[random_below(&seed, 4)];
		row->account = random_below(&seed, 2) ? "vision" : NULL;
		row->partition = random_below(&seed, 2) ? "gpu" : "cpu";
		row->name = job_names[random_below(&seed, 4)];
		row->array_id = (int64_t)random_below(&seed, 3);
		row->completed_ns = row->state[0] == 'c' || row->state[0] == 'f' ? row->id : 0;
		changes[i] = STORE_PUT(row);
	}
	CHECK_OK(store_apply(store, changes, HISTORY, epoch, &err));
}

static bool meets(const struct store_job *row, const struct store_query *query)
{
	bool state = query->state_count == 0;

	for (size_t i = 0; i < query->state_count; i++)
		state |= strcmp(query->states[i], row->state) == 0;
	return state && (!query->user || strcmp(query->user, row->user) == 0) &&
	       (!query->account || (row->account && strcmp(query->account, row->account) == 0)) &&
	       (!query->partition || strcmp(query->partition, row->partition) == 0) &&
	       (!query->name ||
		fnmatch(query->name, row->name, FNM_CASEFOLD | FNM_NOESCAPE) == 0) &&
	       (!query->since_ns || row->created_ns >= query->since_ns) &&
	       (!query->until_ns || row->created_ns < query->until_ns) &&
	       (!query->array_id || row->array_id == query->array_id);
}

/* Pages to the end and compares with the list. */
static void check_query(struct store *store, struct store_query query)
{
	struct sample_ids found = { 0 };
	size_t before;

	do {
		before = found.count;
		CHECK_OK(store_jobs_page(store, &query, sample_take_id, &found, &err));
		CHECK(found.count - before <= query.limit);
		if (found.count > 0)
			query.after = found.ids[found.count - 1];
	} while (found.count - before == query.limit);
	size_t next = 0;

	for (int i = 0; i < HISTORY; i++) {
		const struct store_job *row = &history[query.descending ? HISTORY - 1 - i : i].row;

		if (!meets(row, &query))
			continue;
		CHECK(next < found.count);
		CHECK_INT(found.ids[next++], row->id);
	}
	CHECK_INT(found.count, next);
}

EACH(pages_are_complete)
{
	uint64_t epoch, seed = 2;
	struct store *store = open_leading(address, &epoch);
	struct store_query query = { .limit = 0 };
	struct sample_ids found = { 0 };

	fill_history(store, epoch);
	for (int i = 0; i < 60; i++) {
		query = (struct store_query){ .limit = 1 + random_below(&seed, 400) };
		if (random_below(&seed, 2))
			query.user = users[random_below(&seed, 3)];
		if (random_below(&seed, 3) == 0)
			query.account = "vision";
		if (random_below(&seed, 3) == 0)
			query.partition = "gpu";
		if (random_below(&seed, 3) == 0)
			query.name = patterns[random_below(&seed, 6)];
		if (random_below(&seed, 3) == 0)
			query.since_ns = 1000 * (int64_t)random_below(&seed, 3 * HISTORY);
		if (random_below(&seed, 3) == 0)
			query.until_ns = 1000 * (int64_t)random_below(&seed, 3 * HISTORY);
		if (random_below(&seed, 4) == 0)
			query.array_id = 1 + (int64_t)random_below(&seed, 3);
		query.states = states + random_below(&seed, 2);
		query.state_count = random_below(&seed, 4);
		query.descending = random_below(&seed, 2);
		check_query(store, query);
	}
	query = (struct store_query){ .limit = STRATA_STORE_PAGE_MAX };
	CHECK_OK(store_jobs_page(store, &query, sample_take_id, &found, &err));
	CHECK_INT(found.count, HISTORY);
	query.limit++;
	CHECK_ERROR(store_jobs_page(store, &query, sample_take_id, &found, &err), -ERANGE, "10001");
	query.limit = 0;
	CHECK_ERROR(store_jobs_page(store, &query, sample_take_id, &found, &err), -ERANGE, "is 0");
	const char *many[STRATA_STORE_STATES_MAX + 1];

	for (int i = 0; i <= STRATA_STORE_STATES_MAX; i++)
		many[i] = "failed";
	query = (struct store_query){ .limit = 1,
				      .states = many,
				      .state_count = STRATA_STORE_STATES_MAX };
	CHECK_OK(store_jobs_page(store, &query, sample_take_id, &found, &err));
	query.state_count++;
	CHECK_ERROR(store_jobs_page(store, &query, sample_take_id, &found, &err), -ERANGE,
		    "17 states");
	query = (struct store_query){ .limit = 1, .user = "\xff" };
	CHECK_ERROR(store_jobs_page(store, &query, sample_take_id, &found, &err), -EINVAL,
		    "user is not valid UTF-8");
	store_close(store);
}

/* ---- ranges, against their elements ---- */

enum { RANGES = 60 };

/* Rows that stand for 1 to 30 elements each; `history` has the elements. How many they are. */
static int fill_ranges(struct store *store, uint64_t epoch)
{
	static struct sample_job rows[RANGES];
	struct store_change changes[RANGES];
	uint64_t seed = 5;
	int count = 0;

	for (int i = 0; i < RANGES; i++) {
		int64_t elements = 1 + (int64_t)random_below(&seed, 30), first = count + 1;
		struct store_job *row = &rows[i].row;
		const char *state = states[random_below(&seed, 4)];

		for (int64_t k = 0; k < elements; k++, count++) {
			sample_job(&history[count], count + 1);
			history[count].row.array_id = first;
			history[count].row.array_index = 7 + 3 * k;
			history[count].row.state = state;
			history[count].row.created_ns = 1000 * first;
			history[count].row.completed_ns = state[0] == 'c' || state[0] == 'f' ? first
											     : 0;
		}
		rows[i] = history[count - 1];
		row->uuid = rows[i].uuid;
		row->elements = elements > 1 || i % 2 ? elements : 0;
		row->index_step = 3;
		changes[i] = STORE_PUT(row);
	}
	CHECK_OK(store_apply(store, changes, RANGES, epoch, &err));
	return count;
}

struct expected {
	int64_t next, step; /* the id that comes next, and the distance to the one behind it */
	const char *state;  /* NULL: any */
	int count;          /* of elements there are */
	size_t seen;
};

static int check_element(void *context, const void *row_any, struct strata_error *error)
{
	const struct store_job *row = row_any, *want;
	struct expected *expected = context;

	(void)error;
	while (expected->state &&
	       strcmp(history[expected->next - 1].row.state, expected->state) != 0)
		expected->next += expected->step;
	CHECK(expected->next >= 1 && expected->next <= expected->count);
	want = &history[expected->next - 1].row;
	CHECK_INT(row->id, want->id);
	CHECK_TEXT(row->uuid, want->uuid);
	CHECK_TEXT(row->state, want->state);
	CHECK_INT(row->array_id, want->array_id);
	CHECK_INT(row->array_index, want->array_index);
	CHECK_INT(row->elements, row->elements < 2 ? row->elements : 0);
	expected->next += expected->step;
	expected->seen++;
	return 0;
}

static void check_pages(struct store *store, int count, uint64_t *seed)
{
	const char *state = random_below(seed, 2) ? states[random_below(seed, 4)] : NULL;
	bool descending = random_below(seed, 2);
	struct store_query query = { .limit = 1 + random_below(seed, 40),
				     .descending = descending,
				     .states = &state,
				     .state_count = state != NULL };
	struct expected expected = { .step = descending ? -1 : 1, .state = state, .count = count };
	size_t wanted = 0, before;

	if (random_below(seed, 2))
		query.after = 1 + (int64_t)random_below(seed, (uint64_t)count);
	expected.next = query.after ? query.after + expected.step : descending ? count : 1;
	for (int64_t id = expected.next; id >= 1 && id <= count; id += expected.step)
		wanted += !state || strcmp(history[id - 1].row.state, state) == 0;
	do {
		before = expected.seen;
		CHECK_OK(store_jobs_page(store, &query, check_element, &expected, &err));
		CHECK(expected.seen - before <= query.limit);
		query.after = expected.next - expected.step;
	} while (expected.seen - before == query.limit && query.after > 0);
	CHECK_INT(expected.seen, wanted);
}

EACH(a_range_is_as_many_rows_as_it_has_elements)
{
	uint64_t epoch, seed = 6;
	struct store *store = open_leading(address, &epoch);
	struct sample_ids found = { 0 };
	struct strata_arena arena;
	struct store_job row;
	int count = fill_ranges(store, epoch);
	int64_t last;

	strata_arena_init(&arena, &memory, 0);
	for (int i = 0; i < 80; i++)
		check_pages(store, count, &seed);
	for (int64_t id = 1; id <= count; id++) {
		CHECK_OK(store_job_get(store, id, &arena, &row, &err));
		CHECK_INT(row.id, id);
		CHECK_INT(row.array_index, history[id - 1].row.array_index);
		CHECK_OK(store_job_find(store, history[id - 1].uuid, &arena, &row, &err));
		CHECK_INT(row.id, id);
	}
	CHECK_ERROR(store_job_get(store, count + 1, &arena, &row, &err), -ENOENT,
		    "there is no job");
	CHECK_ERROR(
		store_job_find(store, "01890000-0000-7000-8000-000000000000", &arena, &row, &err),
		-ENOENT, "there is no job");
	CHECK_OK(store_last(store, STORE_JOB, &last, &err));
	CHECK_INT(last, count);
	CHECK_OK(store_load(store, STORE_JOB, NULL, sample_take_id, &found, &err));
	CHECK_INT(found.count, RANGES); /* as they are stored */
	CHECK_OK(store_job_last(store, 1, found.ids[1], &last, &err));
	CHECK_INT(last, found.ids[1]);
	CHECK_OK(store_job_last(store, found.ids[1] + 1, found.ids[2] - 1, &last, &err));
	CHECK_INT(last, 0);
	strata_arena_fini(&arena);
	store_close(store);
	CHECK_INT(memory.used_bytes, 0);
}

EACH(an_ended_range_is_forgotten_with_what_belongs_to_it)
{
	uint64_t epoch;
	struct store *store = open_leading(address, &epoch);
	struct sample_job range, newest;
	struct store_event begin = { .sequence = 1, .at_ns = 1, .job = 1, .kind = "job.submitted" },
			   other = {
				   .sequence = 2, .at_ns = 1, .job = 11, .kind = "job.submitted"
			   };
	struct sample_ids found = { 0 };
	size_t count;

	sample_job(&range, 10);
	range.row.elements = 10;
	range.row.index_step = 1;
	range.row.completed_ns = 5;
	sample_job(&newest, 11);
	const struct store_change changes[] = { STORE_PUT(&range.row), STORE_PUT(&newest.row),
						STORE_PUT(&begin), STORE_PUT(&other) };

	CHECK_OK(store_apply(store, changes, 4, epoch, &err));
	CHECK_OK(store_forget(store, 6, 100, epoch, &count, &err));
	CHECK_INT(count, 1);
	CHECK_OK(store_load(store, STORE_EVENT, NULL, sample_take_id, &found, &err));
	CHECK_INT(found.count, 1);
	CHECK_INT(found.ids[0], 2);
	store_close(store);
}

EACH(walks_are_complete_and_in_order)
{
	static struct store_step steps[3000];
	static struct store_change changes[3000];
	static const struct store_filter live = { .live = true }, one = { .job = 4 };
	uint64_t epoch;
	struct store *store = open_leading(address, &epoch);
	struct sample_ids found = { 0 };
	size_t next = 0;
	int64_t last;

	fill_history(store, epoch);
	CHECK_OK(store_load(store, STORE_JOB, &live, sample_take_id, &found, &err));
	for (int i = 0; i < HISTORY; i++)
		if (!history[i].row.completed_ns)
			CHECK_INT(found.ids[next++], history[i].row.id);
	CHECK_INT(found.count, next);
	CHECK_OK(store_last(store, STORE_JOB, &last, &err));
	CHECK_INT(last, 3 * (HISTORY - 1) + 1);
	CHECK_OK(store_last(store, STORE_ARRAY, &last, &err));
	CHECK_INT(last, 0);
	/* A key of two numbers, walked over in chunks: job 1 has 500 steps, job 4 the rest. */
	for (int i = 0; i < 3000; i++) {
		steps[i] = (struct store_step){ .job = i < 500 ? 1 : 4,
						.number = i % 2900,
						.state = "" };
		changes[i] = STORE_PUT(&steps[i]);
	}
	CHECK_OK(store_apply(store, changes, 3000, epoch, &err));
	found.count = 0;
	CHECK_OK(store_load(store, STORE_STEP, NULL, sample_take_id, &found, &err));
	CHECK_INT(found.count, 3000);
	CHECK_INT(found.ids[499], 1);
	CHECK_INT(found.ids[500], 4);
	found.count = 0;
	CHECK_OK(store_load(store, STORE_STEP, &one, sample_take_id, &found, &err));
	CHECK_INT(found.count, 2500);
	store_close(store);
}

EACH(keys_of_text_are_in_the_order_of_their_bytes)
{
	static struct store_node nodes[2001];
	static struct store_change changes[2001];
	static char names[2001][16];
	uint64_t epoch;
	struct store *store = open_leading(address, &epoch);
	struct copies found;

	for (int i = 0; i < 40; i++) {
		snprintf(names[i], sizeof(names[i]), "%c%d", i % 2 ? 'a' : 'B', i);
		nodes[i] = (struct store_node){ .name = names[i], .state = "up" };
		changes[i] = STORE_PUT(&nodes[i]);
	}
	CHECK_OK(store_apply(store, changes, 40, epoch, &err));
	load(store, STORE_NODE, NULL, &found);
	CHECK_INT(found.count, 40);
	for (int i = 1; i < 40; i++)
		CHECK(strcmp(((const struct store_node *)found.rows[i - 1])->name,
			     ((const struct store_node *)found.rows[i])->name) < 0);
	strata_arena_fini(&found.arena);
	store_close(store);
}

static int stop_at_two(void *context, const void *row, struct strata_error *error)
{
	(void)row;
	return ++*(int *)context == 2 ? strata_fail(error, -ECANCELED, "enough") : 0;
}

EACH(a_callback_ends_a_walk)
{
	uint64_t epoch;
	struct store *store = open_leading(address, &epoch);
	int count = 0;

	for (int i = 1; i <= 3; i++)
		CHECK_OK(sample_put_job(store, i, epoch, &err));
	CHECK_ERROR(store_load(store, STORE_JOB, NULL, stop_at_two, &count, &err), -ECANCELED,
		    "enough");
	CHECK_INT(count, 2);
	CHECK_OK(sample_put_job(store, 4, epoch, &err));
	store_close(store);
}

EACH(events_are_paged_by_sequence)
{
	uint64_t epoch;
	struct store *store = open_leading(address, &epoch);
	struct sample_ids found = { 0 };

	for (int i = 1; i <= 10; i++) {
		struct store_event event = { .sequence = i * i, .kind = "x", .job = i };

		put(store, STORE_PUT(&event), epoch);
	}
	CHECK_OK(store_events_page(store, 4, 3, sample_take_id, &found, &err));
	CHECK_INT(found.count, 3);
	CHECK_INT(found.ids[0], 9);
	CHECK_INT(found.ids[2], 25);
	CHECK_OK(store_events_page(store, 100, 3, sample_take_id, &found, &err));
	CHECK_INT(found.count, 3);
	CHECK_ERROR(store_events_page(store, 0, 0, sample_take_id, &found, &err), -ERANGE,
		    "limit is 0");
	store_close(store);
}

/* ---- retention ---- */

static void put_ended(struct store *store, int64_t id, int64_t completed_ns, const char *script,
		      int64_t array_id, uint64_t epoch)
{
	struct sample_job sample;
	struct store_step step = { .job = id, .number = 0, .state = "completed" };
	struct store_event event = { .sequence = id, .job = id, .kind = "job.ended" };
	struct store_checkpoint checkpoint = { .job = id, .path = "/c" };
	struct store_change changes[] = { STORE_PUT(sample_job(&sample, id)), STORE_PUT(&step),
					  STORE_PUT(&event), STORE_PUT(&checkpoint) };

	sample.row.completed_ns = completed_ns;
	sample.row.script = script;
	sample.row.array_id = array_id;
	CHECK_OK(store_apply(store, changes, 4, epoch, &err));
}

EACH(retention_forgets_what_nobody_needs)
{
	char shared[STORE_HASH_BYTES], own[STORE_HASH_BYTES];
	struct store_blob blobs[] = { { shared, "shared", 6 }, { own, "own", 3 } }, blob;
	struct store_array array = { .id = 2, .user = "ada" }, newest = { .id = 9, .user = "ada" };
	struct store_event old = { .sequence = 50, .at_ns = 5, .kind = "server.started" };
	struct store_event late = { .sequence = 60, .at_ns = 5, .kind = "server.started" };
	struct store_change changes[6];
	uint64_t epoch;
	size_t count;
	struct store *store = open_leading(address, &epoch);
	struct sample_ids found = { 0 };
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	store_blob_hash("shared", 6, shared);
	store_blob_hash("own", 3, own);
	changes[0] = STORE_PUT(&blobs[0]);
	changes[1] = STORE_PUT(&blobs[1]);
	changes[2] = STORE_PUT(&array);
	changes[3] = STORE_PUT(&newest);
	changes[4] = STORE_PUT(&old);
	changes[5] = STORE_PUT(&late);
	CHECK_OK(store_apply(store, changes, 6, epoch, &err));
	put_ended(store, 1, 10, shared, 0, epoch);
	put_ended(store, 2, 30, own, 2, epoch);
	put_ended(store, 3, 20, NULL, 0, epoch);
	put_ended(store, 4, 0, shared, 0, epoch); /* live */
	put_ended(store, 5, 99, NULL, 0, epoch);
	put_ended(store, 6, 1, NULL, 0, epoch);                    /* the newest: stays */
	CHECK_OK(store_forget(store, 99, 2, epoch, &count, &err)); /* the two that ended first */
	CHECK_INT(count, 3);                                       /* and one event of no job */
	CHECK_OK(store_load(store, STORE_JOB, NULL, sample_take_id, &found, &err));
	CHECK_INT(found.count, 4);
	CHECK_INT(found.ids[0], 2);
	CHECK_OK(store_blob_get(store, shared, &arena, &blob, &err)); /* 4 refers to it */
	CHECK_OK(store_blob_get(store, own, &arena, &blob, &err));
	CHECK_OK(store_forget(store, 99, 2, epoch, &count, &err));
	CHECK_INT(count, 1);
	CHECK_ERROR(store_blob_get(store, own, &arena, &blob, &err), -ENOENT, "no blob");
	CHECK_OK(store_forget(store, 99, STRATA_STORE_PAGE_MAX, epoch, &count, &err));
	CHECK_INT(count, 0);
	static const enum store_row kinds[] = { STORE_JOB, STORE_STEP, STORE_CHECKPOINT };

	for (int i = 0; i < 3; i++) {
		found.count = 0;
		CHECK_OK(store_load(store, kinds[i], NULL, sample_take_id, &found, &err));
		CHECK_INT(found.count, 3);
		CHECK_INT(found.ids[0], 4);
		CHECK_INT(found.ids[2], 6);
	}
	found.count = 0;
	CHECK_OK(store_load(store, STORE_EVENT, NULL, sample_take_id, &found, &err));
	CHECK_INT(found.count, 4);
	CHECK_INT(found.ids[3], 60);
	found.count = 0;
	CHECK_OK(store_load(store, STORE_ARRAY, NULL, sample_take_id, &found, &err));
	CHECK_INT(found.count, 1);
	CHECK_INT(found.ids[0], 9);
	CHECK_ERROR(store_forget(store, 99, STRATA_STORE_PAGE_MAX + 1, epoch, &count, &err),
		    -ERANGE, "expected 1 to 10000");
	strata_arena_fini(&arena);
	store_close(store);
}

static int count_row(void *context, const void *row, struct strata_error *error)
{
	(void)row, (void)error;
	++*(int64_t *)context;
	return 0;
}

static int64_t count_tokens(struct store *store)
{
	int64_t count = 0;

	CHECK_OK(store_load(store, STORE_TOKEN, NULL, count_row, &count, &err));
	return count;
}

EACH(tokens_that_are_over_are_forgotten_a_few_at_a_time)
{
	const struct store_token tokens[] = {
		{ "2", "h2", "ada", "user", .expires_ns = 10 }, /* "9" comes before "10" */
		{ "9", "h9", "ada", "user", .revoked_ns = 10 },
		{ "10", "h10", "ada", "user", .expires_ns = 10 },
		{ "11", "h11", "ada", "user", .expires_ns = 99 },
		{ "12", "h12", "ada", "user" },
		{ "13", "h13", "ada", "user", .expires_ns = 10 }, /* the newest: stays */
	};
	struct store_change changes[6];
	uint64_t epoch;
	size_t count;
	struct store *store = open_leading(address, &epoch);

	for (size_t i = 0; i < 6; i++)
		changes[i] = STORE_PUT(&tokens[i]);
	CHECK_OK(store_apply(store, changes, 6, epoch, &err));
	CHECK_OK(store_forget_tokens(store, 99, 2, epoch, &count, &err));
	CHECK_INT(count, 2);
	CHECK_INT(count_tokens(store), 4);
	CHECK_OK(store_forget_tokens(store, 99, STRATA_STORE_PAGE_MAX, epoch, &count, &err));
	CHECK_INT(count, 1);
	CHECK_OK(store_forget_tokens(store, 99, 2, epoch, &count, &err));
	CHECK_INT(count, 0);
	CHECK_INT(count_tokens(store), 3);
	CHECK_ERROR(store_forget_tokens(store, 99, STRATA_STORE_PAGE_MAX + 1, epoch, &count, &err),
		    -ERANGE, "expected 1 to 10000");
	store_close(store);
}

/* ---- addresses and memory ---- */

TEST(an_address_names_a_back_end)
{
	struct store *store;

	CHECK_ERROR(store_open("", false, &memory, &store, &err), -EINVAL,
		    "is no address of a store");
	CHECK_ERROR(store_open("mysql://x/y", false, &memory, &store, &err), -EINVAL,
		    "\"mysql:\" is no address");
	CHECK_ERROR(store_open("sqlite:", false, &memory, &store, &err), -EINVAL,
		    "expected sqlite:PATH");
	store = open_store(sqlite_address() + strlen("sqlite:"), false);
	CHECK_TEXT(store_class_of(store)->name, "sqlite");
	store_close(store);
	CHECK_INT(memory.used_bytes, 0);
}

static int use_store(struct strata_memory *failing, void *context, struct strata_error *error)
{
	static const struct store_filter live = { .live = true };
	struct sample_job sample;
	struct store_entity ada = { .kind = "user", .name = "ada" };
	struct store_change changes[] = { STORE_PUT(sample_job(&sample, 1)), STORE_DELETE(&ada) };
	struct sample_ids found = { 0 };
	struct store_job job;
	struct strata_arena arena;
	struct store *store;
	uint64_t epoch;
	size_t count;
	int rc = store_open(context, false, failing, &store, error);

	if (rc < 0)
		return rc;
	strata_arena_init(&arena, failing, 0);
	rc = store_lead(store, NULL, &epoch, error);
	if (rc == 0)
		rc = store_apply(store, changes, 2, epoch, error);
	if (rc == 0)
		rc = store_load(store, STORE_JOB, &live, sample_take_id, &found, error);
	if (rc == 0)
		rc = store_job_get(store, 1, &arena, &job, error);
	if (rc == 0)
		rc = store_forget(store, 1, 10, epoch, &count, error);
	if (rc == 0) {
		test_result(found.ids, found.count * sizeof(found.ids[0]));
		test_result_text(job.spec);
		test_result_text(job.state);
		test_result_int((int64_t)count);
	}
	strata_arena_fini(&arena);
	store_close(store);
	return rc;
}

EACH(a_store_survives_every_failed_allocation)
{
	char copy[512];

	snprintf(copy, sizeof(copy), "%s", address);
	CHECK(test_every_allocation(use_store, copy) > 10);
}
