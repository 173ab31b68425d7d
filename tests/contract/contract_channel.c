/* Every channel: bytes arrive as they are, in the right place; what goes wrong is said by its request; nothing hangs. */
#include "random.h"
#include "test.h"

#include "stream/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 4096, BLOCKS = 64, SIZE = BLOCK * BLOCKS, TAIL = 100 };

static struct strata_memory memory;
static struct strata_error err;
static char *content; /* of the file, or the block: SIZE + TAIL bytes */
static int fds[2];
static struct channel_block blocks[1];

enum kind { URING, URING_CACHED, THREADS, MEMORY, PACED, KIND_COUNT };

static void fill(void)
{
	uint64_t seed = 3;

	content = malloc(SIZE + TAIL);
	for (size_t i = 0; i < SIZE + TAIL; i++)
		content[i] = (char)random_next(&seed);
}

/* NULL: this kernel or file system does not have it. */
static struct channel *open_kind(enum kind kind)
{
	char path[4096];
	struct channel *channel = NULL, *inner = NULL;

	fill();
	snprintf(path, sizeof(path), "%s/file", test_temp_dir());
	FILE *file = fopen(path, "wb");

	CHECK(file && fwrite(content, 1, SIZE + TAIL, file) == SIZE + TAIL && fclose(file) == 0);
	fds[0] = open(path, O_RDWR | (kind == URING || kind == PACED ? O_DIRECT : 0));
	if (fds[0] < 0)
		fds[0] = open(path, O_RDWR);
	fds[1] = -1; /* one that cannot be read */
	blocks[0] = (struct channel_block){ content, SIZE + TAIL };
	if (kind == THREADS)
		CHECK_OK(channel_threads_open("t", channel_transfer_files, fds, 3, &memory,
					      &channel, &err));
	else if (kind == MEMORY)
		CHECK_OK(channel_threads_open("m", channel_transfer_memory, blocks, 1, &memory,
					      &channel, &err));
	else if (channel_uring_open(fds, 2, &memory, &inner, &err))
		return NULL;
	else if (kind == PACED)
		CHECK_OK(channel_paced_open(inner, 1 << 30, &memory, &channel, &err));
	else
		channel = inner;
	return channel;
}

static void close_kind(struct channel *channel)
{
	channel_close(channel);
	close(fds[0]);
	free(content);
	CHECK_INT(memory.used_bytes, 0);
}

static struct request *wait_for_one(struct channel *channel)
{
	struct request *done = channel_reap(channel, true);

	CHECK(done);
	return done;
}

static void reads_what_is_there(struct channel *channel)
{
	struct request requests[BLOCKS / 2] = { 0 };
	char *to = aligned_alloc(BLOCK, SIZE + BLOCK);
	uint64_t seed = 11;
	size_t count = BLOCKS / 2;

	for (size_t i = 0; i < count; i++) {
		requests[i] = (struct request){
			.offset = (int64_t)random_below(&seed, BLOCKS - 2) * BLOCK,
			.at = to + 2 * i * BLOCK,
			.bytes = 2 * BLOCK,
			.need = 2 * BLOCK,
			.next = i + 1 < count / 2 ? &requests[i + 1] : NULL,
		};
	}
	channel_submit(channel, &requests[0]); /* half of them as a list, the others alone */
	for (size_t i = count / 2; i < count; i++)
		channel_submit(channel, &requests[i]);
	for (size_t i = 0; i < count; i++) {
		struct request *done = wait_for_one(channel);

		CHECK_INT(done->rc, 0);
		CHECK(done->begin_ns > 0 && done->end_ns >= done->begin_ns);
		CHECK_BYTES(done->at, content + done->offset, done->bytes);
	}
	CHECK(!channel_reap(channel, true)); /* none is under way: no wait */
	CHECK(!channel_reap(channel, false));
	free(to);
}

static void reads_the_last_bytes(struct channel *channel)
{
	char *to = aligned_alloc(BLOCK, 2 * BLOCK);
	struct request last = { .offset = SIZE, .at = to, .bytes = BLOCK, .need = TAIL };

	channel_submit(channel, &last);
	CHECK(wait_for_one(channel) == &last);
	CHECK_INT(last.rc, 0);
	CHECK_BYTES(to, content + SIZE, TAIL);
	/* and what lies behind them is not there */
	last.need = TAIL + 1;
	channel_submit(channel, &last);
	wait_for_one(channel);
	CHECK_INT(last.rc, -ENODATA);
	last = (struct request){ .offset = SIZE + BLOCK, .at = to, .bytes = BLOCK, .need = 1 };
	channel_submit(channel, &last);
	wait_for_one(channel);
	CHECK_INT(last.rc, -ENODATA);
	free(to);
}

static void writes_what_is_given(struct channel *channel)
{
	char *from = aligned_alloc(BLOCK, BLOCK), *to = aligned_alloc(BLOCK, BLOCK);
	struct request write = {
		.write = true, .offset = 5 * BLOCK, .at = from, .bytes = BLOCK, .need = BLOCK
	};
	struct request read = { .offset = 5 * BLOCK, .at = to, .bytes = BLOCK, .need = BLOCK };

	memset(from, 'w', BLOCK);
	channel_submit(channel, &write);
	wait_for_one(channel);
	CHECK_INT(write.rc, 0);
	channel_submit(channel, &read);
	wait_for_one(channel);
	CHECK_BYTES(to, from, BLOCK);
	memcpy(content + 5 * BLOCK, from, BLOCK);
	free(from);
	free(to);
}

