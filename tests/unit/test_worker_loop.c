#include "worker_world.h"

#include "worker/worker_loop.h"

#include <strata/text.h>

static struct strata_memory memory;
static struct strata_error err;
static struct strata_engine *engine;
static struct strata_pipeline *pipeline;

/* A service with a few tasks: gives all that are open, up to `together`, `steps` at a time. */
enum { TASKS = 4, NEVER = 1 << 20 };
struct task {
	const char *parameters; /* with ' for "; NULL: there is none */
	int64_t steps, seed, done;
	enum { OPEN, FINISHED, FAILED, CANCELLED } state;
	char error[STRATA_ERROR_TEXT_BYTES];
	size_t picture; /* of the world's */
	int64_t cost_ns;
	size_t backs;
};
static struct service {
	struct world world;
	struct task tasks[TASKS];
	size_t together;
	int64_t steps;
	size_t away_from,
		away_to; /* calls of pick and done that are not answered, by their number */
	size_t lose_at;  /* this done is refused, and so are those of a restarted service */
	int lose_rc;
	size_t end_at;  /* the signal comes with this pick */
	size_t stop_at; /* the service says stop in this one */
	size_t cancel_at;
	size_t calls, held_most;
	bool restarted; /* leases are unknown until the next pick */
	int deny;
	int64_t save_ms;  /* so often latents are saved */
	size_t away_task; /* this task is not given out in picks from … to */
	size_t away_pick_from, away_pick_to;
} service;

static json_t *load(const char *text)
{
	char json[512];

	snprintf(json, sizeof(json), "%s", text);
	for (char *at = json; *at; at++)
		*at = *at == '\'' ? '"' : *at;
	return json_loads(json, 0, NULL);
}

static bool kept(size_t task)
{
	return service.world.latents[task].bytes != NULL;
}

static int give(const json_t *body, json_t **ret_json, struct strata_error *why)
{
	json_t *tasks = json_array();
	size_t held = json_array_size(json_object_get(body, "holding"));
	bool stop = service.world.picks == service.stop_at;

	service.restarted = false;
	if (held > service.held_most)
		service.held_most = held;
	if (service.world.picks == service.end_at)
		service.world.end = true;
	if (service.world.picks == service.cancel_at)
		service.tasks[0].state = CANCELLED;
	for (size_t i = 0; i < TASKS && json_array_size(tasks) < service.together; i++) {
		struct task *task = &service.tasks[i];

		if (i + 1 == service.away_task && service.world.picks >= service.away_pick_from &&
		    service.world.picks < service.away_pick_to)
			continue;
		if (task->parameters && task->state == OPEN)
			json_array_append_new(
				tasks, json_pack("{s:I,s:I,s:o,s:I,s:b}", "id", (json_int_t)i + 1,
						 "steps_done", (json_int_t)task->done, "parameters",
						 load(task->parameters), "seed",
						 (json_int_t)task->seed, "latents", kept(i + 1)));
	}
	if (json_array_size(tasks) == 0)
		stop = true; /* all is done */
	*ret_json = json_pack("{s:I,s:o,s:[],s:b,s:I}", "steps", (json_int_t)service.steps, "tasks",
			      tasks, "drop", "stop", stop, "save_ms", (json_int_t)service.save_ms);
	return *ret_json ? 0 : strata_fail_memory(why);
}

static void take_row(const json_t *row)
{
	struct task *task = &service.tasks[json_integer_value(json_object_get(row, "id")) - 1];
	const char *kind = json_string_value(json_object_get(row, "kind"));
	int64_t steps = json_integer_value(json_object_get(row, "steps"));

	CHECK(steps >= 0 && steps <= service.steps && task->done + steps <= task->steps);
	CHECK_INT(task->state == FINISHED, false); /* a result is accepted once */
	task->done += steps;
	task->cost_ns += json_integer_value(json_object_get(row, "cost_ns"));
	task->backs += strcmp(kind, "back") == 0;
	if (strcmp(kind, "failed") == 0) {
		task->state = FAILED;
		snprintf(task->error, sizeof(task->error), "%s",
			 json_string_value(json_object_get(row, "error")));
	}
	if (strcmp(kind, "finished") == 0) {
		const json_t *images = json_object_get(row, "images");

		CHECK_INT(json_array_size(images), 1);
		task->state = FINISHED;
		task->picture = strtoul(json_string_value(json_array_get(images, 0)) + 1, NULL, 10);
		CHECK(task->done == task->steps ||
		      service.away_to); /* one that was away knows less */
	}
}

