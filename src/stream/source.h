/*
 * What a stream reads from and writes changes to: its files (or blocks of memory), one more for what was changed, and the channel over them.
 */
#ifndef STREAM_SOURCE_H
#define STREAM_SOURCE_H

#include "stream/channel.h"

#include <strata/stream.h>

struct source {
	struct strata_arena *arena;   /* has what is below */
	size_t file_count;            /* without the one for changes, which has this number */
	const char **paths;           /* copied; NULL for blocks */
	int64_t *sizes;               /* of files or blocks, when they were opened */
	int *fds;                     /* of files, -1: not open; the last is that of changes */
	struct channel_block *blocks; /* of memory; the last is that of changes */
	channel_transfer *transfer;   /* one attempt, here and now */
	void *transfer_context;
	struct channel *channel;
	const char *channel_name; /* of the inner one, where it is paced */
	bool direct, changes;
};

/* changes_bytes: what the file for changes has to hold; only with a changes_dir. The arena is to live as long. */
int source_open(struct source *source, const struct strata_stream_conf *conf, int64_t changes_bytes,
		struct strata_arena *arena, struct strata_error *err);
void source_close(struct source *source);

/* -code with a sentence about a request that failed. */
int source_fail(const struct source *source, const struct request *request,
		struct strata_error *err);

#endif
