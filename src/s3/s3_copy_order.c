/* An order and its result as lines of JSON, by option tables: what stands in them is a secret,
 * and so they come over a pipe and not as arguments. */
#include "s3/copy.h"

#include "core/env.h"
#include "core/option.h"

#include <strata/limits.h>

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ORDER_BYTES_MAX = 1 << 16 };

static const struct strata_choice whats[] = { { "store", COPY_STORE, NULL },
					      { "fetch", COPY_FETCH, NULL },
					      { "drop", COPY_DROP, NULL },
					      { NULL, 0, NULL } };

#define TEXT(field) { #field, STRATA_TEXT, offsetof(struct copy_order, field), \
		      .text = { NULL, STRATA_PATH_BYTES_MAX } }
static const struct strata_option order_options[] = {
	{ "what", STRATA_ENUM, offsetof(struct copy_order, what), .choice = { whats, COPY_STORE } },
	TEXT(endpoint), TEXT(region), TEXT(bucket), TEXT(access_key), TEXT(secret_key),
	TEXT(session_token), TEXT(key), TEXT(dir), TEXT(name),
	{ "bytes_max", STRATA_INT, offsetof(struct copy_order, bytes_max),
	  .integer = { INT64_MAX, 0, INT64_MAX } },
	{ "retry_ns", STRATA_INT, offsetof(struct copy_order, retry_ns),
	  .integer = { 0, 0, INT64_MAX } },
	{ "part_bytes", STRATA_INT, offsetof(struct copy_order, part_bytes),
	  .integer = { 0, 0, INT64_C(5) << 30 } },
	{ 0 }
};
const struct strata_schema copy_order_schema = { "order", "a copy to store, fetch or drop",
						 sizeof(struct copy_order), order_options };

static const struct strata_option result_options[] = {
	{ "code", STRATA_INT, offsetof(struct copy_told, code), .integer = { 0, -4095, 0 } },
	{ "error", STRATA_TEXT, offsetof(struct copy_told, error), .text = { NULL, 4096 } },
	{ "bytes", STRATA_INT, offsetof(struct copy_told, bytes), .integer = { 0, 0, INT64_MAX } },
	{ "was_there", STRATA_BOOL, offsetof(struct copy_told, was_there) },
	{ 0 }
};
const struct strata_schema copy_result_schema = { "result", "what became of it",
						  sizeof(struct copy_told), result_options };

/* All of standard input. */
static int read_order(int fd, char *text, size_t *ret_length, struct strata_error *err)
{
	size_t length = 0;

	for (;;) {
		ssize_t count = read(fd, text + length, ORDER_BYTES_MAX - length);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return strata_fail(err, -errno, "cannot read: %s", strerror(errno));
		if (count == 0)
			break;
		length += (size_t)count;
		if (length == ORDER_BYTES_MAX)
			return strata_fail(err, -E2BIG, "the order is too long");
	}
	*ret_length = length;
	return 0;
}

static int check_order(const struct copy_order *order, struct strata_error *err)
{
	const char *const texts[] = { order->endpoint, order->region, order->bucket,
				      order->access_key, order->secret_key, order->key,
				      order->dir, order->name };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!texts[i] || !*texts[i])
			return strata_fail(err, -EINVAL, "the order is not complete");
	if (!s3_is_plain(order->key) || strchr(order->name, '/') || order->name[0] == '.')
		return strata_fail(err, -EINVAL, "the order names no checkpoint");
	return 0;
}

static int carry_out(const struct copy_order *order, struct strata_memory *memory,
		     struct copy_result *ret_result, struct strata_error *err)
{
	const struct s3_conf conf = { .endpoint = order->endpoint,
				      .region = order->region,
				      .bucket = order->bucket,
				      .access_key = order->access_key,
				      .secret_key = order->secret_key,
				      .session_token = order->session_token,
				      .retry_ns = order->retry_ns,
				      .part_bytes = order->part_bytes };
	struct s3 *s3;
	int rc = s3_open(&conf, memory, &s3, err);

	if (rc)
		return rc;
	rc = order->what == COPY_STORE   ? copy_store(s3, order, ret_result, err)
	     : order->what == COPY_FETCH ? copy_fetch(s3, order, ret_result, err)
					 : copy_drop(s3, order, ret_result, err);
	s3_close(s3);
	return rc;
}

static int tell(int fd, int rc, const struct copy_result *result, const struct strata_error *why,
		struct strata_error *err)
{
	const struct copy_told told = { .code = rc,
					.error = rc ? why->text : NULL,
					.bytes = result->bytes,
					.was_there = result->was_there };
	json_t *json = option_write_json(&copy_result_schema, &told);
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;

	json_decref(json);
	if (!text)
		return strata_fail_memory(err);
	size_t length = strlen(text);

	text[length] = '\n'; /* in the place of its end */
	ssize_t count = write(fd, text, length + 1); /* it fits into a pipe */

	free(text);
	return count < 0 ? strata_fail(err, -errno, "cannot answer: %s", strerror(errno)) : 0;
}

int copy_run(int in_fd, int out_fd, struct strata_error *err)
{
	char *text = malloc(ORDER_BYTES_MAX);
	struct strata_memory memory = { 0 };
	struct copy_result result = { 0 };
	struct strata_error why = { 0 };
	struct copy_order order;
	struct strata_arena arena;
	size_t length = 0;

	if (!text)
		return strata_fail_memory(err);
	strata_arena_init(&arena, &memory, 0);
	int rc = read_order(in_fd, text, &length, &why);

	if (rc == 0)
		rc = strata_schema_defaults(&copy_order_schema, &arena, &order, &why);
	if (rc == 0)
		rc = strata_schema_read_json(&copy_order_schema, text, length, &arena, &order,
					     &why);
	if (rc == 0)
		rc = check_order(&order, &why);
	if (rc == 0)
		rc = carry_out(&order, &memory, &result, &why);
	rc = tell(out_fd, rc, &result, &why, err);
	memset(text, 0, ORDER_BYTES_MAX);
	free(text);
	strata_arena_fini(&arena);
	return rc;
}