static int post(struct world *world, const char *path, const json_t *body, json_t **ret_json,
		struct strata_error *why)
{
	size_t call = ++service.calls, i;
	json_t *row;

	CHECK(call < WORLD_CALLS_MAX);
	if (service.deny)
		return strata_fail(why, service.deny, "this is no worker's token");
	if (call >= service.away_from && call < service.away_to) {
		service.restarted = true;
		return strata_fail(why, -ECONNREFUSED, "no server");
	}
	if (strstr(path, "/pick"))
		return give(body, ret_json, why);
	if (service.restarted || world->dones == service.lose_at)
		return strata_fail(why, service.lose_rc ? service.lose_rc : -ESTALE,
				   "the lease is another's");
	json_array_foreach(json_object_get(body, "rows"), i, row) take_row(row);
	*ret_json = json_object();
	return 0;
}

static const struct task three[] = {
	{ "{'prompt':'a seven','steps':7}", 7, 1 },
	{ "{'prompt':'a three','steps':4,'scheduler':'heun','guidance_scale':3}", 4, 2 },
	{ "{'prompt':'a five','steps':5,'scheduler':'euler','schedule':'karras'}", 5, 3 },
};

static void open_service(size_t count, const struct task *tasks)
{
	char folder[512];

	snprintf(folder, sizeof(folder), "%s/pipelines/digits", test_data_dir());
	memory = (struct strata_memory){ 0 };
	CHECK_OK(strata_engine_new(&(struct strata_engine_conf){ 0 }, &memory, &engine, &err));
	CHECK_OK(strata_pipeline_open(engine, folder, NULL, &memory, &pipeline, &err));
	service = (struct service){
		.world.post = post, .together = TASKS, .steps = 2, .save_ms = 1000000
	};
	memcpy(service.tasks, tasks, count * sizeof(*tasks));
}

static int work(void)
{
	const struct worker_link link = world_link(&service.world);
	const struct worker_conf conf = { .pipeline = pipeline,
					  .model = "digits",
					  .link = &link,
					  .away_ns_max = 60 * STRATA_SECOND_NS };

	return worker_run(&conf, &memory, &err);
}

static void close_service(void)
{
	strata_pipeline_close(pipeline);
	strata_engine_free(engine);
	world_fini(&service.world);
	CHECK_INT(memory.used_bytes, 0);
}

/* What each of the three is when it is drawn alone. */
static struct {
	char *bytes;
	size_t count;
} alone[3];

static void draw_alone(void)
{
	for (size_t i = 0; i < 3; i++) {
		open_service(1, &three[i]);
		service.steps = 1;
		CHECK_OK(work());
		CHECK_INT(service.tasks[0].state, FINISHED);
		CHECK_INT(service.world.picture_count, 1);
		alone[i].bytes = service.world.pictures[0].bytes;
		alone[i].count = service.world.pictures[0].count;
		service.world.picture_count = 0; /* kept here */
		close_service();
	}
}

static void check_pictures(void)
{
	for (size_t i = 0; i < 3; i++) {
		const struct task *task = &service.tasks[i];

		CHECK_INT(task->state, FINISHED);
		CHECK_INT(service.world.pictures[task->picture].count, alone[i].count);
		CHECK_BYTES(service.world.pictures[task->picture].bytes, alone[i].bytes,
			    alone[i].count);
		CHECK(task->cost_ns > 0);
	}
}

static void done_with_alone(void)
{
	for (size_t i = 0; i < 3; i++)
		free(alone[i].bytes);
}

TEST(a_batch_at_unlike_steps_gives_the_bytes_of_each_alone)
{
	draw_alone();
	for (int64_t steps = 1; steps <= 8; steps *= 2) {
		open_service(3, three);
		service.steps = steps;
		CHECK_OK(work());
		check_pictures();
		CHECK_INT(service.world.picture_count, 3);
		CHECK_TEXT(service.world.said, "");
		close_service();
	}
	done_with_alone();
}

