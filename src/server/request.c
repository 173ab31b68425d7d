/* Answers and parts of a request: see request.h. */
#include "server/request.h"
#include "core/option.h"

#include "core/buf.h"
#include "core/error.h"
#include "core/text.h"
#include "server/front.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <assert.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const roles[] = { "none", "read-only", "user", "operator", "admin" };

const char *role_name(enum role role)
{
	return roles[role];
}

enum role role_find(const char *name)
{
	for (int i = ROLE_READER; i <= ROLE_ADMIN; i++)
		if (strcmp(roles[i], name) == 0)
			return (enum role)i;
	return ROLE_NONE;
}

void request_answer(struct request *request, int status, json_t *json)
{
	char *text = json ? json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

	json_decref(json);
	request_give_text(request, status, NULL, text);
}

/* A document that people may see on a terminal, too: what cannot be seen in its strings is escaped.
 * An earlier version may have taken it in. */
static char *show_json(char *text)
{
	size_t length = strlen(text);
	struct strata_memory memory = { 0 };
	struct buf buf;

	if (text_printable(text, length) == length)
		return text;
	buf_init(&buf, &memory, 0);
	text_show_json(&buf, text, length);
	char *shown = buf.failed ? NULL : strdup(buf.text);

	buf_fini(&buf);
	free(text);
	return shown;
}

void request_answer_text(struct request *request, int status, const char *media, const char *text)
{
	request_give_text(request, status, media, strdup(text));
}

void request_give_text(struct request *request, int status, const char *media, char *text)
{
	static const char no_memory[] = "{\"error\":{\"code\":\"out_of_memory\",\"message\":"
					"\"out of memory; try again\",\"field\":null}}";

	free(request->text);
	if (text && !media)
		text = show_json(text);
	if (!text) {
		text = strdup(no_memory);
		status = MHD_HTTP_SERVICE_UNAVAILABLE;
		media = NULL;
	}
	request->text = text;
	request->text_bytes = 0;
	request->status = status;
	request->media = media;
	request->answered = true;
}

void request_give_bytes(struct request *request, int status, const char *media, char *bytes,
			size_t count)
{
	request_give_text(request, status, media, bytes);
	if (bytes)
		request->text_bytes = count;
}

void request_add_header(struct request *request, const char *name, const char *value)
{
	assert(request->header_count < REQUEST_HEADERS_MAX);
	request->headers[request->header_count++] = (struct request_header){ name, value };
}

void request_answer_empty(struct request *request, int status)
{
	free(request->text);
	request->text = NULL;
	request->text_bytes = 0;
	request->status = status;
	request->answered = true;
}

int request_read_time(struct request *request, const char *field, const char *text, int64_t *ret_ns,
		      struct strata_error *err)
{
	if (!text || strata_time_parse(text, STRATA_TEXT_NUL, common_now_ns(request->front->common),
				       0, ret_ns, err) == 0)
		return 0;
	return strata_fail_under(err, -EINVAL, "%s", field);
}

void request_answer_file(struct request *request, int fd, const char *media)
{
	request_answer_empty(request, 200);
	request->media = media;
	request->has_file = true;
	request->file_fd = fd;
}

#define OPENAI "/v1/" /* whose clients know errors of another form, which ours can have as well */

static const char *openai_type(int status)
{
	return status == 401   ? "authentication_error"
	       : status == 403 ? "permission_error"
	       : status == 429 ? "rate_limit_error"
	       : status >= 500 ? "server_error"
			       : "invalid_request_error";
}

static void answer_error(struct request *request, int status, const char *code, const char *message,
			 const char *field)
{
	json_t *error = json_pack("{s:s,s:s,s:s?}", "code", code, "message", message, "field",
				  field && *field ? field : NULL);

	if (error && request->path && strncmp(request->path, OPENAI, strlen(OPENAI)) == 0) {
		json_object_set_new(error, "type", json_string(openai_type(status)));
		json_object_set_new(error, "param",
				    field && *field ? json_string(field) : json_null());
	}
	request_answer(request, status, json_pack("{s:o}", "error", error));
}

void request_refuse(struct request *request, int status, const char *code, const char *format, ...)
{
	char message[512];
	va_list args;

	va_start(args, format);
	error_print(message, sizeof(message), format, args);
	va_end(args);
	answer_error(request, status, code, message, NULL);
}

void request_fail(struct request *request, int code, const struct strata_error *err)
{
	const struct strata_error_kind *kind = strata_error_kind(code);

	answer_error(request, kind->http_status, kind->name, err->text, err->field);
}

/* Values of a JSON text, as its brackets and commas tell: each costs some 250 bytes and a
 * microsecond once it is read. */
static size_t count_values(const char *text, size_t length)
{
	bool in_text = false;
	size_t count = 0;

	for (size_t i = 0; i < length; i++) {
		if (in_text && text[i] == '\\')
			i++; /* whatever is escaped */
		else if (text[i] == '"')
			in_text = !in_text;
		else if (!in_text)
			count += text[i] == '{' || text[i] == '[' || text[i] == ',';
	}
	return count;
}

json_t *request_json(struct request *request)
{
	json_error_t error;

	if (count_values(request->body, request->body_length) > STRATA_SERVER_BODY_VALUES_MAX) {
		request_refuse(request, 413, "too_large",
			       "the body has more than %d values; send several requests",
			       STRATA_SERVER_BODY_VALUES_MAX);
		return NULL;
	}
	json_t *json = json_loadb(request->body ? request->body : "", request->body_length,
				  JSON_REJECT_DUPLICATES, &error);

	if (!json)
		request_refuse(request, 400, "invalid", "the body is not JSON: line %d, %s",
			       error.line, option_json_words(&error));
	else if (!json_is_object(json)) {
		json_decref(json);
		json = NULL;
		request_refuse(request, 400, "invalid", "the body is not a JSON object");
	}
	return json;
}

bool request_read(struct request *request, const struct strata_schema *schema)
{
	struct strata_error err = { 0 };
	void *conf = strata_arena_get(&request->arena, schema->conf_size);
	int rc = conf ? strata_schema_defaults(schema, &request->arena, conf, &err)
		      : strata_fail_memory(&err);

	if (rc == 0)
		rc = strata_schema_read_json(schema, request->body_length ? request->body : "{}",
					     request->body_length ? request->body_length : 2,
					     &request->arena, conf, &err);
	request->parsed = conf;
	if (rc)
		request_fail(request, rc, &err);
	return rc == 0;
}
