#include "test.h"

#include "fault_env.h"
#include "sim/input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { LIMIT = 1 << 20 };

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static const char *text;
static size_t length;

static const char *write_file(const void *bytes, size_t count)
{
	static char path[300];

	snprintf(path, sizeof(path), "%s/file", test_temp_dir());
	FILE *file = fopen(path, "wb");

	CHECK(file && fwrite(bytes, 1, count, file) == count);
	fclose(file);
	return path;
}

/* One gzip member; the caller frees. */
static unsigned char *pack(const char *bytes, size_t count, size_t *ret_count)
{
	z_stream stream = { 0 };
	size_t room = compressBound(count) + 64;
	unsigned char *packed = malloc(room);

	CHECK(packed &&
	      deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) == Z_OK);
	stream.next_in = (unsigned char *)bytes;
	stream.avail_in = (unsigned)count;
	stream.next_out = packed;
	stream.avail_out = (unsigned)room;
	CHECK_INT(deflate(&stream, Z_FINISH), Z_STREAM_END);
	*ret_count = stream.total_out;
	deflateEnd(&stream);
	return packed;
}

static int read_path(const char *path, size_t limit)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	text = NULL;
	length = 77;
	return input_read(env_system(), path, limit, &arena, &text, &length, &err);
}

static int unpack(const void *bytes, size_t count, size_t limit)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	text = NULL;
	length = 77;
	return input_unpack(bytes, count, "a.gz", limit, &arena, &text, &length, &err);
}

TEST(a_plain_file_is_read_as_it_is)
{
	CHECK_OK(read_path(write_file("1 2\n3\0 4", 8), LIMIT));
	CHECK_INT(length, 8);
	CHECK_BYTES(text, "1 2\n3\0 4", 9);
	CHECK_OK(read_path(write_file("", 0), LIMIT));
	CHECK_INT(length, 0);
	CHECK_TEXT(text, "");
	CHECK_OK(read_path(write_file("\x1f", 1), LIMIT));
	CHECK_INT(length, 1);
}

TEST(a_gzip_file_is_unpacked_whatever_its_name)
{
	static char bytes[300000];
	size_t count;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)('a' + i * i % 23);
	unsigned char *packed = pack(bytes, sizeof(bytes), &count);

	CHECK_OK(read_path(write_file(packed, count), LIMIT));
	CHECK_INT(length, sizeof(bytes));
	CHECK_BYTES(text, bytes, sizeof(bytes));
	CHECK_INT(text[length], 0);
	free(packed);
}

TEST(members_follow_one_another)
{
	unsigned char both[200];
	size_t first, second;
	unsigned char *a = pack("hello ", 6, &first), *b = pack("world, a longer one", 19, &second);

	memcpy(both, a, first);
	memcpy(both + first, b, second);
	CHECK_OK(unpack(both, first + second, LIMIT));
	CHECK_TEXT(text, "hello world, a longer one");
	memcpy(both, b, second);
	memcpy(both + second, a, first);
	CHECK_OK(unpack(both, first + second, LIMIT));
	CHECK_TEXT(text, "world, a longer onehello ");
	both[first + second] = 'x';
	CHECK_ERROR(unpack(both, first + second + 1, LIMIT), -EBADMSG,
		    "a.gz is not a sound gzip file");
	free(a);
	free(b);
}

TEST(limits_hold_at_their_value)
{
	char *zeros = calloc(1, LIMIT + 1);
	size_t count, more_count;
	unsigned char *packed = pack(zeros, LIMIT, &count),
		      *more = pack(zeros, LIMIT + 1, &more_count);

	CHECK_OK(read_path(write_file(zeros, LIMIT), LIMIT));
	CHECK_INT(length, LIMIT);
	CHECK_ERROR(read_path(write_file(zeros, LIMIT + 1), LIMIT), -E2BIG,
		    "has more than 1048576 bytes");
	CHECK_OK(unpack(packed, count, LIMIT));
	CHECK_INT(length, LIMIT);
	CHECK_ERROR(unpack(more, more_count, LIMIT), -E2BIG, "a.gz has more than 1048576 bytes");
	CHECK(!text);
	CHECK_INT(length, 77);
	free(packed);
	free(more);
	free(zeros);
}