TEST(a_task_that_cannot_be_fails_alone_with_the_engines_sentence)
{
	draw_alone();
	open_service(3, three);
	service.tasks[3] = (struct task){ "{'prompt':'x','scheduler':'eulr'}", 5, 4 };
	CHECK_OK(work());
	check_pictures();
	CHECK_INT(service.tasks[3].state, FAILED);
	CHECK(strstr(service.tasks[3].error, "did you mean"));
	CHECK(strstr(service.world.said, "task 4 failed: "));
	close_service();
	done_with_alone();
}

TEST(a_lost_lease_makes_it_forget_everything)
{
	draw_alone();
	open_service(3, three);
	service.lose_at = 2;
	CHECK_OK(work());
	check_pictures();
	CHECK(strstr(service.world.said, "the lease is lost"));
	close_service();
	done_with_alone();
}

TEST(a_service_that_was_away_is_told_what_is_held)
{
	draw_alone();
	for (size_t from = 1; from <= 8; from++) {
		open_service(3, three);
		service.away_from = from;
		service.away_to = from + 3;
		CHECK_OK(work());
		check_pictures();
		CHECK(strstr(service.world.said, "waiting for it"));
		CHECK(strstr(service.world.said, "the service is back"));
		CHECK(!strstr(service.world.said, "lost"));
		CHECK_INT(service.world.picture_count, 3); /* nothing was drawn twice */
		close_service();
	}
	done_with_alone();
}

TEST(a_picture_waits_for_the_service_or_fails_its_task)
{
	draw_alone();
	open_service(3, three);
	service.world.image_rc = -ECONNRESET;
	CHECK_OK(work());
	check_pictures();
	close_service();
	open_service(1, three);
	service.world.image_rc = -ENOSPC;
	CHECK_OK(work());
	CHECK_INT(service.tasks[0].state, FAILED);
	CHECK_TEXT(service.tasks[0].error, "no picture today");
	close_service();
	open_service(1, three);
	service.world.image_rc = -EACCES; /* that is no fault of the picture's */
	CHECK_ERROR(work(), -EACCES, "no picture today");
	CHECK_INT(service.tasks[0].state, OPEN);
	close_service();
	done_with_alone();
}

TEST(told_to_end_it_gives_back_what_it_holds)
{
	draw_alone();
	for (size_t pick = 1; pick <= 3; pick++) {
		open_service(3, three);
		service.end_at = pick;
		CHECK_OK(work());
		for (size_t i = 0; i < 3; i++)
			CHECK(service.tasks[i].backs == (service.tasks[i].state == OPEN));
		CHECK(service.tasks[0].backs);
		service.end_at = 0;
		service.world.end = false;
		CHECK_OK(work()); /* another one begins anew */
		check_pictures();
		close_service();
	}
	done_with_alone();
}

TEST(what_was_given_back_goes_on_from_there)
{
	draw_alone();
	open_service(3, three);
	service.end_at = 3;
	CHECK_OK(work());
	CHECK_INT(service.tasks[0].done, 4); /* of 7: what was done is not lost */
	CHECK(kept(1));
	CHECK_INT(service.world.latents[1].steps, 4);
	service.end_at = 0;
	service.world.end = false;
	size_t before = service.world.picks;

	CHECK_OK(work());                           /* another one */
	CHECK_INT(service.world.picks - before, 3); /* 3 steps are left, 2 at a time */
	check_pictures();
	CHECK_TEXT(service.world.said, "");
	close_service();
	done_with_alone();
}

TEST(a_task_that_gives_way_goes_on_from_there)
{
	draw_alone();
	open_service(3, three);
	service.away_task = 1;
	service.away_pick_from = 3;
	service.away_pick_to = 4;
	CHECK_OK(work());
	check_pictures();
	CHECK_INT(service.world.saves, 1);
	CHECK_INT(service.world.latents[1].steps, 4);
	CHECK_TEXT(service.world.said, "");
	close_service();
	done_with_alone();
}

