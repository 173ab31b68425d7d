/* The one sheet between the decider and a reader: see task_feed.h. */
#include "server/task_feed.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct task_feed {
	pthread_mutex_t lock; /* of all below */
	int owners;
	bool previews; /* their bytes are wanted */
	struct task_news news;
};

struct task_feed *task_feed_new(bool previews)
{
	struct task_feed *feed = calloc(1, sizeof(*feed));

	if (!feed)
		return NULL;
	pthread_mutex_init(&feed->lock, NULL);
	feed->owners = 1;
	feed->previews = previews;
	return feed;
}

struct task_feed *task_feed_share(struct task_feed *feed)
{
	pthread_mutex_lock(&feed->lock);
	feed->owners++;
	pthread_mutex_unlock(&feed->lock);
	return feed;
}

void task_feed_drop(struct task_feed *feed)
{
	if (!feed)
		return;
	pthread_mutex_lock(&feed->lock);
	bool last = --feed->owners == 0;

	pthread_mutex_unlock(&feed->lock);
	if (!last)
		return;
	pthread_mutex_destroy(&feed->lock);
	free(feed->news.text);
	free(feed->news.preview);
	free(feed);
}

bool task_feed_is_alone(struct task_feed *feed)
{
	pthread_mutex_lock(&feed->lock);
	bool alone = feed->owners == 1;

	pthread_mutex_unlock(&feed->lock);
	return alone;
}

void task_feed_say(struct task_feed *feed, char *text, bool ended)
{
	pthread_mutex_lock(&feed->lock);
	free(feed->news.text);
	feed->news.text = text;
	feed->news.ended = ended;
	feed->news.number++;
	pthread_mutex_unlock(&feed->lock);
}

void task_feed_show(struct task_feed *feed, const char *bytes, size_t count)
{
	char *copy = feed->previews ? malloc(count + 1) : NULL;

	if (copy)
		memcpy(copy, bytes, count);
	if (feed->previews && !copy)
		return; /* the next one may fit */
	pthread_mutex_lock(&feed->lock);
	free(feed->news.preview);
	feed->news.preview = copy;
	feed->news.preview_bytes = copy ? count : 0;
	feed->news.preview_number++;
	pthread_mutex_unlock(&feed->lock);
}

bool task_feed_has(struct task_feed *feed, uint64_t number, uint64_t preview_number)
{
	pthread_mutex_lock(&feed->lock);
	bool more = feed->news.number > number || feed->news.preview_number > preview_number;

	pthread_mutex_unlock(&feed->lock);
	return more;
}

int task_feed_read(struct task_feed *feed, uint64_t number, uint64_t preview_number,
		   struct task_news *ret_news, struct strata_error *err)
{
	struct task_news news;
	bool failed = false;

	pthread_mutex_lock(&feed->lock);
	news = feed->news;
	bool text = news.number > number && news.text;
	bool preview = news.preview_number > preview_number && news.preview;

	news.text = text ? strdup(feed->news.text) : NULL;
	news.preview = preview ? malloc(news.preview_bytes + 1) : NULL;
	if (news.preview)
		memcpy(news.preview, feed->news.preview, news.preview_bytes);
	failed = (text && !news.text) || (preview && !news.preview);
	pthread_mutex_unlock(&feed->lock);
	if (failed) {
		free(news.text);
		free(news.preview);
		return strata_fail_memory(err);
	}
	*ret_news = news;
	return 0;
}
