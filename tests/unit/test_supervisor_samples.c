/* What a job uses is there while it runs, in its last word, and when its supervisor was killed. */
#include "exec_sample.h"

#include "exec/journal.h"
#include "exec/samples.h"

#include <signal.h>

static struct record_samples read_samples(const char *json)
{
	struct record_samples record;

	CHECK(json);
	CHECK_OK(samples_read(json, strlen(json), &arena, &record, &err));
	return record;
}

static void wait_for(const char *path)
{
	for (int i = 0; i < 600 && access(sample_path(path), F_OK) < 0; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 50 * 1000 * 1000 }, NULL);
	CHECK_INT(access(sample_path(path), F_OK), 0);
}

TEST(the_last_word_has_them)
{
	struct exec_order order = sample_order(1, "sleep 4");

	sample_open();
	CHECK_OK(exec_local.start(exec, &order, &err));
	wait_for("state/jobs/1.1.samples");
	struct record_samples early = read_samples(sample_text(sample_path("state/jobs/1.1.samples")));

	CHECK(early.at_ms.count >= 1);
	struct exec_status status = sample_await(EXEC_ENDED).status;
	struct record_samples all = read_samples(status.samples);

	CHECK(all.at_ms.count >= early.at_ms.count); /* more, unless the machine stood still */
	CHECK(((const int64_t *)all.memory_bytes.items)[0] > 0);
	CHECK(access(sample_path("state/jobs/1.1.samples"), F_OK) < 0);
	sample_close();
}

TEST(a_moment_has_none)
{
	struct exec_order order = sample_order(2, "true");

	sample_open();
	CHECK(!sample_run(&order).samples);
	sample_close();
}

TEST(what_a_killed_supervisor_wrote_is_told)
{
	struct exec_order order = sample_order(3, "sleep 600");
	pid_t supervisor = 0;

	sample_open();
	CHECK_OK(exec_local.start(exec, &order, &err));
	wait_for("state/jobs/3.1.samples");
	int fd = open(sample_path("state/jobs/3.1"), O_RDWR);

	CHECK_OK(journal_lock_holder(fd, &supervisor, &err));
	close(fd);
	CHECK(supervisor > 0);
	kill(supervisor, SIGKILL);
	struct exec_status status = sample_await(EXEC_ENDED).status;

	CHECK_INT(status.how, EXEC_LOST);
	CHECK(read_samples(status.samples).at_ms.count >= 1);
	sample_close();
}
