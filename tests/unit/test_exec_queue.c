/* What goes between an executor's owner and its thread. */
#include "test.h"

#include "exec/exec_queue.h"

#include <strata/text.h>

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct strata_error err;

static bool is_readable(int fd)
{
	struct pollfd one = { fd, POLLIN, 0 };

	return poll(&one, 1, 0) == 1;
}

TEST(work_comes_in_its_order_and_wakes_the_thread)
{
	struct exec_queue queue;
	struct exec_work *work;

	CHECK_OK(exec_queue_init(&queue, &err));
	CHECK(!is_readable(queue.to_thread));
	CHECK_OK(exec_queue_add(&queue, EXEC_FOLLOW, (struct exec_key){ 1, 1 }, &err));
	CHECK_OK(exec_queue_add(&queue, EXEC_DROP, (struct exec_key){ 2, 1 }, &err));
	CHECK(is_readable(queue.to_thread));
	CHECK(exec_queue_take_work(&queue, &work));
	CHECK(work->key.job == 1 && work->type == EXEC_FOLLOW && work->next->key.job == 2 &&
	      !work->next->next);
	exec_work_free(work);
	CHECK(!is_readable(queue.to_thread));
	CHECK(exec_queue_take_work(&queue, &work) && !work);
	CHECK(!exec_queue_is_stopping(&queue));
	exec_queue_stop(&queue);
	CHECK(is_readable(queue.to_thread) && exec_queue_is_stopping(&queue));
	CHECK(!exec_queue_take_work(&queue, &work));
	exec_queue_fini(&queue);
}

TEST(news_live_until_the_next_is_taken)
{
	struct exec_queue queue;
	struct exec_event event;
	int wake = eventfd(0, EFD_NONBLOCK);

	CHECK_OK(exec_queue_init(&queue, &err));
	queue.to_owner = wake;
	CHECK(!exec_queue_take_news(&queue, &event));
	exec_queue_tell_trouble(&queue, (struct exec_key){ 7, 2 }, -EAGAIN, "nobody answers");
	exec_queue_tell(&queue, exec_news_new(EXEC_SURVEY, (struct exec_key){ 0 }));
	CHECK(is_readable(wake));
	CHECK(exec_queue_take_news(&queue, &event));
	CHECK_TEXT(event.status.error, "nobody answers");
	CHECK_INT(event.status.error_code, EAGAIN);
	CHECK(event.type == EXEC_TROUBLE && event.key.job == 7);
	CHECK(exec_queue_take_news(&queue, &event) && event.type == EXEC_SURVEY);
	exec_queue_tell_trouble(&queue, (struct exec_key){ 8, 1 }, -EIO, "never taken");
	exec_queue_fini(&queue);
	close(wake);
}

TEST(what_is_there_at_first_is_waited_for_once)
{
	struct exec_queue queue;

	CHECK_OK(exec_queue_init(&queue, &err));
	exec_queue_set_ready(&queue);
	exec_queue_await_ready(&queue, env_system()); /* does not wait */
	exec_queue_fini(&queue);
}
