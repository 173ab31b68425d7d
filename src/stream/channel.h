/*
 * Channels: what brings bytes from where weights are to where they are used, and back. A channel takes requests in order, works on them by
 * itself, and hands back those that are done. Who asks has one thread; what a channel does behind the table is its own business.
 *
 *	channel_uring.c		files, by io_uring
 *	channel_threads.c	files, by threads and pread; also memory, by copying
 *	channel_paced.c		another channel, slowed down to a rate
 */
#ifndef STREAM_CHANNEL_H
#define STREAM_CHANNEL_H

#include <strata/error.h>
#include <strata/memory.h>

#include <sys/types.h>

/* One transfer. The caller's, who does not touch it between channel_submit and channel_reap. */
struct request {
	uint32_t file;
	bool write;
	int64_t offset; /* in the file */
	char *at;       /* in memory */
	size_t bytes;   /* at most; whole blocks where the file is open for direct transfer */
	size_t need;    /* at least: files may end within the last block */
	void *owner;    /* the caller's */

	/* the channel's */
	struct request *next;
	size_t done; /* bytes so far */
	int rc;      /* once done: 0, or a negative errno code; -ENODATA: the file ended */
	int64_t begin_ns, end_ns;             /* when the channel worked on it; monotonic */
	uint64_t turn;                        /* a paced channel's: which one it is … */
	int64_t paced_begin_ns, paced_end_ns; /* … and when it may begin and be done */
};

struct channel;
struct channel_class {
	const char *name;
	/* Takes a list of requests (by next), in order. Does not wait and cannot fail: what goes wrong is said by the requests. */
	void (*submit)(struct channel *channel, struct request *list);
	/* One that is done. None: NULL, at once; with `wait` only where none is under way. */
	struct request *(*reap)(struct channel *channel, bool wait);
	/* Waits for what is under way, forgets it, and frees the channel. */
	void (*close)(struct channel *channel);
};
struct channel {
	const struct channel_class *cls;
};

/* Files by io_uring; descriptors are borrowed. -ENOSYS or what the kernel says where there is none. */
int channel_uring_open(const int *fds, size_t fd_count, struct strata_memory *memory,
		       struct channel **ret_channel, struct strata_error *err);

/* One attempt at what is left of a request: bytes, or a negative errno code. Called by any thread. */
typedef ssize_t channel_transfer(void *context, const struct request *request);
/* Anything that a function does, by so many threads. The context is borrowed. */
int channel_threads_open(const char *name, channel_transfer *transfer, void *context,
			 size_t thread_count, struct strata_memory *memory,
			 struct channel **ret_channel, struct strata_error *err);
/* Files, by pread and pwrite. The context is an array of descriptors. */
channel_transfer channel_transfer_files;

/* A block of memory that stands for a file. */
struct channel_block {
	char *bytes;
	int64_t size;
};
channel_transfer channel_transfer_memory; /* the context is an array of blocks */

/* Slows a channel down to a rate: a request takes its bytes' time from when it was asked for or the one before it was done, whichever is
 * later, so time in which nothing is asked for is not made up for. Owns the inner channel from then on, if it succeeds. */
int channel_paced_open(struct channel *inner, int64_t bytes_per_s, struct strata_memory *memory,
		       struct channel **ret_channel, struct strata_error *err);

static inline void channel_submit(struct channel *channel, struct request *list)
{
	channel->cls->submit(channel, list);
}
static inline struct request *channel_reap(struct channel *channel, bool wait)
{
	return channel->cls->reap(channel, wait);
}
void channel_close(struct channel *channel); /* NULL is nothing */

/* ---- what channels share (channel.c) ---- */

/* The outcome of one attempt: true when the request is done, well or not; false: to be tried again for the rest. */
bool request_advance(struct request *request, ssize_t result);

/* A list of requests, first in, first out. */
struct request_line {
	struct request *first, **end; /* end: where the next one goes; NULL in an empty one */
};
void request_line_add(struct request_line *line, struct request *list);
struct request *request_line_take(struct request_line *line); /* NULL: empty */

int64_t channel_now_ns(void);

#endif
