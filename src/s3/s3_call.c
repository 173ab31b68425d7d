/*
 * One request to S3, by libcurl, which signs it. The hash of the body is in the signature, so that
 * what arrives is what was meant. Nothing is followed: not a redirect, not an address in an answer.
 * libcurl 7.88 signs the query as it stands, so it is given sorted and escaped, and it signs every
 * header that it is given, so none is given that is not sent ("Expect:").
 */
#include "s3/s3.h"

#include "s3/s3_xml.h"

#include "core/env.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

enum { CONNECT_SECONDS = 10, SLOW_SECONDS = 60, SLOW_BYTES = 1, EXPECT_MS = 200 };
#define USUAL_RETRY_NS (300 * STRATA_MS_NS)
#define USUAL_PART_BYTES (16 << 20)
#define NO_BODY_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

struct s3 {
	struct s3_conf conf;
	struct strata_memory *memory;
	CURL *curl;
	char problem[CURL_ERROR_SIZE];
};

/* One try. */
struct exchange {
	struct s3 *s3;
	const struct s3_request *request;
	struct s3_answer *answer;
	int64_t sent;
	int sink_rc;
	bool too_large;
};

int s3_open(const struct s3_conf *conf, struct strata_memory *memory, struct s3 **ret_s3,
	    struct strata_error *err)
{
	struct s3 *s3 = strata_memory_get(memory, sizeof(*s3));

	if (!s3)
		return strata_fail_memory(err);
	*s3 = (struct s3){ .conf = *conf, .memory = memory, .curl = curl_easy_init() };
	if (!s3->curl) {
		strata_memory_put(memory, s3, sizeof(*s3));
		return strata_fail_memory(err);
	}
	*ret_s3 = s3;
	return 0;
}

void s3_close(struct s3 *s3)
{
	if (!s3)
		return;
	curl_easy_cleanup(s3->curl);
	strata_memory_put(s3->memory, s3, sizeof(*s3));
}

struct strata_memory *s3_memory(const struct s3 *s3)
{
	return s3->memory;
}

void s3_answer_init(struct s3 *s3, struct s3_answer *answer)
{
	*answer = (struct s3_answer){ 0 };
	buf_init(&answer->body, s3->memory, STRATA_S3_ANSWER_BYTES_MAX);
}

void s3_answer_fini(struct s3_answer *answer)
{
	buf_fini(&answer->body);
}

