#include "worker_world.h"

#include <strata/text.h>

static struct strata_error err;
static struct world world;
static char last_path[128], last_body[1 << 12];
static const char *reply;
static const struct worker_held nothing;
static int reply_rc;

static int post(struct world *own, const char *path, const json_t *body, json_t **ret_json,
		struct strata_error *why)
{
	char *text = json_dumps(body, JSON_COMPACT | JSON_SORT_KEYS);

	(void)own;
	snprintf(last_path, sizeof(last_path), "%s", path);
	snprintf(last_body, sizeof(last_body), "%s", text ? text : "no memory");
	free(text);
	if (reply_rc)
		return strata_fail(why, reply_rc, "not now");
	*ret_json = json_loads(reply, JSON_DECODE_ANY, NULL);
	return *ret_json ? 0 : strata_fail_memory(why);
}

static struct worker_link open_world(const char *text)
{
	world = (struct world){ .post = post };
	reply = text;
	reply_rc = 0;
	return world_link(&world);
}

TEST(a_pick_says_what_is_held_and_reads_what_is_to_do)
{
	struct worker_link link = open_world(
		"{\"steps\":4,\"tasks\":[{\"id\":17,\"steps_done\":3,\"parameters\":{\"prompt\":"
		"\"x\"},\"seed\":123,\"later\":1},{\"id\":18,\"parameters\":{}}],\"drop\":[16],"
		"\"stop\":false,\"lease_ms\":30000,\"later\":[]}");
	const struct worker_held held = { { 17, 16 }, { 3, 0 }, 2 };
	struct worker_pick pick;

	CHECK_OK(worker_api_pick(&link, &held, 500, 7, &pick, &err));
	CHECK_TEXT(last_path, "/api/v1/worker/pick");
	CHECK_TEXT(
		last_body,
		"{\"ask_ns\":7,\"free_bytes\":-1,\"holding\":[17,16],\"holding_steps\":[3,0],\"wait_ms\":500}");
	CHECK_INT(pick.steps, 4);
	CHECK(!pick.stop);
	CHECK_INT(pick.lease_ns, 30 * STRATA_SECOND_NS);
	CHECK_INT(pick.count, 2);
	CHECK_INT(pick.tasks[0].id, 17);
	CHECK_INT(pick.tasks[0].steps_done, 3);
	CHECK_INT(pick.tasks[0].seed, 123);
	CHECK_INT(pick.tasks[1].seed, -1);
	CHECK_TEXT(json_string_value(json_object_get(pick.tasks[0].parameters, "prompt")), "x");
	json_decref(pick.answer);
}

TEST(nothing_to_do_and_an_end_are_answers)
{
	struct worker_link link = open_world("{\"steps\":0,\"tasks\":[]}");
	struct worker_pick pick;

	CHECK_OK(worker_api_pick(&link, &nothing, 0, 0, &pick, &err));
	CHECK_INT(pick.count, 0);
	json_decref(pick.answer);
	reply = "{\"stop\":true}";
	CHECK_OK(worker_api_pick(&link, &nothing, 0, 0, &pick, &err));
	CHECK(pick.stop);
	json_decref(pick.answer);
}

