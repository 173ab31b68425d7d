#include "exec_sample.h"

#include <fcntl.h>

/* What is not claimed may be gone in part when the power fails, and nothing has come of it: it is ordered again. */
TEST(an_order_that_a_power_failure_took_can_be_given_again)
{
	struct exec_found *found;
	size_t count;

	for (int job = 1; job <= 3; job++) {
		struct exec_order order = sample_order(job, "echo $0 >> ran");
		struct sample_conf conf = { "none" };
		struct exec_open from = sample_from(env_system(), 1);
		char name[64];
		struct stat info;

		memory = (struct strata_memory){ 0 };
		strata_arena_init(&arena, &memory, 0);
		from.supervisor = "/bin/true";
		CHECK_OK(exec_local.open(&conf, &from, &exec, &err));
		CHECK_OK(exec_local.start(exec, &order, &err));
		sample_close();
		snprintf(name, sizeof(name), "state/jobs/%d.1", job);
		CHECK_INT(stat(sample_path(name), &info), 0);
		if (job == 1) /* all of it */
			CHECK_INT(unlink(sample_path(name)), 0);
		else /* its end, of which zeros may be left */
			CHECK_INT(truncate(sample_path(name), info.st_size / 2), 0);
		if (job == 3)
			CHECK_INT(truncate(sample_path(name), info.st_size), 0);
		sample_open();
		CHECK_OK(exec_local.scan(exec, &arena, &found, &count, &err));
		CHECK_INT(count, 0);
		CHECK_INT(sample_run(&order).exit_code, 0);
		CHECK_OK(exec_local.forget(exec, (struct exec_key){ (uint64_t)job, 1 }, &err));
		sample_close();
	}
	CHECK_TEXT(strrchr(sample_text(sample_path("ran")), '/'), "/3.1.script\n");
}

TEST(what_was_left_beside_an_attempt_is_swept_up)
{
	struct exec_found *found;
	size_t count;

	sample_open();
	close(open(sample_path("state/jobs/8.1.token"), O_CREAT | O_WRONLY, 0600));
	close(open(sample_path("state/jobs/8.1.script"), O_CREAT | O_WRONLY, 0600));
	close(open(sample_path("state/jobs/readme.script"), O_CREAT | O_WRONLY, 0600));
	CHECK_OK(exec_local.scan(exec, &arena, &found, &count, &err));
	CHECK_INT(count, 0);
	CHECK(access(sample_path("state/jobs/8.1.token"), F_OK) < 0);
	CHECK(access(sample_path("state/jobs/8.1.script"), F_OK) < 0);
	CHECK_INT(access(sample_path("state/jobs/readme.script"), F_OK), 0); /* not ours */
	sample_close();
}
