/*
 * Storing a copy. What the checkpoint consists of is listed first; its version is a hash of that,
 * so that one which is there is recognised without reading it, and a checkpoint that was written
 * anew under the same name becomes another version beside the old one until it is whole.
 */
#include "s3/copy.h"

#include "s3/manifest.h"

#include "core/text.h"

#include <strata/limits.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct listing {
	struct strata_arena *arena;
	int root; /* the checkpoint: a file or a directory */
	struct manifest_file *files;
	struct timespec *times; /* beside the files: when they were written */
	size_t file_count;
	const char **directories;
	size_t directory_count;
	struct buf about; /* what the version is a hash of */
};

static int fail(struct strata_error *err, const char *path, int code)
{
	return strata_fail(err, -code, "cannot read %.200s of the checkpoint: %s",
			   *path ? path : "the file", strerror(code));
}

static int add_file(struct listing *listing, const char *path, const struct stat *info,
		    struct strata_error *err)
{
	if (listing->file_count == STRATA_COPY_FILES_MAX)
		return strata_fail(err, -E2BIG, "the checkpoint has more than %d files",
				   STRATA_COPY_FILES_MAX);
	listing->times[listing->file_count] = info->st_mtim;
	listing->files[listing->file_count++] = (struct manifest_file){
		.path = path, .size_bytes = info->st_size, .mode = info->st_mode & 0777
	};
	buf_printf(&listing->about, "f %zu %s %lld %lld.%09ld %o\n", strlen(path), path,
		   (long long)info->st_size, (long long)info->st_mtim.tv_sec,
		   info->st_mtim.tv_nsec, (unsigned)info->st_mode & 0777);
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names in an open directory, sorted; takes the descriptor. */
static int read_names(struct listing *listing, int fd, const char *path, const char ***ret_names,
		      size_t *ret_count, struct strata_error *err)
{
	DIR *dir = fdopendir(fd);
	const char **names = strata_arena_array(listing->arena, STRATA_COPY_FILES_MAX,
						sizeof(*names));
	size_t count = 0;
	int rc = dir && names ? 0 : strata_fail_memory(err);

	for (const struct dirent *entry; rc == 0 && (entry = readdir(dir));) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (count == STRATA_COPY_FILES_MAX)
			rc = strata_fail(err, -E2BIG, "%.200s has too many files", path);
		else if (!(names[count++] = strata_arena_text(listing->arena, entry->d_name,
							      strlen(entry->d_name))))
			rc = strata_fail_memory(err);
	}
	if (dir)
		closedir(dir);
	else
		close(fd);
	if (rc)
		return rc;
	qsort(names, count, sizeof(*names), by_name);
	*ret_names = names;
	*ret_count = count;
	return 0;
}

static int list_dir(struct listing *listing, const char *path, size_t depth,
		    struct strata_error *err);

static int list_one(struct listing *listing, const char *path, size_t depth,
		    struct strata_error *err)
{
	struct stat info;

	if (text_printable(path, strlen(path)) < strlen(path))
		return strata_fail(err, -EINVAL,
				   "%.200s of the checkpoint has a name that cannot be shown; such "
				   "are not copied",
				   path);
	if (fstatat(listing->root, path, &info, AT_SYMLINK_NOFOLLOW) < 0)
		return fail(err, path, errno);
	if (S_ISREG(info.st_mode))
		return add_file(listing, path, &info, err);
	if (!S_ISDIR(info.st_mode))
		return strata_fail(err, -EINVAL,
				   "%.200s of the checkpoint is neither a file nor a directory; "
				   "such are not copied",
				   path);
	if (depth >= STRATA_COPY_DEPTH_MAX)
		return strata_fail(err, -E2BIG, "%.200s of the checkpoint is too deep", path);
	if (listing->directory_count == STRATA_COPY_FILES_MAX)
		return strata_fail(err, -E2BIG, "the checkpoint has too many directories");
	listing->directories[listing->directory_count++] = path;
	buf_printf(&listing->about, "d %zu %s\n", strlen(path), path);
	return list_dir(listing, path, depth, err);
}

