/*
 * What a copy of a checkpoint consists of. It is written when all of its files are there, so that a
 * copy with a manifest is whole; a new version gets files of its own, and takes the place of the
 * old one when its manifest does.
 */
#ifndef S3_MANIFEST_H
#define S3_MANIFEST_H

#include <strata/error.h>
#include <strata/memory.h>
#include <strata/option.h>

#include <stdint.h>

struct manifest_file {
	const char *path;   /* below the checkpoint; "" where it is one file */
	const char *sha256; /* hexadecimal */
	int64_t size_bytes;
	int64_t mode; /* its permissions */
};

struct manifest {
	const char *version; /* hexadecimal: of names, sizes and times, before anything is read */
	bool directory;      /* of files; else it is one */
	struct strata_list files;       /* of struct manifest_file; file N is object VERSION/N */
	struct strata_list directories; /* of const char *: each behind the one that it is in */
};

/* Reads one that somebody may have changed: every path stays below the checkpoint, nothing is
 * larger than its limit. Texts in the arena. */
int manifest_read(const char *text, size_t length, struct strata_arena *arena,
		  struct manifest *ret_manifest, struct strata_error *err);
/* As JSON, malloc's; NULL for lack of memory. */
char *manifest_print(const struct manifest *manifest);
int64_t manifest_bytes(const struct manifest *manifest);

#endif
