/*
 * Errors: one sentence for people, one code for programs, and the one table that says how a code
 * looks over HTTP, in JSON and as an exit status. A sentence has others' texts in it and goes to terminals, logs and JSON:
 * what is not printable in it is escaped here, once. Nothing here allocates.
 */
#include "core/error.h"

#include "core/text.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct strata_error_kind kinds[] = {
	{ -EINVAL, 400, STRATA_EXIT_USAGE, "invalid" },
	{ -ERANGE, 400, STRATA_EXIT_USAGE, "out_of_range" },
	{ -ENAMETOOLONG, 400, STRATA_EXIT_USAGE, "invalid" },
	{ -ENOKEY, 401, STRATA_EXIT_REFUSED, "unauthorized" },
	{ -EACCES, 403, STRATA_EXIT_REFUSED, "forbidden" },
	{ -EPERM, 403, STRATA_EXIT_REFUSED, "forbidden" },
	{ -EROFS, 403, STRATA_EXIT_REFUSED, "read_only" },
	{ -ENOENT, 404, STRATA_EXIT_NOT_FOUND, "not_found" },
	{ -ESRCH, 404, STRATA_EXIT_NOT_FOUND, "not_found" },
	{ -EEXIST, 409, STRATA_EXIT_CONFLICT, "conflict" },
	{ -EBUSY, 409, STRATA_EXIT_CONFLICT, "conflict" },
	{ -ECANCELED, 409, STRATA_EXIT_CONFLICT, "conflict" },
	{ -ESTALE, 409, STRATA_EXIT_CONFLICT, "stale" },
	{ -E2BIG, 413, STRATA_EXIT_REFUSED, "too_large" },
	{ -EDOM, 422, STRATA_EXIT_REFUSED, "impossible" },
	{ -EBADMSG, 422, STRATA_EXIT_FAILED, "malformed" },
	{ -EDQUOT, 429, STRATA_EXIT_REFUSED, "quota" },
	{ -EIO, 500, STRATA_EXIT_FAILED, "internal" },
	{ -ENOTSUP, 501, STRATA_EXIT_FAILED, "unsupported" },
	{ -ENOMEM, 503, STRATA_EXIT_FAILED, "out_of_memory" },
	{ -EAGAIN, 503, STRATA_EXIT_UNREACHABLE, "unavailable" },
	{ -ECONNREFUSED, 503, STRATA_EXIT_UNREACHABLE, "unavailable" },
	{ -ECONNRESET, 503, STRATA_EXIT_UNREACHABLE, "unavailable" },
	{ -ETIMEDOUT, 504, STRATA_EXIT_UNREACHABLE, "timed_out" },
	{ -ENOSPC, 507, STRATA_EXIT_FAILED, "no_space" },
};

void error_print(char *to, size_t room, const char *format, va_list args)
{
	char raw[2 * STRATA_ERROR_TEXT_BYTES];

	vsnprintf(raw, sizeof(raw), format, args);
	text_show_cut(to, room, raw);
}

static void set_text(struct strata_error *err, int code, const char *format, va_list args)
{
	error_print(err->text, sizeof(err->text), format, args);
	err->code = code;
}

int(strata_fail)(struct strata_error *err, int code, const char *format, ...)
{
	assert(code < 0);
	if (err) {
		va_list args;

		va_start(args, format);
		set_text(err, code, format, args);
		va_end(args);
		err->field[0] = '\0';
	}
	return code;
}

int(strata_fail_at)(struct strata_error *err, int code, const char *field, const char *format, ...)
{
	assert(code < 0);
	if (err) {
		va_list args;

		va_start(args, format);
		set_text(err, code, format, args);
		va_end(args);
		text_show_cut(err->field, sizeof(err->field), field);
	}
	return code;
}

int(strata_fail_under)(struct strata_error *err, int code, const char *prefix, ...)
{
	char joined[2 * STRATA_ERROR_FIELD_BYTES];
	va_list args;

	if (!err)
		return code;
	va_start(args, prefix);
	int length = vsnprintf(joined, sizeof(joined), prefix, args);
	va_end(args);
	if (length < 0 || length >= STRATA_ERROR_FIELD_BYTES)
		return err->code;
	if (err->field[0])
		snprintf(joined + length, sizeof(joined) - (size_t)length, "%s%s",
			 err->field[0] == '[' ? "" : ".", err->field);
	text_show_cut(err->field, sizeof(err->field), joined);
	return err->code;
}

int(strata_fail_memory)(struct strata_error *err)
{
	return strata_fail(err, -ENOMEM,
			   "out of memory, or past the memory limit set for this call");
}

const struct strata_error_kind *strata_error_kind_at(size_t index)
{
	return index < sizeof(kinds) / sizeof(kinds[0]) ? &kinds[index] : NULL;
}

const struct strata_error_kind *strata_error_kind(int code)
{
	const struct strata_error_kind *kind, *fallback = NULL;

	for (size_t i = 0; (kind = strata_error_kind_at(i)); i++) {
		if (kind->code == code)
			return kind;
		if (kind->code == -EIO)
			fallback = kind;
	}
	return fallback;
}
