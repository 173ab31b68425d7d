/* Answers of the server: a document, or an error that becomes one of ours, by its code first and else by its status. */
#include "client/client.h"

#include <strata/limits.h>

#include <errno.h>
#include <string.h>

/* The codes of docs/api.md. */
static const struct {
	const char *name;
	int code;
} codes[] = {
	{ "conflict", -EBUSY },   { "exists", -EEXIST },       { "forbidden", -EACCES },
	{ "internal", -EIO },     { "invalid", -EINVAL },      { "method", -ENOTSUP },
	{ "not_found", -ENOENT }, { "quota", -EDQUOT },        { "stale", -ESTALE },
	{ "too_large", -E2BIG },  { "unauthorized", -ENOKEY }, { "unavailable", -EAGAIN },
};

static int code_of(long status, const char *name)
{
	const struct strata_error_kind *kind;

	for (size_t i = 0; name && i < sizeof(codes) / sizeof(codes[0]); i++)
		if (strcmp(codes[i].name, name) == 0)
			return codes[i].code;
	if (status == 502 || status == 503)
		return -EAGAIN;
	for (size_t i = 0; (kind = strata_error_kind_at(i)); i++)
		if (kind->http_status == status)
			return kind->code;
	return status >= 400 && status < 500 ? -EINVAL : -EIO;
}

static int read_error(long status, const json_t *json, struct strata_error *err)
{
	const json_t *error = json_object_get(json, "error");
	const char *message = json_string_value(json_object_get(error, "message"));
	const char *field = json_string_value(json_object_get(error, "field"));
	const char *leader = json_string_value(json_object_get(error, "leader"));
	int code = code_of(status, json_string_value(json_object_get(error, "code")));

	if (!leader)
		leader = json_string_value(json_object_get(json, "leader"));
	if (!message)
		return strata_fail(err, code, "the server answered with status %ld", status);
	return strata_fail_at(err, code, field ? field : "", "%s%s%s", message,
			      leader ? "; the server that leads is " : "", leader ? leader : "");
}

int answer_read(long status, const char *text, size_t length, json_t **ret_json,
		struct strata_error *err)
{
	json_t *json = NULL;
	bool good = status >= 200 && status < 300;
	int rc = length ? option_load_json(text, length, &json, err) : 0;

	if (rc == -ENOMEM)
		return rc;
	if (good && rc)
		return strata_fail(err, -EBADMSG, "the server's answer is not JSON; is it strata?");
	if (good) {
		*ret_json = json ? json : json_null();
		return 0;
	}
	rc = read_error(status, json, err);
	json_decref(json);
	return rc;
}
