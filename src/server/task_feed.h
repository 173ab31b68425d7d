/*
 * What somebody who follows a task hears. The decider says how the task is, each time over what it
 * said before; a stream reads it when it comes to it. So a slow reader misses steps, not the end,
 * and the decider waits for nobody. Both own it; it goes with the second.
 */
#ifndef SERVER_TASK_FEED_H
#define SERVER_TASK_FEED_H

#include <strata/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct decider;
struct task_feed;

/* How a task is, as of a number that grows with each change; 0: nothing was said yet. */
struct task_news {
	uint64_t number, preview_number;
	bool ended;    /* nothing comes any more */
	char *text;    /* the task as JSON; malloc's, the caller's */
	char *preview; /* PNG; likewise; NULL: none, or none that is new */
	size_t preview_bytes;
};

/* With one owner. NULL: no memory. */
struct task_feed *task_feed_new(bool previews);
struct task_feed *task_feed_share(struct task_feed *feed); /* one owner more */
void task_feed_drop(struct task_feed *feed);               /* NULL is nothing */

/* ---- the decider's ---- */

/* The text is taken over. */
void task_feed_say(struct task_feed *feed, char *text, bool ended);
/* A new preview: copied for those who want the bytes, counted for all. */
void task_feed_show(struct task_feed *feed, const char *bytes, size_t count);

/* ---- a reader's ---- */

/* Is there something behind these numbers? */
bool task_feed_has(struct task_feed *feed, uint64_t number, uint64_t preview_number);
/* Gets what there is behind them. -ENOMEM. */
int task_feed_read(struct task_feed *feed, uint64_t number, uint64_t preview_number,
		   struct task_news *ret_news, struct strata_error *err);

/* ---- all of them: api_task_events.c ---- */

/* A feed about a live task, for a stream to own; told from the next commit on. NULL: no memory. */
struct task_feed *task_feeds_add(struct decider *decider, int64_t task, bool previews);
/* Says what has changed, after a commit and before ended tasks are forgotten. */
void task_feeds_look(struct decider *decider);
/* When a place in line is to be looked at again, monotonic; INT64_MAX: never. */
int64_t task_feeds_due_ns(const struct decider *decider);
void task_feeds_free(struct decider *decider);

/* What the decider remembers of each; the list is its own. */
struct task_feed_row {
	struct task_feed_row *next;
	struct task_feed *feed;
	int64_t task;
	const char *status; /* as said last; NULL: nothing was */
	int64_t steps_done, said_ns;
	uint64_t preview_number;
};
bool task_feed_is_alone(struct task_feed *feed); /* nobody else owns it */

#endif