static int list_dir(struct listing *listing, const char *path, size_t depth,
		    struct strata_error *err)
{
	const char **names;
	size_t count = 0;
	int fd = openat(listing->root, *path ? path : ".",
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int rc = fd < 0 ? fail(err, path, errno)
			: read_names(listing, fd, path, &names, &count, err);

	for (size_t i = 0; rc == 0 && i < count; i++) {
		const char *below = strata_arena_printf(listing->arena, "%s%s%s", path,
							*path ? "/" : "", names[i]);

		rc = below ? list_one(listing, below, depth + 1, err) : strata_fail_memory(err);
	}
	return rc;
}

static int open_file(const struct listing *listing, bool directory, const char *path)
{
	return directory ? openat(listing->root, path,
				  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
			 : fcntl(listing->root, F_DUPFD_CLOEXEC, 0);
}

/* As it was listed, before and after it was read: else somebody writes to it still. */
static int check_same(int fd, const struct manifest_file *file, const struct timespec *time,
		      struct strata_error *err)
{
	struct stat info;

	if (fstat(fd, &info) < 0)
		return fail(err, file->path, errno);
	if (!S_ISREG(info.st_mode) || info.st_size != file->size_bytes ||
	    info.st_mtim.tv_sec != time->tv_sec || info.st_mtim.tv_nsec != time->tv_nsec)
		return strata_fail(err, -ESTALE, "%.200s of the checkpoint is written to still",
				   *file->path ? file->path : "the file");
	return 0;
}

static int store_file(struct s3 *s3, const struct copy_order *order, struct listing *listing,
		      const struct manifest *manifest, size_t index, struct strata_error *err)
{
	struct manifest_file *file = &listing->files[index];
	const char *key = copy_key(order, listing->arena, manifest->version, index);
	int fd = key ? open_file(listing, manifest->directory, file->path) : -1;
	struct digest digest;

	if (!key)
		return strata_fail_memory(err);
	if (fd < 0)
		return fail(err, file->path, errno);
	int rc = check_same(fd, file, &listing->times[index], err);

	if (rc == 0)
		rc = s3_put_file(s3, key, fd, file->size_bytes, &digest, err);
	if (rc == 0)
		rc = check_same(fd, file, &listing->times[index], err);
	close(fd);
	if (rc)
		return rc;
	file->sha256 = strata_arena_text(listing->arena, digest.sha256_hex,
					 strlen(digest.sha256_hex));
	return file->sha256 ? 0 : strata_fail_memory(err);
}

static int store_all(struct s3 *s3, const struct copy_order *order, struct listing *listing,
		     struct manifest *manifest, struct strata_error *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < listing->file_count; i++)
		rc = store_file(s3, order, listing, manifest, i, err);
	char *text = rc ? NULL : manifest_print(manifest);
	const char *key = copy_key(order, listing->arena, NULL, 0);

	if (rc == 0 && (!text || !key))
		rc = strata_fail_memory(err);
	if (rc == 0)
		rc = s3_put_bytes(s3, key, text, strlen(text), err);
	free(text);
	return rc ? rc : copy_sweep(s3, order, manifest->version, err);
}

static int list_all(struct listing *listing, const struct copy_order *order,
		    struct manifest *ret_manifest, struct strata_error *err)
{
	struct stat info;
	struct digest digest;
	int dir = open(order->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return fail(err, order->dir, errno);
	listing->root = openat(dir, order->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int code = listing->root < 0 || fstat(listing->root, &info) < 0 ? errno : 0;

	close(dir);
	if (code)
		return fail(err, order->name, code);
	int rc = S_ISDIR(info.st_mode)   ? list_dir(listing, "", 0, err)
		 : S_ISREG(info.st_mode) ? add_file(listing, "", &info, err)
					 : strata_fail(err, -EINVAL, "%s is no file", order->name);

	if (rc == 0)
		rc = buf_check(&listing->about, err);
	if (rc == 0)
		rc = digest_bytes(listing->about.text ? listing->about.text : "",
				  listing->about.length, &digest, err);
	if (rc)
		return rc;
	*ret_manifest = (struct manifest){
		.version = strata_arena_text(listing->arena, digest.sha256_hex,
					     strlen(digest.sha256_hex)),
		.directory = S_ISDIR(info.st_mode),
		.files = { listing->files, listing->file_count },
		.directories = { listing->directories, listing->directory_count },
	};
	return ret_manifest->version ? 0 : strata_fail_memory(err);
}

int copy_store(struct s3 *s3, const struct copy_order *order, struct copy_result *ret_result,
	       struct strata_error *err)
{
	struct manifest own, there = { 0 };
	struct strata_arena arena;
	struct listing listing = { .arena = &arena, .root = -1 };
	struct copy_result result = { 0 };

	strata_arena_init(&arena, s3_memory(s3), 0);
	buf_init(&listing.about, s3_memory(s3), 0);
	listing.files = strata_arena_array(&arena, STRATA_COPY_FILES_MAX, sizeof(*listing.files));
	listing.times = strata_arena_array(&arena, STRATA_COPY_FILES_MAX, sizeof(*listing.times));
	listing.directories = strata_arena_array(&arena, STRATA_COPY_FILES_MAX,
						 sizeof(*listing.directories));
	int rc = listing.files && listing.times && listing.directories
			 ? list_all(&listing, order, &own, err)
			 : strata_fail_memory(err);

	if (rc == 0) {
		rc = copy_manifest(s3, order, &arena, &there, err);
		result.was_there = rc == 0 && strcmp(there.version, own.version) == 0;
		rc = rc == -ENOENT || rc == -EBADMSG ? 0 : rc; /* none, or none that is good */
	}
	if (rc == 0 && !result.was_there)
		rc = store_all(s3, order, &listing, &own, err);
	if (rc == 0) {
		result.bytes = manifest_bytes(&own);
		*ret_result = result;
	}
	if (listing.root >= 0)
		close(listing.root);
	buf_fini(&listing.about);
	strata_arena_fini(&arena);
	return rc;
}