TEST(a_bomb_costs_no_more_than_the_limit)
{
	char *zeros = calloc(1, 64 << 20);
	size_t count;
	unsigned char *packed = pack(zeros, 64 << 20, &count);

	strata_arena_fini(&arena);
	memory.peak_bytes = 0;
	CHECK_ERROR(unpack(packed, count, LIMIT), -E2BIG, "a.gz");
	CHECK(memory.peak_bytes < 3 * LIMIT);
	memset(packed + count - 4, 0, 4); /* claims to be empty */
	CHECK_ERROR(unpack(packed, count, LIMIT), -E2BIG, "a.gz");
	CHECK(memory.peak_bytes < 5 * LIMIT);
	free(packed);
	free(zeros);
}

TEST(a_claim_of_gigabytes_is_not_believed)
{
	size_t count;
	unsigned char *packed = pack("abc", 3, &count);

	strata_arena_fini(&arena);
	memory.peak_bytes = 0;
	memset(packed + count - 4, 0xff, 4);
	CHECK_ERROR(unpack(packed, count, (size_t)1 << 30), -EBADMSG, "incorrect length check");
	CHECK(memory.peak_bytes < 1 << 20);
	free(packed);
}

TEST(damage_is_found_wherever_it_is)
{
	char bytes[2000];
	size_t count;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)('a' + i * i % 23);
	unsigned char *packed = pack(bytes, sizeof(bytes), &count);

	for (size_t cut = 2; cut < count; cut++)
		CHECK_ERROR(unpack(packed, cut, LIMIT), -EBADMSG, "it is cut short");
	for (size_t i = 10; i < count;
	     i++) { /* past the header, whose time and system do not matter */
		packed[i] ^= 0x20;
		CHECK_INT(unpack(packed, count, LIMIT), -EBADMSG);
		packed[i] ^= 0x20;
	}
	CHECK_OK(unpack(packed, count, LIMIT));
	free(packed);
}

TEST(a_file_that_cannot_be_read_is_named)
{
	CHECK_ERROR(read_path("/nowhere/trace.swf", LIMIT), -ENOENT,
		    "cannot open /nowhere/trace.swf: No such file");
	CHECK_ERROR(read_path("/", LIMIT), -EISDIR, "cannot read /");
}

TEST(standard_input_may_be_a_pipe)
{
	int ends[2], saved = dup(0);
	size_t count;
	unsigned char *packed = pack("1 2 3\n", 6, &count);

	CHECK(saved >= 0 && pipe(ends) == 0);
	CHECK_INT(write(ends[1], packed, count), count);
	close(ends[1]);
	dup2(ends[0], 0);
	int rc = read_path("-", LIMIT);

	dup2(saved, 0);
	close(saved);
	close(ends[0]);
	free(packed);
	CHECK_OK(rc);
	CHECK_TEXT(text, "1 2 3\n");
}

TEST(reads_that_fail_or_are_interrupted)
{
	char bytes[5000];
	const char *path = write_file(memset(bytes, 'x', sizeof(bytes)), sizeof(bytes));
	struct fault_env fault;

	for (uint64_t n = 1;; n++) {
		fault_env_init(&fault);
		fault.fail_at = n;
		fault.bytes_max = 1000;
		fault.interrupt = true;
		int rc = input_read(&fault.env, path, LIMIT, &arena, &text, &length, &err);

		CHECK_INT(fault.open_count, 0);
		bool reached = fault.calls >= n;

		fault_env_fini(&fault);
		CHECK(rc == 0 || (rc == -EIO && strstr(err.text, path)));
		if (!reached)
			break;
	}
	CHECK_INT(length, sizeof(bytes));
}

struct packed_file {
	unsigned char *bytes;
	size_t count;
};

static int unpack_again(struct strata_memory *failing, void *context, struct strata_error *ret_err)
{
	const struct packed_file *file = context;
	struct strata_arena own;
	const char *out = "untouched";
	size_t out_length = 77;

	strata_arena_init(&own, failing, 0);
	int rc = input_unpack(file->bytes, file->count, "a.gz", LIMIT, &own, &out, &out_length,
			      ret_err);

	if (rc) {
		CHECK_TEXT(out, "untouched");
		CHECK_INT(out_length, 77);
	}
	strata_arena_fini(&own);
	return rc;
}

TEST(every_allocation_may_fail)
{
	struct packed_file file;

	file.bytes = pack("hello hello hello", 17, &file.count);
	CHECK(test_every_allocation(unpack_again, &file) >= 2);
	free(file.bytes);
}
