#include "stream_sample.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

static struct strata_error err;

TEST(a_disk_without_room_for_changes_is_said_when_opening)
{
	struct sample sample;
	struct rlimit old, small = { 1 << 16, RLIM_INFINITY };

	sample_make(&sample, (int64_t[]){ 100000, 100000 }, 2, 1 << 20, 1);
	sample.conf.changes_dir = test_temp_dir();
	CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
	small.rlim_max = old.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
	int rc = strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err);

	setrlimit(RLIMIT_FSIZE, &old);
	CHECK_INT(rc, -EFBIG);
	CHECK(strstr(err.text, "no room for changes"));
	sample_free(&sample);
}

TEST(files_are_read_directly_unless_told_otherwise)
{
	struct sample sample;

	sample_make(&sample, (int64_t[]){ 1000 }, 1, 1 << 20, 1);
	CHECK_OK(strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err));
	void *block = aligned_alloc(4096, 4096);
	int fd = open(sample.path, O_RDONLY | O_DIRECT);
	bool can = fd >= 0 && pread(fd, block, 4096, 0) > 0, direct;

	close(fd);
	free(block);
	direct = fcntl(sample.stream->source.fds[0], F_GETFL) & O_DIRECT;
	CHECK_INT(direct, can);
	CHECK_INT(sample.stream->source.direct, direct);
	strata_stream_close(sample.stream);
	sample.conf.cached = true;
	CHECK_OK(strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err));
	CHECK(!sample.stream->source.direct);
	CHECK(!(fcntl(sample.stream->source.fds[0], F_GETFL) & O_DIRECT));
	CHECK_OK(sample_step(&sample, &err));
	sample_free(&sample);
}

/* tmpfs, on many kernels, or a file system that only pretends: through the cache, then. */
TEST(a_file_system_that_cannot_is_read_through_the_cache)
{
	struct sample sample;
	char path[] = "/dev/shm/strata-source-XXXXXX";
	int fd = mkstemp(path);

	if (fd < 0)
		test_skip("there is no /dev/shm");
	sample_make(&sample, (int64_t[]){ 50000, 1234 }, 2, 1 << 20, 1);
	CHECK(write(fd, sample.bytes, sample.size) == (ssize_t)sample.size);
	close(fd);
	sample.conf.paths = (const char *const[]){ path };
	sample.conf.changes_dir = "/dev/shm";
	int rc = strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err);

	if (rc == 0)
		rc = sample_step(&sample, &err);
	unlink(path);
	CHECK_INT(rc, 0);
	sample_free(&sample);
}

/* A limit on open files that has room for the model and for nothing else stands for a kernel without io_uring. */
TEST(where_there_is_no_io_uring_threads_read)
{
	struct sample sample;
	struct rlimit old, small;

	sample_make(&sample, (int64_t[]){ 50000, 1234 }, 2, 1 << 20, 1);
	int next = dup(0);

	CHECK(next >= 0 && close(next) == 0 && getrlimit(RLIMIT_NOFILE, &old) == 0);
	small = (struct rlimit){ (rlim_t)next + 1, old.rlim_max };
	CHECK(setrlimit(RLIMIT_NOFILE, &small) == 0);
	int rc = strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err);

	setrlimit(RLIMIT_NOFILE, &old);
	CHECK_INT(rc, 0);
	CHECK_TEXT(sample.stream->source.channel_name, "threads");
	CHECK_OK(sample_step(&sample, &err));
	strata_stream_close(sample.stream);
	sample.stream = NULL;
	sample.conf.channel = STRATA_STREAM_URING; /* who insists is told */
	CHECK(setrlimit(RLIMIT_NOFILE, &small) == 0);
	rc = strata_stream_open(&sample.conf, &sample.memory, &sample.stream, &err);
	setrlimit(RLIMIT_NOFILE, &old);
	CHECK_INT(rc, -EMFILE);
	CHECK(strstr(err.text, "the kernel has no io_uring"));
	sample_free(&sample);
}

TEST(failures_name_the_file_and_the_place)
{
	struct source source = { .paths = (const char *[]){ "a", "b" }, .file_count = 1 };
	struct request request = {
		.file = 1, .offset = 4096, .done = 100, .need = 200, .rc = -EIO
	};

	CHECK_ERROR(source_fail(&source, &request, &err), -EIO, "b: cannot be read at byte 4196");
	request.write = true;
	CHECK_ERROR(source_fail(&source, &request, &err), -EIO, "b: cannot be written");
	request.rc = -ENODATA;
	CHECK_ERROR(source_fail(&source, &request, &err), -ENODATA, "it ends before byte 4296");
	source.paths = NULL;
	CHECK_ERROR(source_fail(&source, &request, &err), -ENODATA, "a block of memory");
}
