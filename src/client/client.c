/*
 * The client itself, on libcurl: one handle, so that one connection serves a command's requests. A transfer ends in a status
 * or in an error of the way there; answer.c reads the former, fail_transfer words the latter.
 */
#include "client/client.h"

#include "core/env.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>

enum { TRIES = 4, CONNECT_SECONDS = 10 };
#define USUAL_RETRY_NS (200 * STRATA_MS_NS)
#define USUAL_TIMEOUT_NS (60 * STRATA_SECOND_NS)

struct client {
	struct strata_memory *memory; /* borrowed until client_close */
	struct strata_arena arena;    /* of the texts below */
	CURL *curl;
	const char *socket, *base, *authorization; /* socket and authorization may be NULL */
	int64_t retry_ns, timeout_ns;
	char problem[CURL_ERROR_SIZE];
};

/* One request on its way. */
struct transfer {
	struct client *client;
	struct buf body;   /* what is not given to the sink */
	client_sink *sink; /* NULL: everything is kept */
	void *sink_context;
	int sink_rc;
	bool too_large; /* the body went past its limit */
	long status;
	struct strata_error *err;
};

int client_open(const struct client_place *place, struct strata_memory *memory,
		struct client **ret_client, struct strata_error *err)
{
	struct sockaddr_un address;

	if (place->socket && strlen(place->socket) >= sizeof(address.sun_path))
		return strata_fail(err, -EINVAL,
				   "the socket's path is %zu bytes long; expected at most %zu",
				   strlen(place->socket), sizeof(address.sun_path) - 1);
	struct client *client = strata_memory_get(memory, sizeof(*client));

	if (!client)
		return strata_fail_memory(err);
	client->memory = memory;
	client->retry_ns = place->retry_ns ? place->retry_ns : USUAL_RETRY_NS;
	client->timeout_ns = place->timeout_ns ? place->timeout_ns : USUAL_TIMEOUT_NS;
	strata_arena_init(&client->arena, memory, 0);
	if (place->socket)
		client->socket = strata_arena_printf(&client->arena, "%s", place->socket);
	client->base = strata_arena_printf(&client->arena, "%s",
					   place->socket ? "http://localhost" : place->url);
	if (place->token && !place->socket)
		client->authorization = strata_arena_printf(
			&client->arena, "Authorization: Bearer %s", place->token);
	client->curl = curl_easy_init();
	if (!client->curl || !client->base || (place->socket && !client->socket) ||
	    (place->token && !place->socket && !client->authorization)) {
		client_close(client);
		return strata_fail_memory(err);
	}
	*ret_client = client;
	return 0;
}

void client_close(struct client *client)
{
	if (!client)
		return;
	curl_easy_cleanup(client->curl);
	strata_arena_fini(&client->arena);
	strata_memory_put(client->memory, client, sizeof(*client));
}

static size_t take(char *bytes, size_t size, size_t count, void *context)
{
	struct transfer *transfer = context;

	curl_easy_getinfo(transfer->client->curl, CURLINFO_RESPONSE_CODE, &transfer->status);
	if (transfer->sink && transfer->status >= 200 && transfer->status < 300) {
		transfer->sink_rc =
			transfer->sink(transfer->sink_context, bytes, size * count, transfer->err);
		return transfer->sink_rc ? 0 : size * count;
	}
	transfer->too_large = size * count > transfer->body.limit_bytes - transfer->body.length;
	buf_add_bytes(&transfer->body, bytes, size * count);
	return transfer->body.failed ? 0 : size * count;
}

/* Headers of a request; NULL for lack of memory. */
static struct curl_slist *make_headers(const struct client *client,
				       const struct client_request *request)
{
	char key[128];
	const char *lines[4];
	size_t count = 0;
	struct curl_slist *list = NULL;

	lines[count++] = "Expect:"; /* no second round trip for a large body */
	if (request->body)
		lines[count++] = "Content-Type: application/json";
	if (client->authorization)
		lines[count++] = client->authorization;
	if (request->key) {
		snprintf(key, sizeof(key), "Idempotency-Key: %s", request->key);
		lines[count++] = key;
	}
	for (size_t i = 0; i < count; i++) {
		struct curl_slist *longer = curl_slist_append(list, lines[i]);

		if (!longer) {
			curl_slist_free_all(list);
			return NULL;
		}
		list = longer;
	}
	return list;
}

static void set_options(struct transfer *transfer, const struct client_request *request,
			const char *url, const char *body, struct curl_slist *headers)
{
	struct client *client = transfer->client;
	CURL *curl = client->curl;

	curl_easy_reset(curl); /* keeps the connection */
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, client->problem);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "strata/" STRATA_VERSION);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
	if (client->socket) {
		curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, client->socket);
		curl_easy_setopt(curl, CURLOPT_PROXY, "");
	}
	if (transfer->sink) /* it may be quiet for hours: the kernel finds out whether the other end lives */
		curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
	else
		curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
				 (long)(client->timeout_ns / STRATA_MS_NS));
	if (strcmp(request->method, "GET") != 0)
		curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
	if (body) {
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body));
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
	}
}

static int fail_connect(const struct client *client, struct strata_error *err)
{
	const char *place = client->socket ? client->socket : client->base;
	long number = 0;

	curl_easy_getinfo(client->curl, CURLINFO_OS_ERRNO, &number);
	if (client->socket && (number == EACCES || number == EPERM))
		return strata_fail(err, -EACCES, "you may not use the server's socket %s", place);
	if (client->socket)
		return strata_fail(err, -ECONNREFUSED,
				   "no server at %s; start one with `strata serve`", place);
	return strata_fail(err, -ECONNREFUSED, "no server at %s: %s", place,
			   client->problem[0] ? client->problem : "no connection");
}

