/*
 * Fetching a copy: beside where it is to be, under a name that counts as nothing, and renamed when
 * every file has the size and the hash that the manifest says.
 */
#include "s3/copy.h"

#include "s3/manifest.h"

#include <strata/limits.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(struct strata_error *err, const char *what, const char *path)
{
	int code = -errno;

	return strata_fail(err, code, "cannot %s %.200s: %s", what, path, strerror(-code));
}

/* What an earlier one left. */
static void remove_tree(int dir, const char *name, int depth)
{
	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT || depth > STRATA_COPY_DEPTH_MAX + 1)
		return;
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	for (const struct dirent *entry; list && (entry = readdir(list));)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			remove_tree(fd, entry->d_name, depth + 1);
	if (list)
		closedir(list);
	unlinkat(dir, name, AT_REMOVEDIR);
}

static int fetch_file(struct s3 *s3, const struct copy_order *order, int root,
		      const struct manifest *manifest, size_t index, struct strata_arena *arena,
		      struct strata_error *err)
{
	const struct manifest_file *file =
		&((const struct manifest_file *)manifest->files.items)[index];
	const char *key = copy_key(order, arena, manifest->version, index);
	int fd = openat(root, file->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return fail(err, "make", file->path);
	int rc = key ? s3_get_file(s3, key, fd, file->size_bytes, file->sha256, err)
		     : strata_fail_memory(err);

	if (rc == -ENOENT) /* the manifest says that it is there */
		rc = strata_fail(err, -EBADMSG, "the copy has lost an object: %s", key);
	if (rc == 0 && (fchmod(fd, (mode_t)file->mode) < 0 || fsync(fd) < 0))
		rc = fail(err, "write", file->path);
	close(fd);
	return rc;
}

static int fetch_dir(struct s3 *s3, const struct copy_order *order, int dir, const char *temp,
		     const struct manifest *manifest, struct strata_arena *arena,
		     struct strata_error *err)
{
	const char *const *names = manifest->directories.items;
	int root = mkdirat(dir, temp, 0700) < 0
			   ? -1
			   : openat(dir, temp, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int rc = root < 0 ? fail(err, "make", temp) : 0;

	for (size_t i = 0; rc == 0 && i < manifest->directories.count; i++)
		if (mkdirat(root, names[i], 0700) < 0)
			rc = fail(err, "make", names[i]);
	for (size_t i = 0; rc == 0 && i < manifest->files.count; i++)
		rc = fetch_file(s3, order, root, manifest, i, arena, err);
	if (rc == 0 && fsync(root) < 0)
		rc = fail(err, "write", temp);
	if (root >= 0)
		close(root);
	return rc;
}

/* One file: its path is the temporary one. */
static int fetch_one(struct s3 *s3, const struct copy_order *order, int dir, const char *temp,
		     const struct manifest *manifest, struct strata_arena *arena,
		     struct strata_error *err)
{
	struct manifest_file file = *(const struct manifest_file *)manifest->files.items;
	struct manifest own = *manifest;

	file.path = temp;
	own.files = (struct strata_list){ &file, 1 };
	return fetch_file(s3, order, dir, &own, 0, arena, err);
}

static int fetch(struct s3 *s3, const struct copy_order *order, int dir,
		 const struct manifest *manifest, struct strata_arena *arena,
		 struct strata_error *err)
{
	static const char temp[] = ".fetched.part"; /* of one job one thing is done at a time */

	if (manifest_bytes(manifest) > order->bytes_max)
		return strata_fail(err, -EBADMSG,
				   "the copy has %lld bytes; the checkpoint had at most %lld",
				   (long long)manifest_bytes(manifest),
				   (long long)order->bytes_max);
	remove_tree(dir, temp, 0);
	int rc = manifest->directory ? fetch_dir(s3, order, dir, temp, manifest, arena, err)
				     : fetch_one(s3, order, dir, temp, manifest, arena, err);

	if (rc == 0 && renameat2(dir, temp, dir, order->name, RENAME_NOREPLACE) < 0 &&
	    errno != EEXIST) /* it has come back meanwhile */
		rc = fail(err, "rename", temp);
	if (rc == 0 && fsync(dir) < 0)
		rc = fail(err, "write", order->dir);
	remove_tree(dir, temp, 0);
	return rc;
}

int copy_fetch(struct s3 *s3, const struct copy_order *order, struct copy_result *ret_result,
	       struct strata_error *err)
{
	struct copy_result result = { 0 };
	struct manifest manifest;
	struct strata_arena arena;
	struct stat info;
	int dir = open(order->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), rc;

	if (dir < 0)
		return fail(err, "open", order->dir);
	strata_arena_init(&arena, s3_memory(s3), 0);
	result.was_there = fstatat(dir, order->name, &info, AT_SYMLINK_NOFOLLOW) == 0;
	rc = result.was_there ? 0 : copy_manifest(s3, order, &arena, &manifest, err);
	if (rc == 0 && !result.was_there) {
		rc = fetch(s3, order, dir, &manifest, &arena, err);
		result.bytes = rc ? 0 : manifest_bytes(&manifest);
	}
	if (rc == 0)
		*ret_result = result;
	strata_arena_fini(&arena);
	close(dir);
	return rc;
}
