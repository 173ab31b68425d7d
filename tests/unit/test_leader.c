/* A leader that was suspended wakes up: nothing that it still had in its hands is done. */
#include "exec_sample.h"

#include "exec/leader.h"
#include "exec/journal.h"
#include "exec/supervisor_loop.h"

#include <fcntl.h>

static struct exec *open_early(int64_t epoch)
{
	static const struct sample_conf conf = { "none" };
	struct exec_open from = sample_from(env_system(), epoch);
	struct exec *early;

	chmod(test_temp_dir(), 0755);
	CHECK_OK(exec_local.open(&conf, &from, &early, &err));
	return early;
}

static bool ran(void)
{
	return access(sample_path("ran"), F_OK) == 0;
}

TEST(the_epoch_only_rises)
{
	int dir = open(test_temp_dir(), O_RDONLY | O_DIRECTORY);

	CHECK_OK(leader_check(env_system(), dir, ".", 0, &memory, &err));
	CHECK_OK(leader_take(env_system(), dir, 4, &memory, &err));
	CHECK_OK(leader_take(env_system(), dir, 4, &memory, &err));
	CHECK_OK(leader_check(env_system(), dir, ".", 4, &memory, &err));
	CHECK_ERROR(leader_check(env_system(), dir, ".", 3, &memory, &err), -ESTALE,
		    "a leader of epoch 4 has taken over from epoch 3");
	CHECK_ERROR(leader_take(env_system(), dir, 3, &memory, &err), -ESTALE, "epoch 4");
	CHECK_OK(leader_take(env_system(), dir, 5, &memory, &err));
	CHECK_ERROR(leader_check(env_system(), dir, ".", 4, &memory, &err), -ESTALE, "epoch 5");
	close(dir);
	CHECK_INT(memory.used_bytes, 0);
}

/* The next one has run the attempt and forgotten it, so that nothing on disk speaks against it. */
TEST(a_start_that_comes_late_is_refused)
{
	struct exec *early = open_early(1), *late;
	struct exec_order order = sample_order(1, "echo 1 >> ran");
	struct exec_control stop = { .type = EXEC_STOP, .how = EXEC_CANCELLED };

	late = open_early(2);
	CHECK_ERROR(early->cls->start(early, &order, &err), -ESTALE, "epoch 2 has taken over");
	exec = late;
	CHECK_OK(exec_local.start(exec, &order, &err));
	CHECK_ERROR(early->cls->control(early, (struct exec_key){ 1, 1 }, &stop, &err), -ESTALE,
		    "epoch 2 has taken over");
	CHECK_INT(sample_await(EXEC_ENDED).status.how, EXEC_EXITED);
	CHECK(ran());
	exec_local.close(early);
	exec_local.close(late);
	CHECK_INT(memory.used_bytes, 0);
}

/* It had looked who leads, was suspended, and writes its order now: the supervisor looks again. */
TEST(an_order_that_is_written_late_is_not_claimed)
{
	struct exec *early = open_early(1), *late = open_early(2);
	struct exec_order order = sample_order(1, "echo 1 >> ran");
	const char *path = sample_path("state/jobs/1.1");

	order.epoch = 1;
	CHECK_OK(journal_create(env_system(), AT_FDCWD, path, &order, &memory, &err));
	pid_t child = fork();

	if (child == 0)
		_exit(supervise(env_system(), path, 1, NULL) == -ESTALE ? 0 : 1);
	int status = -1;

	waitpid(child, &status, 0);
	CHECK_INT(status, 0);
	CHECK(!ran());
	CHECK(!strstr(sample_text(path), "claimed"));
	/* whoever leads may make it its own, once */
	exec = late;
	CHECK_OK(exec_local.adopt(exec, (struct exec_key){ 1, 1 }, &err));
	CHECK_INT(sample_await(EXEC_ENDED).status.epoch, 2);
	CHECK(ran());
	exec_local.close(early);
	exec_local.close(late);
	CHECK_INT(memory.used_bytes, 0);
}
