/*
 * Reading input files: the bytes through the environment, gzip by zlib. How much a member unpacks
 * to is written at its end, so room is usually taken once; but that number is believed only as far
 * as deflate can go (1032 to 1) and never past the limit, and the output grows when it was too low.
 */
#include "sim/input.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <zlib.h>

enum {
	FIRST_BYTES = 1 << 16,    /* room for a file whose size is not known */
	GZIP_BYTES_MIN = 18,      /* header and trailer of the smallest member */
	GZIP_WINDOW = 15 + 16,    /* zlib: the largest window, gzip wrapping only */
	DEFLATE_RATIO_MAX = 1032, /* of unpacked to packed bytes */
};

/* A block of the arena that is replaced by a larger one when it is full. */
struct room {
	struct strata_arena *arena;
	char *bytes;
	size_t used, size; /* size leaves out the byte for the NUL */
	size_t limit_bytes;
};

/* Makes place for at least one more byte, unless the limit is reached. One byte past the limit is
 * allowed: so it shows that there are more. */
static int grow(struct room *room, size_t first_size, struct strata_error *err)
{
	size_t size = room->bytes ? room->size * 2 : first_size;

	if (room->bytes && room->used < room->size)
		return 0;
	if (size > room->limit_bytes + 1)
		size = room->limit_bytes + 1;
	char *bytes = strata_arena_get(room->arena, size + 1);

	if (!bytes)
		return strata_fail_memory(err);
	if (room->used)
		memcpy(bytes, room->bytes, room->used);
	room->bytes = bytes;
	room->size = size;
	return 0;
}

static int fail_limit(const struct room *room, const char *path, struct strata_error *err)
{
	return strata_fail(err, -E2BIG, "%s has more than %zu bytes", path, room->limit_bytes);
}

/* An open file to its end. Its size, where it has one, is only a first guess. */
static int read_all(const struct env *env, int fd, const char *name, struct room *room,
		    struct strata_error *err)
{
	off_t size = env->size(env->context, fd);
	size_t first = size > 0 && (uintmax_t)size < room->limit_bytes ? (size_t)size + 1
								       : FIRST_BYTES;
	ssize_t count;

	do {
		int rc = grow(room, first, err);

		if (rc)
			return rc;
		count = env->read(env->context, fd, room->bytes + room->used,
				  room->size - room->used);
		if (count < 0 && count != -EINTR)
			return strata_fail(err, (int)count, "cannot read %s: %s", name,
					   strerror((int)-count));
		if (count > 0)
			room->used += (size_t)count;
		if (room->used > room->limit_bytes)
			return fail_limit(room, name, err);
	} while (count != 0);
	room->bytes[room->used] = '\0';
	return 0;
}

/* Unlike env_read_file this waits for the writer of a pipe: a shell hands out such paths. */
static int read_path(const struct env *env, const char *path, struct room *room,
		     struct strata_error *err)
{
	int fd;

	do
		fd = env->open(env->context, AT_FDCWD, path, O_RDONLY | O_NOCTTY | O_CLOEXEC, 0);
	while (fd == -EINTR);
	if (fd < 0)
		return strata_fail(err, fd, "cannot open %s: %s", path, strerror(-fd));
	int rc = read_all(env, fd, path, room, err);

	env->close(env->context, fd);
	return rc;
}

/* zlib's own memory is the arena's as well: some 40 KB, freed with it. */
static void *arena_alloc(void *arena, unsigned count, unsigned size)
{
	return strata_arena_array(arena, count, size);
}

static void arena_free(void *arena, void *block)
{
	(void)arena, (void)block;
}

