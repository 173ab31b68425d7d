/*
 * A service for tests of the worker, in memory: it answers what a test says and keeps what it was
 * told. Time goes on by 1 ms with each look at the clock, and by as much as is paused.
 */
#ifndef TESTS_WORKER_WORLD_H
#define TESTS_WORKER_WORLD_H

#include "test.h"

#include "worker/worker_api.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORLD_CALLS_MAX = 512, WORLD_PICTURES_MAX = 64, WORLD_TASKS_MAX = 64 };

struct world {
	/* Answers a POST; NULL: {}. Returns as client_json. */
	int (*post)(struct world *world, const char *path, const json_t *body, json_t **ret_json,
		    struct strata_error *err);
	int64_t now_ns;
	int64_t step_ns; /* with each look at the clock; 0: 1 ms */
	bool end;
	size_t picks, dones, previews, pauses;
	int image_rc; /* of PUT /worker/image, taken once */
	size_t picture_count;
	struct {
		char *bytes;
		size_t count;
	} pictures[WORLD_PICTURES_MAX];
	/* What GET …/init gives; init_rc in its place, so often as init_fails says. */
	const char *init;
	size_t init_bytes, init_fails, inits;
	int init_rc;
	struct {
		char *bytes;
		size_t count;
		long steps;
	} latents[WORLD_TASKS_MAX]; /* by task */
	size_t saves;
	int save_rc; /* of PUT …/latents */
	char said[1 << 12];
};

static int world_keep(struct world *world, const struct client_request *request, json_t **ret_json,
		      struct strata_error *err)
{
	long task = 0, steps = 0;

	CHECK_INT(
		sscanf(request->path, "/api/v1/worker/tasks/%ld/latents?steps=%ld", &task, &steps),
		2);
	CHECK(task > 0 && task < WORLD_TASKS_MAX);
	CHECK_TEXT(request->type, "application/octet-stream");
	world->saves++;
	if (world->save_rc)
		return strata_fail(err, world->save_rc, "no latents today");
	free(world->latents[task].bytes);
	world->latents[task].bytes = malloc(request->byte_count);
	world->latents[task].count = request->byte_count;
	world->latents[task].steps = steps;
	CHECK(world->latents[task].bytes);
	memcpy(world->latents[task].bytes, request->bytes, request->byte_count);
	*ret_json = json_null();
	return 0;
}

static int world_fetch(void *context, const char *path, struct buf *bytes, struct strata_error *err)
{
	struct world *world = context;
	long task = 0;

	if (strstr(path, "/init")) {
		world->inits++;
		if (world->init_fails) {
			world->init_fails--;
			return strata_fail(err, world->init_rc, "no picture to start from");
		}
		buf_add_bytes(bytes, world->init, world->init_bytes);
		return buf_check(bytes, err);
	}
	CHECK_INT(sscanf(path, "/api/v1/worker/tasks/%ld/latents", &task), 1);
	CHECK(task > 0 && task < WORLD_TASKS_MAX);
	if (!world->latents[task].bytes)
		return strata_fail(err, -ENOENT, "there are none");
	buf_add_bytes(bytes, world->latents[task].bytes, world->latents[task].count);
	return buf_check(bytes, err);
}

static int world_ask(void *context, const struct client_request *request, json_t **ret_json,
		     struct strata_error *err)
{
	struct world *world = context;

	if (strcmp(request->method, "POST") == 0) {
		world->picks += strstr(request->path, "/pick") != NULL;
		world->dones += strstr(request->path, "/done") != NULL;
		return world->post(world, request->path, request->body, ret_json, err);
	}
	CHECK_TEXT(request->method, "PUT");
	if (strstr(request->path, "/latents"))
		return world_keep(world, request, ret_json, err);
	CHECK_TEXT(request->type, "image/png");
	CHECK_BYTES(request->bytes, "\x89PNG", 4);
	if (strstr(request->path, "/preview")) {
		world->previews++;
		*ret_json = json_null();
		return 0;
	}
	CHECK_TEXT(request->path, "/api/v1/worker/image");
	if (world->image_rc) {
		int rc = world->image_rc;

		world->image_rc = 0;
		return strata_fail(err, rc, "no picture today");
	}
	CHECK(world->picture_count < WORLD_PICTURES_MAX);
	char *copy = malloc(request->byte_count);

	CHECK(copy);
	memcpy(copy, request->bytes, request->byte_count);
	world->pictures[world->picture_count].bytes = copy;
	world->pictures[world->picture_count].count = request->byte_count;
	*ret_json = json_pack("{s:o,s:I}", "hash", json_sprintf("h%zu", world->picture_count++),
			      "bytes", (json_int_t)request->byte_count);
	return *ret_json ? 0 : strata_fail_memory(err);
}

static int64_t world_now(void *context)
{
	struct world *world = context;

	return world->now_ns += world->step_ns ? world->step_ns : 1000000;
}

static void world_pause(void *context, int64_t ns)
{
	struct world *world = context;

	world->pauses++;
	world->now_ns += ns;
}

static bool world_ending(void *context)
{
	return ((struct world *)context)->end;
}

static void world_say(void *context, const char *sentence)
{
	struct world *world = context;
	size_t length = strlen(world->said);

	snprintf(world->said + length, sizeof(world->said) - length, "%s\n", sentence);
}

static inline struct worker_link world_link(struct world *world)
{
	return (struct worker_link){ world,       world_ask,    world_fetch, world_now,
				     world_pause, world_ending, world_say };
}

static inline void world_fini(struct world *world)
{
	for (size_t i = 0; i < world->picture_count; i++)
		free(world->pictures[i].bytes);
	world->picture_count = 0;
	for (size_t i = 0; i < WORLD_TASKS_MAX; i++) {
		free(world->latents[i].bytes);
		world->latents[i].bytes = NULL;
	}
}

#endif
