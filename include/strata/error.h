/*
 * Errors. A function returns 0 or a negative errno code, and fills the caller's struct strata_error
 * with one sentence: what was wrong, which value, what was expected.
 *
 * The struct belongs to the caller and is never required: pass NULL when the code alone will do.
 * It holds no pointers, so it may be copied and needs no clean-up.
 */
#ifndef STRATA_ERROR_H
#define STRATA_ERROR_H

#include <stdarg.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum {
	STRATA_ERROR_FIELD_BYTES = 96,
	STRATA_ERROR_TEXT_BYTES = 400,
};

struct strata_error {
	int code; /* 0, or the negative errno code that was returned */
	/* path of the option at fault: "nodes[2].gpus"; "" if none */
	char field[STRATA_ERROR_FIELD_BYTES];
	char text[STRATA_ERROR_TEXT_BYTES]; /* one sentence, no newline, no full stop at the end */
};

/* How the rest of the world sees a code. */
struct strata_error_kind {
	int code;         /* negative errno */
	int http_status;  /* 400 … 599 */
	int exit_code;    /* enum strata_exit */
	const char *name; /* "not_found": the "code" of a JSON error, stable */
};

/* Exit codes of the program; part of its interface. */
enum strata_exit {
	STRATA_EXIT_OK = 0,
	STRATA_EXIT_FAILED = 1,
	STRATA_EXIT_USAGE = 2,
	STRATA_EXIT_NOT_FOUND = 3,
	STRATA_EXIT_REFUSED = 4,
	STRATA_EXIT_UNREACHABLE = 5,
	STRATA_EXIT_CONFLICT = 6,
};

/* Sets code and sentence (cut to fit at a character's edge), clears the field, returns code.
 * code must be negative; err may be NULL. */
int strata_fail(struct strata_error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same with the path of the option at fault. */
int strata_fail_at(struct strata_error *err, int code, const char *field, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Puts "prefix" in front of the field of an error that is already set: "gpus" becomes "nodes[2].gpus"
 * for prefix "nodes[2]". Returns err's code (or `code` when err is NULL). */
int strata_fail_under(struct strata_error *err, int code, const char *prefix, ...)
	__attribute__((format(printf, 3, 4)));

/* -ENOMEM with the usual sentence. */
int strata_fail_memory(struct strata_error *err);

/* The row for a code; codes without a row of their own give the row of -EIO ("internal", 500, 1).
 * Never NULL; static storage. */
const struct strata_error_kind *strata_error_kind(int code);

/* The row at an index, in table order, or NULL past the end: for documents and tests. */
const struct strata_error_kind *strata_error_kind_at(size_t index);

#ifdef __clang_analyzer__ /* which does not look into other files: what these return */
#define strata_fail(err, code, ...) (strata_fail(err, code, __VA_ARGS__), (code))
#define strata_fail_at(err, code, ...) (strata_fail_at(err, code, __VA_ARGS__), (code))
#define strata_fail_under(err, code, ...) (strata_fail_under(err, code, __VA_ARGS__), (code))
#define strata_fail_memory(err) (strata_fail_memory(err), -12)
#endif

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
