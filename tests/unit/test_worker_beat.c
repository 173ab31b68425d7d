#include "worker_world.h"

#include "worker/worker_beat.h"

#include <strata/text.h>

#include <stdatomic.h>

static struct strata_error err;
static struct world world;
static char last_body[256];
static atomic_int beats;

static int post(struct world *own, const char *path, const json_t *body, json_t **ret_json,
		struct strata_error *why)
{
	char *text = json_dumps(body, JSON_COMPACT | JSON_SORT_KEYS);

	(void)own, (void)why;
	CHECK_TEXT(path, "/api/v1/worker/beat");
	snprintf(last_body, sizeof(last_body), "%s", text ? text : "no memory");
	free(text);
	beats++;
	*ret_json = json_object();
	return 0;
}

TEST(it_says_what_is_held_as_long_as_the_loop_goes_on)
{
	world = (struct world){ .post = post };
	const struct worker_link link = world_link(&world);
	const struct worker_held held = { { 17, 18 }, { 3, 0 }, 2 };
	struct worker_beat beat;

	beats = 0;
	CHECK_OK(worker_beat_init(&beat, &link, 10 * STRATA_SECOND_NS, &err));
	CHECK_OK(worker_beat_once(&beat, &err));
	CHECK_TEXT(last_body, "{\"holding\":[],\"holding_steps\":[]}");
	worker_beat_hold(&beat, &held, 6 * STRATA_SECOND_NS);
	CHECK_INT(beat.every_ns, STRATA_SECOND_NS);
	for (int i = 0; i < 5; i++) {
		world.now_ns += 8 * STRATA_SECOND_NS;
		CHECK_OK(worker_beat_once(&beat, &err));
		CHECK_TEXT(last_body, "{\"holding\":[17,18],\"holding_steps\":[3,0]}");
		worker_beat_sign(&beat);
	}
	worker_beat_hold(&beat, &held, 0); /* not said: as before */
	CHECK_INT(beat.every_ns, STRATA_SECOND_NS);
	world.now_ns += 11 * STRATA_SECOND_NS;
	CHECK_ERROR(worker_beat_once(&beat, &err), -ETIME, "too long");
	CHECK_INT(beats, 6);
	worker_beat_sign(&beat); /* it was only slow */
	CHECK_OK(worker_beat_once(&beat, &err));
	worker_beat_fini(&beat);
	worker_beat_sign(NULL);
	worker_beat_hold(NULL, &held, 1);
}

/* A clock for two threads. */
static int64_t still(void *context)
{
	(void)context;
	return 1;
}

TEST(the_thread_beats_by_itself_and_ends_at_once)
{
	world = (struct world){ .post = post };
	struct worker_link link = world_link(&world);
	const struct worker_held held = { { 17 }, { 3 }, 1 };
	struct worker_beat beat;

	link.now_ns = still;
	beats = 0;
	CHECK_OK(worker_beat_init(&beat, &link, STRATA_SECOND_NS, &err));
	worker_beat_hold(&beat, &held, 6 * STRATA_MS_NS);
	CHECK_OK(worker_beat_start(&beat, &err));
	while (beats < 3)
		worker_beat_sign(&beat);
	worker_beat_hold(&beat, &held, STRATA_DURATION_NS_MAX); /* nobody waits for that */
	worker_beat_fini(&beat);
	CHECK(beats >= 3);
}