/* A failure is of one request; those around it are well. */
static void says_what_fails(struct channel *channel)
{
	char *to = aligned_alloc(BLOCK, 3 * BLOCK);
	struct request requests[3];
	int well = 0;

	for (uint32_t i = 0; i < 3; i++)
		requests[i] = (struct request){ .file = i == 1,
						.at = to + i * BLOCK,
						.bytes = BLOCK,
						.need = BLOCK,
						.next = i < 2 ? &requests[i + 1] : NULL };
	channel_submit(channel, requests);
	for (int i = 0; i < 3; i++)
		well += wait_for_one(channel)->rc == 0;
	CHECK_INT(well, 2);
	CHECK_INT(requests[1].rc, -EBADF);
	free(to);
}

static void try_kind(enum kind kind)
{
	struct channel *channel = open_kind(kind);

	if (!channel)
		test_skip("%s", err.text);
	reads_what_is_there(channel);
	reads_the_last_bytes(channel);
	writes_what_is_given(channel);
	reads_what_is_there(channel);
	if (kind != MEMORY)
		says_what_fails(channel);
	close_kind(channel);
}

TEST(io_uring_with_direct_transfers)
{
	try_kind(URING);
}

TEST(io_uring_through_the_cache)
{
	try_kind(URING_CACHED);
}

TEST(threads_with_pread)
{
	try_kind(THREADS);
}

TEST(memory_by_copies)
{
	try_kind(MEMORY);
}

TEST(paced)
{
	try_kind(PACED);
}

TEST(closing_waits_for_what_is_under_way)
{
	for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
		struct channel *channel = open_kind(kind);
		struct request requests[BLOCKS] = { 0 };
		char *to = aligned_alloc(BLOCK, SIZE);

		if (!channel)
			test_skip("%s", err.text);
		for (size_t i = 0; i < BLOCKS; i++)
			requests[i] = (struct request){ .offset = (int64_t)i * BLOCK,
							.at = to + i * BLOCK,
							.bytes = BLOCK,
							.need = BLOCK,
							.next = i + 1 < BLOCKS ? &requests[i + 1]
									       : NULL };
		channel_submit(channel, requests);
		close_kind(channel);
		free(to); /* the sanitizer would see a late transfer */
	}
}

/* ---- threads: what a transfer may say ---- */

struct script {
	const ssize_t *results;
	size_t at;
};

static ssize_t play(void *context, const struct request *request)
{
	struct script *script = context;

	(void)request;
	return script->results[script->at++];
}

TEST(short_transfers_and_errors_are_followed_up)
{
	static const ssize_t results[] = { -EINTR, 4096, 100, 4096,
					   /* then another request */ -EIO };
	struct script script = { results, 0 };
	struct channel *channel;
	struct request request = { .bytes = 8192, .need = 8192 };

	CHECK_OK(channel_threads_open("x", play, &script, 1, &memory, &channel, &err));
	request.need = 4096 + 100;
	channel_submit(channel, &request);
	CHECK_INT(wait_for_one(channel)->rc, 0);
	CHECK_INT(script.at, 3);
	script.at = 4;
	channel_submit(channel, &request);
	CHECK_INT(wait_for_one(channel)->rc, -EIO);
	channel_close(channel);
}

/* ---- pace ---- */

TEST(a_paced_channel_keeps_its_rate_and_gives_no_credit)
{
	struct channel *inner, *channel;
	static char from[BLOCK], to[8][BLOCK];
	struct channel_block block = { from, BLOCK };
	struct request requests[8] = { 0 };

	CHECK_OK(channel_threads_open("m", channel_transfer_memory, &block, 1, &memory, &inner,
				      &err));
	/* 4096 bytes in two milliseconds */
	CHECK_OK(channel_paced_open(inner, 2048000, &memory, &channel, &err));
	usleep(20000); /* time in which nothing is asked for counts for nothing */
	int64_t begin = channel_now_ns();

	for (size_t i = 0; i < 8; i++) {
		requests[i] = (struct request){ .at = to[i], .bytes = BLOCK, .need = BLOCK };
		channel_submit(channel, &requests[i]);
	}
	CHECK(!channel_reap(channel, false)); /* it is there already, and not due */
	for (size_t i = 0; i < 8; i++) {
		struct request *done = wait_for_one(channel);

		CHECK(done == &requests[i]); /* in order */
		CHECK(done->end_ns - begin >= (int64_t)(i + 1) * 2000000);
		CHECK(channel_now_ns() >= done->end_ns);
	}
	channel_close(channel);
	CHECK_INT(memory.used_bytes, 0);
}

static int open_once(struct strata_memory *own, void *context, struct strata_error *why)
{
	struct channel *inner, *channel;
	int rc = channel_threads_open("m", channel_transfer_memory, blocks, 1, own, &inner, why);

	(void)context;
	if (rc)
		return rc;
	rc = channel_paced_open(inner, 1, own, &channel, why);
	channel_close(rc ? inner : channel);
	if (rc)
		return rc;
	rc = channel_uring_open(fds, 0, own, &channel, why);
	if (rc == 0)
		channel_close(channel);
	return rc;
}

TEST(lack_of_memory_is_said)
{
	CHECK(test_every_allocation(open_once, NULL) >= 3);
}
