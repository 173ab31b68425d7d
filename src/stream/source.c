/*
 * Opening what a stream reads from. Files are opened for direct transfer and tried: where the file system does not do that, they go through the
 * cache. Changes go to a file that has no name, so nothing is left of it whatever happens.
 */
#include "stream/source.h"

#include "stream/layout.h"

#include <strata/limits.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DISK_THREADS = 4, COPY_THREADS = 1 };

/* ---- files ---- */

/* Does a direct read work here? Some file systems open a file and then refuse. */
static bool reads_directly(int fd)
{
	void *block = NULL;
	bool works = posix_memalign(&block, LAYOUT_BLOCK_BYTES, LAYOUT_BLOCK_BYTES) == 0 &&
		     pread(fd, block, LAYOUT_BLOCK_BYTES, 0) >= 0;

	free(block);
	return works;
}

static int open_file(struct source *source, size_t index, const char *path, bool *direct,
		     struct strata_error *err)
{
	struct stat about;
	int fd = -1;

	if (*direct) {
		fd = open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);
		if (fd >= 0 && !reads_directly(fd)) {
			close(fd);
			fd = -1;
		}
		*direct = fd >= 0;
	}
	if (fd < 0)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &about)) {
		int code = -errno;

		if (fd >= 0)
			close(fd);
		return strata_fail(err, code, "%.200s: %s", path, strerror(-code));
	}
	source->fds[index] = fd;
	source->sizes[index] = about.st_size;
	source->paths[index] = strata_arena_text(source->arena, path, strlen(path));
	return source->paths[index] ? 0 : strata_fail_memory(err);
}

/* All of them directly, or none: channels do not tell them apart. */
static int open_files(struct source *source, const struct strata_stream_conf *conf,
		      struct strata_error *err)
{
	bool direct = !conf->cached;

	for (size_t i = 0; i < source->file_count; i++) {
		int rc = open_file(source, i, conf->paths[i], &direct, err);

		if (rc)
			return rc;
	}
	source->direct = direct;
	for (size_t i = 0; !direct && i < source->file_count; i++)
		fcntl(source->fds[i], F_SETFL, fcntl(source->fds[i], F_GETFL) & ~O_DIRECT);
	return 0;
}

/* A file without a name; where the file system has no such, one whose name is gone at once. */
static int make_nameless(const char *dir, int flags)
{
	char path[STRATA_PATH_BYTES_MAX];
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600);

	if (fd >= 0 || errno != EOPNOTSUPP)
		return fd;
	snprintf(path, sizeof(path), "%s/.strata-changes-XXXXXX", dir);
	fd = mkostemp(path, O_CLOEXEC | flags);
	if (fd >= 0)
		unlink(path);
	return fd;
}

/* As large as it can get, now: a disk that fills up in the middle of training is worse. */
static int open_changes(struct source *source, const char *dir, int64_t bytes,
			struct strata_error *err)
{
	int fd = make_nameless(dir, source->direct ? O_DIRECT : 0);

	if (fd < 0 && errno == EINVAL && source->direct)
		fd = make_nameless(dir, 0);
	if (fd < 0)
		return strata_fail(err, -errno, "%.200s: no file for changes can be made there: %s",
				   dir, strerror(errno));
	source->fds[source->file_count] = fd;
	source->paths[source->file_count] = strata_arena_text(source->arena, dir, strlen(dir));
	if (!source->paths[source->file_count])
		return strata_fail_memory(err);
	if (fallocate(fd, 0, 0, bytes) && errno != EOPNOTSUPP)
		return strata_fail(err, -errno,
				   "%.200s: no room for changes of %" PRId64 " bytes: %s", dir,
				   bytes, strerror(errno));
	if (ftruncate(fd, bytes))
		return strata_fail(err, -errno, "%.200s: no file of %" PRId64 " bytes: %s", dir,
				   bytes, strerror(errno));
	source->changes = true;
	return 0;
}

static int open_disk_channel(struct source *source, const struct strata_stream_conf *conf,
			     struct strata_error *err)
{
	int rc = -ENOSYS;

