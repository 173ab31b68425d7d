/*
 * What goes between an executor's owner and the thread that asks others for it: work to the one
 * side, news to the other. The owner never waits for the thread.
 */
#ifndef EXEC_EXEC_QUEUE_H
#define EXEC_EXEC_QUEUE_H

#include "exec/exec.h"

#include <pthread.h>

enum exec_work_type { EXEC_FOLLOW, EXEC_LOOK, EXEC_DROP };

struct exec_work {
	struct exec_work *next;
	enum exec_work_type type;
	struct exec_key key;
};

/* Something to report that is in no attempt's file. */
struct exec_news {
	struct exec_news *next;
	struct strata_memory memory; /* of its own: it goes from one thread to another */
	struct strata_arena arena;   /* of all it has */
	struct exec_event event;
};

struct exec_queue {
	pthread_mutex_t lock; /* of the next six */
	pthread_cond_t changed;
	struct exec_work *first, *last;
	struct exec_news *news, *news_last;
	bool stops, ready;
	int to_thread;           /* readable when there is work, or it is to stop */
	int to_owner;            /* the owner's: written to with news. Borrowed */
	struct exec_news *shown; /* the owner looks at it */
};

/* To be ended by fini, whatever came of it. */
int exec_queue_init(struct exec_queue *queue, struct strata_error *err);
void exec_queue_fini(struct exec_queue *queue);

/* ---- the owner's ---- */

int exec_queue_add(struct exec_queue *queue, enum exec_work_type type, struct exec_key key,
		   struct strata_error *err);
/* False: there is none. What it says lives until the next call. */
bool exec_queue_take_news(struct exec_queue *queue, struct exec_event *ret_event);
/* Waits until the thread has seen what there is at first, but not for long: others may be away. */
void exec_queue_await_ready(struct exec_queue *queue, const struct env *env);
void exec_queue_stop(struct exec_queue *queue);

/* ---- the thread's ---- */

/* What there is to do, the list being the thread's to free, and nothing left to read. False: it is
 * to stop. */
bool exec_queue_take_work(struct exec_queue *queue, struct exec_work **ret_work);
/* Is it to stop, amid what it does? */
bool exec_queue_is_stopping(struct exec_queue *queue);
void exec_work_free(struct exec_work *work);
void exec_queue_set_ready(struct exec_queue *queue);
/* NULL: out of memory. Telling gives it away; drop is for what is not told. */
struct exec_news *exec_news_new(enum exec_event_type type, struct exec_key key);
void exec_news_drop(struct exec_news *news);
void exec_queue_tell(struct exec_queue *queue, struct exec_news *news);
void exec_queue_tell_trouble(struct exec_queue *queue, struct exec_key key, int code,
			     const char *text);

#endif
