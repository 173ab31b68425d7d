#include "test.h"

#include "server/job_place.h"

#include <stdlib.h>
#include <string.h>

static const struct job_place_piece two[] = {
	{ .node = "n1",
	  .tasks = 2,
	  .cpu_milli = 8000,
	  .memory_bytes = INT64_C(1) << 40,
	  .gpu_mask = 9 },
	{ .node = "n\"2", .tasks = 1, .cpu_milli = 500, .gpu_milli = 250 },
};
#define TEXT                                                                                  \
	"[{\"node\":\"n1\",\"tasks\":2,\"cpu_milli\":8000,\"memory_bytes\":1099511627776,"    \
	"\"gpu_mask\":9,\"gpu_milli\":0},{\"node\":\"n\\\"2\",\"tasks\":1,\"cpu_milli\":500," \
	"\"memory_bytes\":0,\"gpu_mask\":0,\"gpu_milli\":250}]"

static void check_place(const struct job_place *place)
{
	CHECK_INT(place->count, 2);
	for (size_t i = 0; i < 2; i++) {
		CHECK(place->pieces[i].node != two[i].node);
		CHECK_TEXT(place->pieces[i].node, two[i].node);
		CHECK_INT(place->pieces[i].tasks, two[i].tasks);
		CHECK_INT(place->pieces[i].cpu_milli, two[i].cpu_milli);
		CHECK_INT(place->pieces[i].memory_bytes, two[i].memory_bytes);
		CHECK_INT(place->pieces[i].gpu_mask, two[i].gpu_mask);
		CHECK_INT(place->pieces[i].gpu_milli, two[i].gpu_milli);
	}
}

TEST(a_place_has_texts_of_its_own)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct job_place *place = job_place_new(two, 2);

	strata_arena_init(&arena, &memory, 0);
	check_place(place);
	const struct job_place *copy = job_place_copy(place, &arena);

	free(place);
	check_place(copy);
	strata_arena_fini(&arena);
}

TEST(the_stored_text_stays_what_it_was)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct job_place *place = job_place_new(two, 2);
	struct buf buf;

	strata_arena_init(&arena, &memory, 0);
	buf_init(&buf, &memory, 0);
	job_place_print(place, &buf);
	CHECK_TEXT(buf.text, TEXT);
	check_place(job_place_parse(buf.text, &arena));
	free(place);
	buf_fini(&buf);
	strata_arena_fini(&arena);
}

TEST(how_good_it_was_is_kept_with_it)
{
	struct job_place_piece pieces[] = { { .node = "n1", .gpu_mask = 3, .gpu_domains = 5 } };
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct job_place *place = job_place_new(pieces, 1);
	struct buf buf;

	strata_arena_init(&arena, &memory, 0);
	buf_init(&buf, &memory, 0);
	place->score = 140;
	CHECK_INT(job_place_copy(place, &arena)->score, 140);
	job_place_print(place, &buf);
	CHECK(strstr(buf.text, "\"gpu_milli\":0,\"gpu_domains\":5,\"score\":140}"));
	const struct job_place *read = job_place_parse(buf.text, &arena);

	CHECK_INT(read->score, 140);
	CHECK_INT(read->pieces[0].gpu_domains, 5);
	CHECK_INT(job_place_parse(TEXT, &arena)->score, 0);
	free(place);
	buf_fini(&buf);
	strata_arena_fini(&arena);
}

TEST(a_text_that_is_none_is_a_place_without_nodes)
{
	static const char *const bad[] = { "", "{}", "[1]", "[{\"node\":\"n1\"}]", "[" };
	struct strata_memory memory = { 0 };
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_INT(job_place_parse(bad[i], &arena)->count, 0);
	strata_arena_fini(&arena);
}