void s3_escape(struct buf *query, const char *text)
{
	for (; *text; text++)
		if ((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
		    (*text >= '0' && *text <= '9') || strchr("-._~", *text))
			buf_add_char(query, *text);
		else
			buf_printf(query, "%%%02X", (unsigned char)*text);
}

/* No more parts than S3 has, each as large as it takes. */
int64_t s3_part_bytes(const struct s3 *s3, int64_t size_bytes)
{
	int64_t part = s3->conf.part_bytes ? s3->conf.part_bytes : USUAL_PART_BYTES;

	while (size_bytes / part >= STRATA_S3_PARTS_MAX)
		part *= 2;
	return part;
}

void s3_pause(const struct s3 *s3, int tries)
{
	int64_t wait_ns = s3->conf.retry_ns ? s3->conf.retry_ns : USUAL_RETRY_NS;
	uint32_t chance = 0;

	env_random(env_system(), &chance, sizeof(chance), NULL);
	for (int i = 1; i < tries; i++)
		wait_ns *= 3;
	wait_ns = wait_ns / 2 + (int64_t)((double)wait_ns * chance / UINT32_MAX);
	struct timespec pause = { .tv_sec = wait_ns / STRATA_SECOND_NS,
				  .tv_nsec = wait_ns % STRATA_SECOND_NS };

	nanosleep(&pause, NULL);
}

/* ---- bytes out and in ---- */

static size_t give(char *bytes, size_t size, size_t count, void *context)
{
	struct exchange *exchange = context;
	const struct s3_request *request = exchange->request;
	int64_t left = request->size_bytes - exchange->sent;
	size_t want = size * count < (size_t)left ? size * count : (size_t)left;

	if (request->bytes) {
		memcpy(bytes, (const char *)request->bytes + exchange->sent, want);
	} else if (want) {
		ssize_t done = pread(request->fd, bytes, want, request->offset + exchange->sent);

		if (done <= 0)
			return CURL_READFUNC_ABORT; /* shorter than it was */
		want = (size_t)done;
	}
	exchange->sent += (int64_t)want;
	return want;
}

/* libcurl sends it again when a connection that it kept turns out to be closed. */
static int rewind_body(void *context, curl_off_t offset, int origin)
{
	struct exchange *exchange = context;

	if (origin != SEEK_SET)
		return CURL_SEEKFUNC_CANTSEEK;
	exchange->sent = offset;
	return CURL_SEEKFUNC_OK;
}

static size_t take(char *bytes, size_t size, size_t count, void *context)
{
	struct exchange *exchange = context;
	struct buf *body = &exchange->answer->body;
	long status = 0;

	curl_easy_getinfo(exchange->s3->curl, CURLINFO_RESPONSE_CODE, &status);
	if (exchange->request->sink && status >= 200 && status < 300) {
		exchange->sink_rc = exchange->request->sink(exchange->request->sink_context, bytes,
							    size * count);
		return exchange->sink_rc ? 0 : size * count;
	}
	size_t limit = status >= 300 ? STRATA_S3_ERROR_BYTES_MAX : STRATA_S3_ANSWER_BYTES_MAX;

	if (size * count > limit - (body->length < limit ? body->length : limit)) {
		exchange->too_large = true;
		return 0;
	}
	buf_add_bytes(body, bytes, size * count);
	return body->failed ? 0 : size * count;
}

static size_t take_header(char *bytes, size_t size, size_t count, void *context)
{
	static const char name[] = "etag:";
	struct s3_answer *answer = ((struct exchange *)context)->answer;
	size_t length = size * count, at = sizeof(name) - 1;

	if (length < at || strncasecmp(bytes, name, at) != 0)
		return length;
	while (at < length && strchr(" \"", bytes[at]))
		at++;
	while (length > at && strchr(" \"\r\n", bytes[length - 1]))
		length--;
	if (length - at < S3_ETAG_BYTES)
		snprintf(answer->etag, S3_ETAG_BYTES, "%.*s", (int)(length - at), bytes + at);
	return size * count;
}

/* ---- a request ---- */

static struct curl_slist *add(struct curl_slist *list, bool *ret_failed, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static struct curl_slist *add(struct curl_slist *list, bool *ret_failed, const char *format, ...)
{
	char line[8192];
	va_list args;

	va_start(args, format);
	int length = vsnprintf(line, sizeof(line), format, args);

	va_end(args);
	struct curl_slist *longer =
		length < (int)sizeof(line) ? curl_slist_append(list, line) : NULL;

	*ret_failed |= !longer;
	return longer ? longer : list;
}

static struct curl_slist *make_headers(const struct s3 *s3, const struct s3_request *request,
				       bool *ret_failed)
{
	struct curl_slist *list = NULL;

	*ret_failed = false;
	list = add(list, ret_failed, "x-amz-content-sha256: %s",
		   request->digest ? request->digest->sha256_hex : NO_BODY_SHA256);
	if (request->digest)
		list = add(list, ret_failed, "Content-Type: application/octet-stream");
	else if (strcmp(request->method, "POST") == 0)
		list = add(list, ret_failed, "Content-Length: 0");
	if (request->digest && request->checked)
		list = add(list, ret_failed, "x-amz-checksum-sha256: %s",
			   request->digest->sha256_base64);
	if (s3->conf.session_token)
		list = add(list, ret_failed, "x-amz-security-token: %s", s3->conf.session_token);
	if (request->from)
		list = add(list, ret_failed, "Range: bytes=%lld-", (long long)request->from);
	if (request->if_match)
		list = add(list, ret_failed, "If-Match: \"%s\"", request->if_match);
	return list;
}

static void set_options(struct exchange *exchange, const char *url, const char *who,
			const char *signing, struct curl_slist *headers)
{
	const struct s3_request *request = exchange->request;
	CURL *curl = exchange->s3->curl;

	curl_easy_reset(curl); /* keeps the connection */
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, exchange->s3->problem);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "strata/" STRATA_VERSION);
	curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, signing);
	curl_easy_setopt(curl, CURLOPT_USERPWD, who);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(curl, CURLOPT_EXPECT_100_TIMEOUT_MS, (long)EXPECT_MS);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)SLOW_SECONDS);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, (long)SLOW_BYTES);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, exchange);
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, exchange);
	if (request->digest) {
		curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
		curl_easy_setopt(curl, CURLOPT_READFUNCTION, give);
		curl_easy_setopt(curl, CURLOPT_READDATA, exchange);
		curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, rewind_body);
		curl_easy_setopt(curl, CURLOPT_SEEKDATA, exchange);
		curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)request->size_bytes);
	}
	if (strcmp(request->method, "HEAD") == 0)
		curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
	else
		curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
}

static CURLcode perform(struct exchange *exchange, struct strata_arena *arena)
{
	const struct s3_conf *conf = &exchange->s3->conf;
	const struct s3_request *request = exchange->request;
	bool failed;
	struct curl_slist *headers = make_headers(exchange->s3, request, &failed);
	const char *url = strata_arena_printf(arena, "%s/%s%s%s%s%s", conf->endpoint, conf->bucket,
					      request->key ? "/" : "",
					      request->key ? request->key : "",
					      request->query ? "?" : "",
					      request->query ? request->query : "");
	const char *who = strata_arena_printf(arena, "%s:%s", conf->access_key, conf->secret_key);
	const char *signing = strata_arena_printf(arena, "aws:amz:%s:s3", conf->region);
	CURLcode code = CURLE_OUT_OF_MEMORY;

	if (!failed && url && who && signing) {
		set_options(exchange, url, who, signing, headers);
		code = curl_easy_perform(exchange->s3->curl);
	}
	curl_slist_free_all(headers);
	return code;
}