TEST(what_is_no_answer_is_refused)
{
	static const char *const bad[] = {
		"[]",
		"null",
		"{}",
		"{\"tasks\":{}}",
		"{\"steps\":0,\"tasks\":[{\"id\":1,\"parameters\":{}}]}",
		"{\"steps\":1048577,\"tasks\":[{\"id\":1,\"parameters\":{}}]}",
		"{\"steps\":\"1\",\"tasks\":[{\"id\":1,\"parameters\":{}}]}",
		"{\"steps\":1,\"tasks\":[{\"parameters\":{}}]}",
		"{\"steps\":1,\"tasks\":[{\"id\":0,\"parameters\":{}}]}",
		"{\"steps\":1,\"tasks\":[{\"id\":1}]}",
		"{\"steps\":1,\"tasks\":[{\"id\":1,\"parameters\":[]}]}",
		"{\"steps\":1,\"tasks\":[7]}",
		"{\"steps\":1,\"tasks\":[{\"id\":1,\"steps_done\":-1,\"parameters\":{}}]}",
		"{\"steps\":1,\"tasks\":[{\"id\":1,\"seed\":-1,\"parameters\":{}}]}",
		"{\"steps\":1,\"tasks\":[{\"id\":1,\"parameters\":{}},{\"id\":1,\"parameters\":{}}]"
		"}",
	};
	struct worker_pick pick = { .steps = 77 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct worker_link link = open_world(bad[i]);

		CHECK_ERROR(worker_api_pick(&link, &nothing, 0, 0, &pick, &err), -EBADMSG, "answer");
		CHECK_INT(pick.steps, 77);
	}
}

/* An answer with so many tasks. */
static int read_tasks(size_t count)
{
	json_t *answer = json_pack("{s:i,s:[]}", "steps", 1, "tasks");
	struct worker_pick pick;

	for (size_t i = 0; i < count; i++)
		json_array_append_new(json_object_get(answer, "tasks"),
				      json_pack("{s:i,s:{}}", "id", (int)i + 1, "parameters"));
	int rc = worker_pick_read(answer, &pick, &err);

	if (rc == 0)
		json_decref(pick.answer);
	json_decref(answer);
	return rc;
}

TEST(a_batch_has_its_limit)
{
	CHECK_OK(read_tasks(STRATA_BATCH_MAX));
	CHECK_ERROR(read_tasks(STRATA_BATCH_MAX + 1), -EBADMSG, "33 tasks");
}

static const char hashes[2][WORKER_HASH_BYTES] = { "aa", "bb" };
static const struct worker_row rows[] = {
	{ .id = 1, .kind = WORKER_STEPS, .steps = 4, .cost_ns = 5, .status = "denoising" },
	{ .id = 2,
	  .kind = WORKER_FINISHED,
	  .steps = 1,
	  .hashes = hashes,
	  .hash_count = 2,
	  .width = 28,
	  .height = 32 },
	{ .id = 3, .kind = WORKER_FAILED, .error = "no" },
	{ .id = 4, .kind = WORKER_BACK },
};

TEST(done_says_what_came_of_each)
{
	struct worker_link link = open_world("{}");

	CHECK_OK(worker_api_done(&link, rows, 4, &err));
	CHECK_TEXT(last_path, "/api/v1/worker/done");
	CHECK_TEXT(
		last_body,
		"{\"rows\":["
		"{\"cost_ns\":5,\"id\":1,\"kind\":\"steps\",\"status\":\"denoising\",\"steps\":4},"
		"{\"cost_ns\":0,\"height\":32,\"id\":2,\"images\":[\"aa\",\"bb\"],"
		"\"kind\":\"finished\",\"steps\":1,\"width\":28},"
		"{\"cost_ns\":0,\"error\":\"no\",\"id\":3,\"kind\":\"failed\",\"steps\":0},"
		"{\"cost_ns\":0,\"id\":4,\"kind\":\"back\",\"steps\":0}]}");
	reply_rc = -ESTALE;
	CHECK_ERROR(worker_api_done(&link, rows, 4, &err), -ESTALE, "not now");
}

TEST(trouble_is_told)
{
	struct worker_link link = open_world("{}");

	CHECK_OK(worker_api_trouble(&link, "there is no model", &err));
	CHECK_TEXT(last_path, "/api/v1/worker/trouble");
	CHECK_TEXT(last_body, "{\"error\":\"there is no model\"}");
	reply_rc = -EPERM;
	CHECK_ERROR(worker_api_trouble(&link, "none", &err), -EPERM, "not now");
}