	source->transfer = channel_transfer_files;
	source->transfer_context = source->fds;
	if (conf->channel != STRATA_STREAM_THREADS)
		rc = channel_uring_open(source->fds, source->file_count + 1, source->arena->memory,
					&source->channel, err);
	if (rc && conf->channel != STRATA_STREAM_URING)
		rc = channel_threads_open("threads", channel_transfer_files, source->fds,
					  DISK_THREADS, source->arena->memory, &source->channel,
					  err);
	return rc;
}

static int open_disk(struct source *source, const struct strata_stream_conf *conf,
		     int64_t changes_bytes, struct strata_error *err)
{
	size_t count = source->file_count;

	source->paths = strata_arena_array(source->arena, count + 1, sizeof(*source->paths));
	source->fds = strata_arena_array(source->arena, count + 1, sizeof(*source->fds));
	if (!source->paths || !source->fds)
		return strata_fail_memory(err);
	for (size_t i = 0; i <= count; i++)
		source->fds[i] = -1;
	int rc = open_files(source, conf, err);

	if (rc == 0 && conf->changes_dir)
		rc = open_changes(source, conf->changes_dir, changes_bytes, err);
	return rc ? rc : open_disk_channel(source, conf, err);
}

/* ---- memory ---- */

static int open_blocks(struct source *source, const struct strata_stream_conf *conf,
		       int64_t changes_bytes, struct strata_error *err)
{
	size_t count = source->file_count;

	source->blocks = strata_arena_array(source->arena, count + 1, sizeof(*source->blocks));
	if (!source->blocks)
		return strata_fail_memory(err);
	for (size_t i = 0; i < count; i++) { /* written to are only those of changes */
		source->blocks[i] = (struct channel_block){ (char *)conf->blocks[i].bytes,
							    conf->blocks[i].size };
		source->sizes[i] = conf->blocks[i].size;
	}
	if (conf->changes_dir) {
		void *block = mmap(NULL, (size_t)changes_bytes, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (block == MAP_FAILED)
			return strata_fail_memory(err);
		source->blocks[count] = (struct channel_block){ block, changes_bytes };
		source->changes = true;
	}
	source->transfer = channel_transfer_memory;
	source->transfer_context = source->blocks;
	return channel_threads_open("memory", channel_transfer_memory, source->blocks, COPY_THREADS,
				    source->arena->memory, &source->channel, err);
}

/* ---- both ---- */

int source_open(struct source *source, const struct strata_stream_conf *conf, int64_t changes_bytes,
		struct strata_arena *arena, struct strata_error *err)
{
	bool blocks = conf->channel == STRATA_STREAM_MEMORY;

	*source = (struct source){ .arena = arena,
				   .file_count = blocks ? conf->block_count : conf->path_count };
	source->sizes = strata_arena_array(arena, source->file_count + 1, sizeof(*source->sizes));
	int rc = !source->sizes ? strata_fail_memory(err)
		 : blocks       ? open_blocks(source, conf, changes_bytes, err)
				: open_disk(source, conf, changes_bytes, err);

	if (rc == 0) {
		source->channel_name = source->channel->cls->name;
		if (conf->pace_bytes_per_s)
			rc = channel_paced_open(source->channel, conf->pace_bytes_per_s,
						arena->memory, &source->channel, err);
	}
	if (rc)
		source_close(source);
	return rc;
}

void source_close(struct source *source)
{
	size_t count = source->file_count + 1;

	channel_close(source->channel);
	for (size_t i = 0; source->fds && i < count; i++)
		if (source->fds[i] >= 0)
			close(source->fds[i]);
	if (source->blocks && source->blocks[count - 1].bytes)
		munmap(source->blocks[count - 1].bytes, (size_t)source->blocks[count - 1].size);
	*source = (struct source){ 0 };
}

int source_fail(const struct source *source, const struct request *request,
		struct strata_error *err)
{
	const char *path = source->paths ? source->paths[request->file] : "a block of memory";

	if (request->rc == -ENODATA)
		return strata_fail(err, -ENODATA,
				   "%.200s: the file was cut short: it ends before byte %" PRId64,
				   path, request->offset + (int64_t)request->need);
	return strata_fail(err, request->rc, "%.200s: cannot be %s at byte %" PRId64 ": %s", path,
			   request->write ? "written" : "read",
			   request->offset + (int64_t)request->done, strerror(-request->rc));
}
