/* Manifests, by an option table, and what a table cannot say of them. */
#include "s3/manifest.h"

#include "core/option.h"

#include <strata/limits.h>

#include <errno.h>
#include <jansson.h>
#include <stddef.h>
#include <string.h>

enum { PATH_BYTES_MAX = 4096, HASH_TEXT_BYTES = 64 };

static const struct strata_option file_options[] = {
	{ "path", STRATA_TEXT, offsetof(struct manifest_file, path),
	  .text = { "", PATH_BYTES_MAX } },
	{ "sha256", STRATA_TEXT, offsetof(struct manifest_file, sha256),
	  .text = { NULL, HASH_TEXT_BYTES }, .flags = STRATA_REQUIRED },
	{ "size_bytes", STRATA_INT, offsetof(struct manifest_file, size_bytes),
	  .integer = { 0, 0, INT64_MAX }, .flags = STRATA_REQUIRED },
	{ "mode", STRATA_INT, offsetof(struct manifest_file, mode), .integer = { 0600, 0, 0777 } },
	{ 0 }
};
static const struct strata_schema file_schema = { "file", NULL, sizeof(struct manifest_file),
						  file_options };
static const struct strata_option a_file = { .type = STRATA_TABLE, .table = &file_schema };
static const struct strata_option a_path = { .type = STRATA_TEXT,
					     .text = { NULL, PATH_BYTES_MAX } };

static const struct strata_option manifest_options[] = {
	{ "version", STRATA_TEXT, offsetof(struct manifest, version),
	  .text = { NULL, HASH_TEXT_BYTES }, .flags = STRATA_REQUIRED },
	{ "directory", STRATA_BOOL, offsetof(struct manifest, directory) },
	{ "files", STRATA_LIST, offsetof(struct manifest, files),
	  .list = { &a_file, STRATA_COPY_FILES_MAX } },
	{ "directories", STRATA_LIST, offsetof(struct manifest, directories),
	  .list = { &a_path, STRATA_COPY_FILES_MAX } },
	{ 0 }
};
static const struct strata_schema manifest_schema = { "manifest", "a copy of a checkpoint",
						      sizeof(struct manifest), manifest_options };

static bool is_hash(const char *text)
{
	return strlen(text) == HASH_TEXT_BYTES &&
	       strspn(text, "0123456789abcdef") == HASH_TEXT_BYTES;
}

/* Names with slashes between, none of them nothing, "." or "..". */
static bool stays_below(const char *path)
{
	size_t depth = 0;

	for (const char *at = path;; at++) {
		size_t length = strcspn(at, "/");

		if (length == 0 || length > 255 || ++depth > STRATA_COPY_DEPTH_MAX ||
		    (length == 1 && at[0] == '.') || (length == 2 && at[0] == '.' && at[1] == '.'))
			return false;
		at += length;
		if (!*at)
			return true;
	}
}

static int check(const struct manifest *manifest, struct strata_error *err)
{
	const struct manifest_file *files = manifest->files.items;
	const char *const *directories = manifest->directories.items;
	int64_t sum = 0;

	if (!is_hash(manifest->version))
		return strata_fail(err, -EBADMSG, "the manifest's version is no hash");
	if (!manifest->directory && (manifest->files.count != 1 || manifest->directories.count ||
				     *files[0].path))
		return strata_fail(err, -EBADMSG, "the manifest of a file has more than that");
	for (size_t i = 0; i < manifest->files.count; i++) {
		if (manifest->directory && !stays_below(files[i].path))
			return strata_fail(err, -EBADMSG, "the manifest has a file '%.100s'",
					   files[i].path);
		if (!is_hash(files[i].sha256))
			return strata_fail(err, -EBADMSG, "the manifest has a hash that is none");
		if (__builtin_add_overflow(sum, files[i].size_bytes, &sum))
			return strata_fail(err, -EBADMSG, "the manifest's files are too large");
	}
	for (size_t i = 0; i < manifest->directories.count; i++)
		if (!stays_below(directories[i]))
			return strata_fail(err, -EBADMSG, "the manifest has a directory '%.100s'",
					   directories[i]);
	return 0;
}

int manifest_read(const char *text, size_t length, struct strata_arena *arena,
		  struct manifest *ret_manifest, struct strata_error *err)
{
	struct manifest manifest;
	struct strata_error why = { 0 };
	int rc = strata_schema_defaults(&manifest_schema, arena, &manifest, err);

	if (rc)
		return rc;
	rc = strata_schema_read_json(&manifest_schema, text, length, arena, &manifest, &why);
	if (rc)
		return strata_fail(err, rc == -ENOMEM ? rc : -EBADMSG,
				   "the copy's manifest cannot be read: %s", why.text);
	rc = check(&manifest, err);
	if (rc == 0)
		*ret_manifest = manifest;
	return rc;
}

char *manifest_print(const struct manifest *manifest)
{
	json_t *json = option_write_json(&manifest_schema, manifest);
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;

	json_decref(json);
	return text;
}

int64_t manifest_bytes(const struct manifest *manifest)
{
	const struct manifest_file *files = manifest->files.items;
	int64_t sum = 0;

	for (size_t i = 0; i < manifest->files.count; i++)
		sum += files[i].size_bytes;
	return sum;
}