TEST(pictures_are_handed_over)
{
	struct worker_link link = open_world("{}");
	char hash[WORKER_HASH_BYTES], large[WORKER_PREVIEW_BYTES_MAX + 1] = "\x89PNG";

	CHECK_OK(worker_api_image(&link, "\x89PNG...", 7, hash, &err));
	CHECK_TEXT(hash, "h0");
	CHECK_INT(world.pictures[0].count, 7);
	CHECK_OK(worker_api_preview(&link, 17, large, WORKER_PREVIEW_BYTES_MAX, &err));
	CHECK_ERROR(worker_api_preview(&link, 17, large, WORKER_PREVIEW_BYTES_MAX + 1, &err),
		    -E2BIG, "preview");
	CHECK_INT(world.previews, 1);
	world.image_rc = -ENOSPC;
	CHECK_ERROR(worker_api_image(&link, "\x89PNG", 4, hash, &err), -ENOSPC, "today");
	world_fini(&world);
}

static json_t *no_hash;
static int ask_no_hash(void *context, const struct client_request *request, json_t **ret_json,
		       struct strata_error *why)
{
	(void)context, (void)request, (void)why;
	*ret_json = json_incref(no_hash);
	return 0;
}

TEST(a_picture_without_a_hash_is_not_kept)
{
	struct worker_link link = { .ask = ask_no_hash };
	char hash[WORKER_HASH_BYTES] = "before", longest[WORKER_HASH_BYTES + 1];
	const char *const bad[] = { "", longest };

	memset(longest, 'a', sizeof(longest));
	longest[WORKER_HASH_BYTES] = '\0';
	for (size_t i = 0; i < 2; i++) {
		no_hash = json_pack("{s:s}", "hash", bad[i]);
		CHECK_ERROR(worker_api_image(&link, "", 0, hash, &err), -EBADMSG, "hash");
		json_decref(no_hash);
	}
	no_hash = json_array();
	CHECK_ERROR(worker_api_image(&link, "", 0, hash, &err), -EBADMSG, "hash");
	json_decref(no_hash);
	CHECK_TEXT(hash, "before");
	longest[WORKER_HASH_BYTES - 1] = '\0';
	no_hash = json_pack("{s:s}", "hash", longest);
	CHECK_OK(worker_api_image(&link, "", 0, hash, &err));
	CHECK_INT(strlen(hash), WORKER_HASH_BYTES - 1);
	json_decref(no_hash);
}

/* What is asked, without reading an answer: jansson's reader ends the program when its memory runs
 * out in some places. */
static int ask_nothing(void *context, const struct client_request *request, json_t **ret_json,
		       struct strata_error *why)
{
	(void)context, (void)why;
	test_result_json(request->body);
	*ret_json = json_incref(no_hash);
	return 0;
}

static int tell_all(struct strata_memory *memory, void *context, struct strata_error *why)
{
	struct worker_link link = { .ask = ask_nothing };
	const struct worker_held held = { { 5, 6 }, { 1, 2 }, 2 };
	struct worker_pick pick;

	(void)context;
	strata_memory_put(memory, strata_memory_get(memory, 1), 1);
	int rc = worker_api_done(&link, rows, 4, why);

	if (rc == 0)
		rc = worker_api_pick(&link, &held, 1, 0, &pick, why);
	if (rc == 0)
		json_decref(pick.answer);
	return rc;
}

TEST(no_memory_is_no_half_body)
{
	no_hash = json_pack("{s:b}", "stop", 1);
	test_every_allocation(tell_all, NULL);
	json_decref(no_hash);
}

TEST(what_is_away_and_what_is_lost)
{
	CHECK(worker_is_away(-ECONNREFUSED) && worker_is_away(-ECONNRESET));
	CHECK(worker_is_away(-ETIMEDOUT) && worker_is_away(-EAGAIN));
	CHECK(!worker_is_away(0) && !worker_is_away(-EACCES) && !worker_is_away(-ESTALE));
	CHECK(worker_is_lost(-ESTALE) && worker_is_lost(-EBUSY) && !worker_is_lost(-EINVAL));
}