static size_t guess_size(const unsigned char *bytes, size_t count, size_t limit_bytes)
{
	const unsigned char *end = bytes + count;
	size_t claimed = end[-4] | (size_t)end[-3] << 8 | (size_t)end[-2] << 16 |
			 (size_t)end[-1] << 24;
	size_t possible = count < SIZE_MAX / DEFLATE_RATIO_MAX ? count * DEFLATE_RATIO_MAX
							       : SIZE_MAX;

	if (claimed > possible)
		claimed = possible;
	return (claimed < limit_bytes ? claimed : limit_bytes) + 1;
}

/* zlib counts in unsigned int. */
static unsigned piece(size_t bytes)
{
	return bytes < UINT_MAX ? (unsigned)bytes : UINT_MAX;
}

static int fail_damaged(const char *path, const z_stream *stream, struct strata_error *err)
{
	return strata_fail(err, -EBADMSG, "%s is not a sound gzip file: %s", path,
			   stream->msg ? stream->msg : "it is cut short");
}

/* Unpacks one member from *at on, which goes behind it. */
static int unpack_member(z_stream *stream, const unsigned char **at, const unsigned char *end,
			 struct room *room, const char *path, struct strata_error *err)
{
	int status;

	do {
		int rc = grow(room, 0, err);

		if (rc)
			return rc;
		unsigned in = piece((size_t)(end - *at)), out = piece(room->size - room->used);

		stream->next_in = (unsigned char *)*at; /* zlib does not write there */
		stream->avail_in = in;
		stream->next_out = (unsigned char *)room->bytes + room->used;
		stream->avail_out = out;
		status = inflate(stream, Z_NO_FLUSH);
		*at += in - stream->avail_in;
		room->used += out - stream->avail_out;
		if (status == Z_MEM_ERROR)
			return strata_fail_memory(err);
		if (room->used > room->limit_bytes)
			return fail_limit(room, path, err);
		if (status != Z_OK && status != Z_STREAM_END)
			return fail_damaged(path, stream, err);
	} while (status != Z_STREAM_END);
	return 0;
}

static bool is_gzip(const void *bytes, size_t count)
{
	return count >= 2 && memcmp(bytes, "\x1f\x8b", 2) == 0;
}

int input_unpack(const void *bytes, size_t count, const char *path, size_t limit_bytes,
		 struct strata_arena *arena, const char **ret_text, size_t *ret_length,
		 struct strata_error *err)
{
	const unsigned char *at = bytes, *end = at + count;
	struct room room = { .arena = arena, .limit_bytes = limit_bytes };
	z_stream stream = { .zalloc = arena_alloc, .zfree = arena_free, .opaque = arena };

	if (count < GZIP_BYTES_MIN)
		return fail_damaged(path, &stream, err);
	int rc = grow(&room, guess_size(at, count, limit_bytes), err);

	if (rc)
		return rc;
	if (inflateInit2(&stream, GZIP_WINDOW) != Z_OK)
		return strata_fail_memory(err);
	do
		rc = unpack_member(&stream, &at, end, &room, path, err);
	while (rc == 0 && at < end && inflateReset(&stream) == Z_OK);
	inflateEnd(&stream);
	if (rc)
		return rc;
	room.bytes[room.used] = '\0';
	*ret_text = room.bytes;
	*ret_length = room.used;
	return 0;
}

int input_read(const struct env *env, const char *path, size_t limit_bytes,
	       struct strata_arena *arena, const char **ret_text, size_t *ret_length,
	       struct strata_error *err)
{
	bool from_stdin = strcmp(path, "-") == 0;
	const char *name = from_stdin ? "standard input" : path;
	struct room room = { .arena = arena, .limit_bytes = limit_bytes };

	assert(limit_bytes < SIZE_MAX / 2);
	int rc = from_stdin ? read_all(env, 0, name, &room, err) : read_path(env, path, &room, err);

	if (rc)
		return rc;
	if (is_gzip(room.bytes, room.used))
		return input_unpack(room.bytes, room.used, name, limit_bytes, arena, ret_text,
				    ret_length, err);
	*ret_text = room.bytes;
	*ret_length = room.used;
	return 0;
}