static int fail_transfer(const struct transfer *transfer, CURLcode code, struct strata_error *err)
{
	const struct client *client = transfer->client;
	const char *place = client->socket ? client->socket : client->base;
	const char *why = client->problem[0] ? client->problem : curl_easy_strerror(code);
	char time[STRATA_FORM_BYTES];

	switch (code) {
	case CURLE_WRITE_ERROR:
		if (transfer->sink_rc)
			return transfer->sink_rc; /* in its words */
		if (transfer->too_large)
			return strata_fail(err, -E2BIG, "the server's answer is too large");
		return strata_fail_memory(err);
	case CURLE_OUT_OF_MEMORY:
		return strata_fail_memory(err);
	case CURLE_COULDNT_CONNECT:
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
		return fail_connect(client, err);
	case CURLE_OPERATION_TIMEDOUT:
		strata_duration_print_short(client->timeout_ns, time);
		return strata_fail(err, -ETIMEDOUT, "the server at %s did not answer within %s",
				   place, time);
	case CURLE_URL_MALFORMAT:
	case CURLE_UNSUPPORTED_PROTOCOL:
		return strata_fail_at(err, -EINVAL, "server", "%s is not an address: %s", place,
				      why);
	default:
		return strata_fail(err, -ECONNRESET, "the connection to the server at %s broke: %s",
				   place, why);
	}
}

/* 0 when there is an answer, whatever it is. */
static int send_once(struct transfer *transfer, const struct client_request *request,
		     const char *body, struct strata_error *err)
{
	struct client *client = transfer->client;
	struct curl_slist *headers = make_headers(client, request);
	struct buf url;

	buf_reset(&transfer->body);
	transfer->status = 0;
	client->problem[0] = '\0';
	buf_init(&url, client->memory, 0);
	buf_add(&url, client->base);
	buf_add(&url, request->path);
	int rc = headers ? buf_check(&url, err) : strata_fail_memory(err);

	if (rc == 0) {
		set_options(transfer, request, url.text, body, headers);
		CURLcode code = curl_easy_perform(client->curl);

		if (code != CURLE_OK)
			rc = fail_transfer(transfer, code, err);
		else
			curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &transfer->status);
	}
	buf_fini(&url);
	curl_slist_free_all(headers);
	return rc;
}

static void pause_for(int64_t ns)
{
	struct timespec time = { .tv_sec = (time_t)(ns / STRATA_SECOND_NS),
				 .tv_nsec = (long)(ns % STRATA_SECOND_NS) };

	while (nanosleep(&time, &time) != 0 && errno == EINTR)
		;
}

int client_json(struct client *client, const struct client_request *request, json_t **ret_json,
		struct strata_error *err)
{
	bool repeatable = strcmp(request->method, "GET") == 0 || request->key;
	struct transfer transfer = { .client = client, .err = err };
	char *body = request->body ? json_dumps(request->body, JSON_COMPACT | JSON_ENCODE_ANY)
				   : NULL;
	int rc = 0;

	if (request->body && !body)
		return strata_fail_memory(err);
	buf_init(&transfer.body, client->memory, STRATA_JSON_BYTES_MAX);
	for (int tried = 0; tried < TRIES; tried++) {
		if (tried)
			pause_for(client->retry_ns << (tried - 1));
		rc = send_once(&transfer, request, body, err);
		if (rc == 0)
			rc = answer_read(transfer.status, transfer.body.text, transfer.body.length,
					 ret_json, err);
		if (!repeatable || (rc != -EAGAIN && rc != -ECONNRESET))
			break;
	}
	buf_fini(&transfer.body);
	free(body);
	return rc;
}

int client_stream(struct client *client, const char *path, client_sink *sink, void *context,
		  struct strata_error *err)
{
	struct client_request request = { .method = "GET", .path = path };
	struct transfer transfer = {
		.client = client, .sink = sink, .sink_context = context, .err = err
	};
	json_t *json = NULL;

	buf_init(&transfer.body, client->memory, STRATA_JSON_BYTES_MAX);
	int rc = send_once(&transfer, &request, NULL, err);

	if (rc == 0 && (transfer.status < 200 || transfer.status >= 300))
		rc = answer_read(transfer.status, transfer.body.text, transfer.body.length, &json,
				 err);
	json_decref(json);
	buf_fini(&transfer.body);
	return rc;
}

int client_new_key(char ret_key[CLIENT_KEY_BYTES], struct strata_error *err)
{
	unsigned char bytes[CLIENT_KEY_BYTES / 2];
	int rc = env_random(env_system(), bytes, sizeof(bytes), err);

	if (rc)
		return rc;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(ret_key + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

void client_escape(struct buf *path, const char *text)
{
	for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
		bool plain = (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'z') ||
			     (*at >= 'A' && *at <= 'Z') || strchr("-._~,:", *at);

		if (plain)
			buf_add_char(path, (char)*at);
		else
			buf_printf(path, "%%%02X", *at);
	}
}

void client_query(struct buf *path, const char *key, const char *value)
{
	if (!value)
		return;
	buf_printf(path, "%c%s=", strchr(path->text, '?') ? '&' : '?', key);
	client_escape(path, value);
}
