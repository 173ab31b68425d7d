#include "test.h"

#include "server/job_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;
static const struct job_place_piece piece = { .node = "n7" };

TEST(patterns_become_paths)
{
	struct job job = {
		.id = 17, .user = "ada", .name = "train", .array_id = 12, .array_index = 5
	};
	struct job_spec spec = { .error = "/var/%u/%x.err", .input = "in-%a" };
	struct strata_arena arena;
	struct job_files files;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(job_files_make(&job, &spec, "n7", "/home/ada", &arena, &files, &err));
	CHECK_TEXT(files.directory, "/home/ada");
	CHECK_TEXT(files.output, "/home/ada/strata-12_5.out");
	CHECK_TEXT(files.error, "/var/ada/train.err");
	CHECK_TEXT(files.input, "/home/ada/in-5");
	spec = (struct job_spec){ .working_dir = "/data", .output = "%N-%j" };
	CHECK_OK(job_files_make(&job, &spec, "n7", "/home/ada", &arena, &files, &err));
	CHECK_TEXT(files.output, "/data/n7-17");
	CHECK(!files.error && !files.input);
	strata_arena_fini(&arena);
}

TEST(where_a_job_wrote_is_known_while_its_node_is)
{
	struct job_place *place = job_place_new(&piece, 1);
	struct job job = { .id = 17, .user = "ada", .name = "train", .place = place };
	struct job_spec spec = { .working_dir = "/data", .output = "%N.out", .error = "e" };
	struct strata_arena arena;
	const char *path;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(job_files_output(&job, &spec, false, &arena, &path, &err));
	CHECK_TEXT(path, "/data/n7.out");
	CHECK_OK(job_files_output(&job, &spec, true, &arena, &path, &err));
	CHECK_TEXT(path, "/data/e");
	job.place = NULL;
	CHECK_OK(job_files_output(&job, &spec, true, &arena, &path, &err));
	CHECK_ERROR(job_files_output(&job, &spec, false, &arena, &path, &err), -ENOENT,
		    "the path of its output has the name of its node, which is no longer known");
	strata_arena_fini(&arena);
	free(place);
}
