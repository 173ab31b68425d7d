/* The files of results.h. Written beside their place under a name of their own, synced, renamed,
 * and the directory synced: a file of that name is whole or not there. */
#include "server/results.h"

#include "core/env_trust.h"
#include "server/front.h"

#include <strata/limits.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = STRATA_PATH_BYTES_MAX + 128 };

static void path_of(char path[PATH_BYTES], const char *state_dir, const char *name)
{
	snprintf(path, PATH_BYTES, "%.*s/results/%.100s", STRATA_PATH_BYTES_MAX, state_dir, name);
}

int results_open(const struct env *env, const char *state_dir, struct strata_error *err)
{
	char path[PATH_BYTES];

	path_of(path, state_dir, "");
	path[strlen(path) - 1] = '\0';
	return env_trust_make_dir(env, path, 0700, ENV_TRUST_OWN_DIR, "the directory of results",
				  err);
}

static uint32_t number_at(const unsigned char *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       bytes[3];
}

int results_check_png(const void *bytes_any, size_t size_bytes, uint32_t *ret_width,
		      uint32_t *ret_height, struct strata_error *err)
{
	static const unsigned char begin[] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n',
					       0,    0,   0,   13,  'I',  'H',  'D',  'R' };
	static const unsigned char end[] = {
		0, 0, 0, 0, 'I', 'E', 'N', 'D', 0xae, 0x42, 0x60, 0x82
	};
	const unsigned char *bytes = bytes_any;

	if (size_bytes < 33 + sizeof(end) || memcmp(bytes, begin, sizeof(begin)) != 0 ||
	    memcmp(bytes + size_bytes - sizeof(end), end, sizeof(end)) != 0)
		return strata_fail(err, -EBADMSG, "the body has %zu bytes and is no PNG file",
				   size_bytes);
	uint32_t width = number_at(bytes + 16), height = number_at(bytes + 20);

	if (width < 1 || width > STRATA_IMAGE_SIDE_MAX || height < 1 ||
	    height > STRATA_IMAGE_SIDE_MAX)
		return strata_fail(err, -EBADMSG,
				   "the picture is %u by %u; expected 1 to %d on each side", width,
				   height, STRATA_IMAGE_SIDE_MAX);
	*ret_width = width;
	*ret_height = height;
	return 0;
}

/* Everything, synced, and closed whatever happens; 0 or an errno. */
static int fill(int fd, const char *bytes, size_t size_bytes)
{
	int code = 0;

	for (size_t done = 0; done < size_bytes && !code;) {
		ssize_t count = write(fd, bytes + done, size_bytes - done);

		if (count < 0 && errno != EINTR)
			code = errno;
		else if (count > 0)
			done += (size_t)count;
	}
	if (!code && fsync(fd))
		code = errno;
	if (close(fd) && !code)
		code = errno;
	return code;
}

static int sync_dir(const char *state_dir)
{
	char path[PATH_BYTES];
	int fd, code = 0;

	path_of(path, state_dir, "");
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd))
		code = errno;
	if (fd >= 0)
		close(fd);
	return code;
}

int results_put(const char *state_dir, const void *bytes, size_t size_bytes,
		char ret_hash[STORE_HASH_BYTES], struct strata_error *err)
{
	static atomic_uint number;
	char hash[STORE_HASH_BYTES], name[64], path[PATH_BYTES], part[PATH_BYTES];
	int64_t there;

	store_blob_hash(bytes, size_bytes, hash);
	snprintf(name, sizeof(name), "part-%d-%u", (int)getpid(), atomic_fetch_add(&number, 1));
	path_of(path, state_dir, hash);
	path_of(part, state_dir, name);
	if (!results_have(state_dir, hash, &there) || there != (int64_t)size_bytes) {
		int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
		int code = fd < 0 ? errno : fill(fd, bytes, size_bytes);

		if (!code && rename(part, path))
			code = errno;
		if (!code)
			code = sync_dir(state_dir);
		if (code) {
			unlink(part);
			return strata_fail(err, -code, "cannot write the picture %.200s: %s", path,
					   strerror(code));
		}
	}
	memcpy(ret_hash, hash, STORE_HASH_BYTES);
	return 0;
}

static bool is_hash(const char *text)
{
	return strlen(text) == STORE_HASH_BYTES - 1 &&
	       strspn(text, "0123456789abcdef") == STORE_HASH_BYTES - 1;
}

int results_open_file(const char *state_dir, const char *hash, uint64_t *ret_bytes,
		      struct strata_error *err)
{
	char path[PATH_BYTES];
	struct stat info;
	int fd = -1;

	path_of(path, state_dir, hash);
	if (is_hash(hash))
		fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &info) == 0) {
		*ret_bytes = (uint64_t)info.st_size;
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return strata_fail(err, -ENOENT, "the picture %.64s is not there any more", hash);
}

void results_answer(struct request *request, const char *hash)
{
	struct strata_error err = { 0 };
	int fd = results_open_file(request->front->conf->state_dir, hash, &request->file_bytes,
				   &err);

	if (fd < 0) {
		request->etag = NULL;
		if (fd == -ENOENT)
			request_refuse(request, MHD_HTTP_GONE, "gone",
				       "the picture is not kept any more (result_keep, result_max)");
		else
			request_fail(request, fd, &err);
		return;
	}
	request_answer_file(request, fd, "image/png");
}

void results_remove(const char *state_dir, const char *hash)
{
	char path[PATH_BYTES];

	path_of(path, state_dir, hash);
	if (is_hash(hash))
		unlink(path);
}

void results_each(const char *state_dir, int64_t before_s,
		  void (*each)(void *context, const char *hash), void *context)
{
	char path[PATH_BYTES];
	struct dirent *entry;
	struct stat info;

	path_of(path, state_dir, "");
	DIR *dir = opendir(path);

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' ||
		    fstatat(dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) ||
		    info.st_mtime >= before_s)
			continue;
		if (is_hash(entry->d_name))
			each(context, entry->d_name);
		else if (strncmp(entry->d_name, "part-", 5) == 0)
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	if (dir)
		closedir(dir);
}

bool results_have(const char *state_dir, const char *hash, int64_t *ret_bytes)
{
	char path[PATH_BYTES];
	struct stat info;

	path_of(path, state_dir, hash);
	if (!is_hash(hash) || lstat(path, &info) || !S_ISREG(info.st_mode))
		return false;
	*ret_bytes = info.st_size;
	return true;
}