TEST(latents_that_are_no_good_make_a_task_begin_anew)
{
	draw_alone();
	for (int how = 0; how < 3; how++) {
		open_service(3, three);
		service.end_at = 3;
		CHECK_OK(work());
		if (how == 0)
			service.world.latents[1].count /= 2;
		else if (how == 1)
			service.world.latents[1].bytes[200] ^= 1;
		else
			memcpy(service.world.latents[1].bytes, "another", 7);
		service.end_at = 0;
		service.world.end = false;
		CHECK_OK(work());
		check_pictures();
		CHECK(strstr(service.world.said, "task 1 begins anew; its saved latents"));
		close_service();
	}
	done_with_alone();
}

TEST(latents_are_saved_now_and_then_and_never_in_the_way)
{
	draw_alone();
	for (int refused = 0; refused < 2; refused++) {
		open_service(3, three);
		service.save_ms = 0;
		service.world.save_rc = refused ? -ECONNRESET : 0;
		CHECK_OK(work());
		check_pictures();
		/* after each round but the last of each: 7, 4 and 5 steps, 2 at a time */
		CHECK_INT(service.world.saves, 3 + 1 + 2);
		close_service();
	}
	done_with_alone();
}

TEST(stopped_by_the_service_it_gives_back_too)
{
	open_service(3, three);
	service.stop_at = 2;
	CHECK_OK(work());
	CHECK_INT(service.tasks[0].backs, 1);
	CHECK_INT(service.tasks[0].done, 2);
	close_service();
}

TEST(a_cancelled_task_leaves_and_the_others_go_on)
{
	open_service(3, three);
	service.cancel_at = 2;
	CHECK_OK(work());
	CHECK_INT(service.tasks[0].state, CANCELLED);
	CHECK_INT(service.tasks[0].done, 2);
	CHECK_INT(service.tasks[1].state, FINISHED);
	CHECK_INT(service.tasks[2].state, FINISHED);
	CHECK_INT(service.world.picture_count, 2);
	close_service();
}

TEST(to_end_while_the_service_is_away_is_no_failure)
{
	open_service(3, three);
	service.end_at = 2;
	service.away_from = 4; /* the done of the second round */
	service.away_to = NEVER;
	CHECK_OK(work());
	CHECK_INT(service.tasks[0].state, OPEN);
	close_service();
}

TEST(a_service_that_does_not_come_back_is_given_up)
{
	for (size_t from = 1; from <= 4; from++) {
		open_service(3, three);
		service.away_from = from;
		service.away_to = NEVER;
		CHECK_OK(work());
		CHECK(strstr(service.world.said, "the service does not come back"));
		CHECK(service.world.now_ns > 60 * STRATA_SECOND_NS);
		CHECK(service.calls < 60);
		CHECK_INT(service.tasks[0].state, OPEN);
		close_service();
	}
}

TEST(what_is_refused_again_and_again_ends_it)
{
	open_service(1, three);
	service.deny = -EACCES;
	CHECK_ERROR(work(), -EACCES, "no worker's token");
	CHECK_INT(service.calls, 1);
	service.deny = -EBUSY;
	CHECK_ERROR(work(), -EBUSY, "no worker's token");
	CHECK(service.calls < 30);
	close_service();
}

/* The n-th allocation fails: tasks are drawn as they are, fail for lack of memory, or are left;
 * nothing else, and nothing leaks. */
TEST(no_memory_loses_nothing_but_time)
{
	draw_alone();
	for (uint64_t at = 1; at < 4000; at += 37) {
		open_service(2, three);
		service.steps = 8;
		memory.fail_at = memory.calls + at;
		int rc = work();
		bool over = memory.calls < memory.fail_at;

		CHECK(rc == 0 || rc == -ENOMEM);
		memory.fail_at = 0;
		for (size_t i = 0; i < 2; i++) {
			const struct task *task = &service.tasks[i];

			CHECK(task->state != FAILED || strstr(task->error, "memory"));
			if (task->state == FINISHED)
				CHECK_BYTES(service.world.pictures[task->picture].bytes,
					    alone[i].bytes, alone[i].count);
			CHECK(!over || task->state == FINISHED);
		}
		close_service();
		if (over)
			break;
	}
	done_with_alone();
}