/* ---- what went wrong ---- */

struct refusal {
	char code[128], message[512];
};

static int read_refusal(void *context, const char *parent, const char *name, const char *text)
{
	struct refusal *refusal = context;

	if (strcmp(parent, "Error") == 0 && strcmp(name, "Code") == 0)
		snprintf(refusal->code, sizeof(refusal->code), "%s", text);
	if (strcmp(parent, "Error") == 0 && strcmp(name, "Message") == 0)
		snprintf(refusal->message, sizeof(refusal->message), "%s", text);
	return 0;
}

static bool is_one_of(const char *code, const char *const *codes)
{
	for (; *codes; codes++)
		if (strcmp(code, *codes) == 0)
			return true;
	return false;
}

static int code_of(int status, const char *word)
{
	static const char *const later[] = { "SlowDown", "RequestTimeout", "InternalError",
					     "ServiceUnavailable", "BadDigest",
					     "XAmzContentSHA256Mismatch",
					     "IncompleteBody", NULL };
	static const char *const ours[] = { "ExpiredToken", "InvalidAccessKeyId",
					    "SignatureDoesNotMatch", "InvalidToken",
					    "TokenRefreshRequired", "AccessDenied",
					    "RequestTimeTooSkewed", "NoSuchBucket", NULL };

	if (is_one_of(word, later) || status >= 500 || status == 429 || status == 408)
		return -EAGAIN;
	if (is_one_of(word, ours) || status == 401 || status == 403)
		return -EACCES;
	return status == 404 ? -ENOENT : status == 412 ? -ESTALE : -EBADMSG;
}

static int fail_status(const struct exchange *exchange, struct strata_error *err)
{
	const struct s3_answer *answer = exchange->answer;
	const struct s3_conf *conf = &exchange->s3->conf;
	struct refusal refusal = { "", "" };

	if (answer->body.length)
		s3_xml_walk(answer->body.text, answer->body.length, read_refusal, &refusal, NULL);
	int code = code_of(answer->status, refusal.code);

	if (answer->status >= 300 && answer->status < 400)
		return strata_fail(err, -EBADMSG,
				   "%s sends on to another address (%d), which is not followed: "
				   "endpoint or region are not those of the bucket %s",
				   conf->endpoint, answer->status, conf->bucket);
	return strata_fail(err, code, "%s says %d%s%s%s%s of s3://%s%s%s", conf->endpoint,
			   answer->status, *refusal.code ? " " : "", refusal.code,
			   *refusal.message ? ": " : "", refusal.message, conf->bucket,
			   exchange->request->key ? "/" : "",
			   exchange->request->key ? exchange->request->key : "");
}

static int fail_transfer(const struct exchange *exchange, CURLcode code, struct strata_error *err)
{
	const struct s3 *s3 = exchange->s3;

	if (exchange->sink_rc)
		return strata_fail(err, exchange->sink_rc, "%s", strerror(-exchange->sink_rc));
	if (exchange->too_large)
		return strata_fail(err, -EBADMSG, "the answer of %s is too large",
				   s3->conf.endpoint);
	if (code == CURLE_OUT_OF_MEMORY || exchange->answer->body.failed)
		return strata_fail_memory(err);
	if (code == CURLE_ABORTED_BY_CALLBACK)
		return strata_fail(err, -ESTALE, "the checkpoint changed while it was read");
	if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL)
		return strata_fail(err, -EINVAL, "%s is not an address", s3->conf.endpoint);
	if (code == CURLE_PEER_FAILED_VERIFICATION)
		return strata_fail(err, -EACCES, "the certificate of %s is not trusted: %s",
				   s3->conf.endpoint, s3->problem);
	return strata_fail(err, -EAGAIN, "the connection to %s broke: %s", s3->conf.endpoint,
			   *s3->problem ? s3->problem : curl_easy_strerror(code));
}

static int try_once(struct s3 *s3, const struct s3_request *request, struct s3_answer *answer,
		    struct strata_error *err)
{
	struct exchange exchange = { .s3 = s3, .request = request, .answer = answer };
	struct strata_arena arena;
	long status = 0;

	buf_reset(&answer->body);
	answer->etag[0] = s3->problem[0] = '\0';
	strata_arena_init(&arena, s3->memory, 0);
	CURLcode code = perform(&exchange, &arena);

	strata_arena_fini(&arena);
	curl_easy_getinfo(s3->curl, CURLINFO_RESPONSE_CODE, &status);
	answer->status = (int)status;
	if (code)
		return fail_transfer(&exchange, code, err);
	return status >= 200 && status < 300 ? 0 : fail_status(&exchange, err);
}

int s3_call(struct s3 *s3, const struct s3_request *request, struct s3_answer *answer,
	    struct strata_error *err)
{
	int rc = try_once(s3, request, answer, err);

	for (int tries = 1; rc == -EAGAIN && !request->sink && tries < S3_TRIES; tries++) {
		s3_pause(s3, tries);
		rc = try_once(s3, request, answer, err);
	}
	return rc;
}
