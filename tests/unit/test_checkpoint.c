#include "small_cluster.h"

#include <errno.h>

static int save(uint64_t id, const char *path, int64_t step)
{
	struct strata_checkpoint checkpoint = { path, 100, 7 * SECOND, step };

	return strata_cluster_checkpoint(small, id, &checkpoint, 7 * SECOND, &err);
}

static void one_running(void)
{
	small_open("fifo", "easy", 1, 0);
	small_submit(small_request(1, 1, 1000), 0);
	CHECK_TEXT(small_pass(0), "1");
}

TEST(the_latest_two_are_kept)
{
	struct strata_checkpoint kept[2];

	one_running();
	CHECK_OK(save(1, "/a", 10));
	CHECK_OK(save(1, "/b", 20));
	CHECK_TEXT(small_pass(8), "");
	CHECK_OK(save(1, "/c", 30));
	CHECK_TEXT(small_pass(9), "delete:1");
	CHECK_INT(strata_cluster_checkpoints(small, 1, kept), 2);
	CHECK_TEXT(kept[0].path, "/c");
	CHECK_INT(kept[0].step, 30);
	CHECK_TEXT(kept[1].path, "/b");
	small_close();
}

TEST(a_file_that_is_written_over_is_not_deleted)
{
	struct strata_checkpoint kept[2];

	one_running();
	CHECK_OK(save(1, "/a", 1));
	CHECK_OK(save(1, "/a", 2));
	CHECK_OK(save(1, "/b", 3));
	CHECK_OK(save(1, "/a", 4)); /* in turn */
	CHECK_TEXT(small_pass(9), "");
	CHECK_INT(strata_cluster_checkpoints(small, 1, kept), 2);
	CHECK_TEXT(kept[0].path, "/a");
	CHECK_TEXT(kept[1].path, "/b");
	small_close();
}

TEST(what_cannot_be_is_refused)
{
	char path[STRATA_PATH_BYTES_MAX + 2];

	small_conf.checkpoint_bytes_max = 99;
	one_running();
	CHECK_ERROR(save(1, "/a", 1), -EFBIG, "the checkpoint has 100 bytes; expected 0 to 99");
	strata_cluster_set_checkpoint_max(small, 0); /* the limit is lifted while it runs */
	CHECK_OK(save(1, "/a", 1));
	small_conf.checkpoint_bytes_max = 100;
	one_running();
	small_conf.checkpoint_bytes_max = 0;
	CHECK_OK(save(1, "/a", 5));
	CHECK_ERROR(save(1, "/b", 4), -EINVAL,
		    "the checkpoint is of step 4; there is one of step 5");
	CHECK_ERROR(save(1, "", 6), -EINVAL,
		    "the path of the checkpoint has 0 bytes; expected 1 to 4096");
	memset(path, 'x', sizeof(path));
	path[STRATA_PATH_BYTES_MAX + 1] = '\0';
	CHECK_ERROR(save(1, path, 6), -EINVAL,
		    "the path of the checkpoint has 4097 bytes; expected 1 to 4096");
	path[STRATA_PATH_BYTES_MAX] = '\0';
	CHECK_OK(save(1, path, 6));
	small_submit(small_request(2, 1, 10), 8);
	CHECK_ERROR(save(2, "/a", 1), -ESTALE, "job 2 is queued; expected one that has run");
	small_close();
}

TEST(who_asked_for_it_is_asked_every_so_often)
{
	struct strata_job_request request = small_request(1, 1, 1000);

	small_open("fifo", "easy", 1, 0);
	request.checkpoint_ns = 60 * SECOND;
	small_submit(request, 0);
	CHECK_TEXT(small_pass(0), "1");
	CHECK_INT(strata_cluster_next_ns(small), 60 * SECOND);
	CHECK_TEXT(small_pass(59), "");
	CHECK_TEXT(small_pass(60), "save:1");
	CHECK_INT(strata_cluster_next_ns(small), 120 * SECOND);
	struct strata_checkpoint checkpoint = { "/a", 1, 100 * SECOND, 1 };

	CHECK_OK(strata_cluster_checkpoint(small, 1, &checkpoint, 100 * SECOND, &err));
	CHECK_INT(strata_cluster_next_ns(small), 160 * SECOND); /* counted from the last one */
	small_end(1, 110);
	CHECK_INT(strata_cluster_next_ns(small), INT64_MAX);
	small_close();
}

TEST(dropped_ones_are_deleted)
{
	struct strata_checkpoint kept[2];

	one_running();
	CHECK_OK(save(1, "/a", 1));
	CHECK_OK(save(1, "/b", 2));
	small_end(1, 8);
	CHECK_OK(strata_cluster_drop_checkpoints(small, 1, 9 * SECOND, &err));
	CHECK_INT(strata_cluster_checkpoints(small, 1, kept), 0);
	CHECK_TEXT(small_pass(9), "delete:1 delete:1");
	small_close();
}
