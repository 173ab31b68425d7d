#include "test.h"

#include "server/task_feed.h"

#include <stdlib.h>
#include <string.h>

static struct strata_error err;

static void forget(struct task_news *news)
{
	free(news->text);
	free(news->preview);
	*news = (struct task_news){ 0 };
}

TEST(a_reader_hears_the_latest_and_the_end)
{
	struct task_feed *feed = task_feed_new(false);
	struct task_news news;

	CHECK(feed && task_feed_is_alone(feed));
	CHECK(!task_feed_has(feed, 0, 0));
	CHECK_OK(task_feed_read(feed, 0, 0, &news, &err));
	CHECK(!news.text && !news.ended && news.number == 0);
	task_feed_say(feed, strdup("one"), false);
	task_feed_say(feed, strdup("two"), false);
	CHECK(task_feed_has(feed, 0, 0));
	CHECK_OK(task_feed_read(feed, 0, 0, &news, &err));
	CHECK_TEXT(news.text, "two");
	CHECK_INT(news.number, 2);
	CHECK(!task_feed_has(feed, 2, 0));
	forget(&news);
	CHECK_OK(task_feed_read(feed, 2, 0, &news, &err));
	CHECK(!news.text);
	task_feed_say(feed, strdup("three"), true);
	CHECK_OK(task_feed_read(feed, 2, 0, &news, &err));
	CHECK_TEXT(news.text, "three");
	CHECK(news.ended);
	forget(&news);
	task_feed_drop(feed);
	task_feed_drop(NULL);
}

TEST(previews_are_counted_and_copied_for_who_wants_them)
{
	for (int wanted = 0; wanted < 2; wanted++) {
		struct task_feed *feed = task_feed_new(wanted);
		struct task_news news;

		task_feed_show(feed, "PNG", 3);
		task_feed_show(feed, "PNG2", 4);
		CHECK(task_feed_has(feed, 0, 1));
		CHECK(!task_feed_has(feed, 0, 2));
		CHECK_OK(task_feed_read(feed, 0, 0, &news, &err));
		CHECK_INT(news.preview_number, 2);
		CHECK(!news.text && !!news.preview == wanted);
		if (wanted)
			CHECK_BYTES(news.preview, "PNG2", 4);
		forget(&news);
		CHECK_OK(task_feed_read(feed, 0, 2, &news, &err));
		CHECK(!news.preview);
		task_feed_drop(feed);
	}
}

TEST(it_goes_with_its_last_owner)
{
	struct task_feed *feed = task_feed_new(false), *other = task_feed_share(feed);

	CHECK(!task_feed_is_alone(feed));
	task_feed_drop(feed);
	CHECK(task_feed_is_alone(other));
	task_feed_say(other, strdup("x"), true);
	task_feed_drop(other);
}
