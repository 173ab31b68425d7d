/*
 * The client itself. A transfer ends in a status or in an error of the way there; answer.c reads the former. Over a socket it is local_socket.c's,
 * to a url that of whoever brought a way there.
 */
#include "client/client_int.h"

#include "client/local_socket.h"

#include "core/env.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>

enum { TRIES = 4 };
#define USUAL_RETRY_NS (200 * STRATA_MS_NS)
#define USUAL_TIMEOUT_NS (60 * STRATA_SECOND_NS)

/* Addresses are shown in messages and logs, where a password has no place. */
static bool has_user(const char *url)
{
	const char *host = strstr(url, "://");

	host = host ? host + 3 : url;
	return memchr(host, '@', strcspn(host, "/?#")) != NULL;
}

int client_open(const struct client_place *place, struct strata_memory *memory,
		struct client **ret_client, struct strata_error *err)
{
	struct sockaddr_un address;

	if (place->socket && strlen(place->socket) >= sizeof(address.sun_path))
		return strata_fail(err, -EINVAL,
				   "the socket's path is %zu bytes long; expected at most %zu",
				   strlen(place->socket), sizeof(address.sun_path) - 1);
	if (!place->socket && has_user(place->url))
		return strata_fail(err, -EINVAL,
				   "the address of a server has no user or password in it; a "
				   "token goes into a file or STRATA_TOKEN");
	if (!place->socket && !place->web)
		return strata_fail(err, -ENOTSUP, "this program asks over sockets only, not %s",
				   place->url);
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
	if (place->token)
		client->authorization = strata_arena_printf(
			&client->arena, "Authorization: Bearer %s", place->token);
	if (place->pin)
		client->pin = strata_arena_text(&client->arena, place->pin,
						strlen(place->pin));
	client->web = place->socket ? NULL : place->web;
	if (client->web)
		client->handle = client->web->open();
	if ((client->web && !client->handle) || !client->base ||
	    (place->socket && !client->socket) ||
	    (place->token && !client->authorization) || (place->pin && !client->pin)) {
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
	if (client->web && client->handle)
		client->web->close(client->handle);
	strata_arena_fini(&client->arena);
	strata_memory_put(client->memory, client, sizeof(*client));
}

int client_take(struct transfer *transfer, long status, const char *bytes, size_t count)
{
	transfer->status = status;
	if (transfer->sink && status >= 200 && status < 300) {
		transfer->sink_rc =
			transfer->sink(transfer->sink_context, bytes, count, transfer->err);
		return transfer->sink_rc;
	}
	transfer->too_large = count > transfer->body.limit_bytes - transfer->body.length;
	buf_add_bytes(&transfer->body, bytes, count);
	return transfer->body.failed ? -ENOMEM : 0;
}

int client_fail_take(const struct transfer *transfer, struct strata_error *err)
{
	if (transfer->sink_rc)
		return transfer->sink_rc; /* in its words */
	if (transfer->too_large)
		return strata_fail(err, -E2BIG, "the server's answer is too large");
	return strata_fail_memory(err);
}

int client_fail_time(const struct client *client, struct strata_error *err)
{
	char time[STRATA_FORM_BYTES];

	strata_duration_print_short(client->timeout_ns, time);
	return strata_fail(err, -ETIMEDOUT, "the server at %s did not answer within %s",
			   client->socket ? client->socket : client->base, time);
}

/* ---- over a socket ---- */

static void print_head(const struct client *client, const struct client_request *request,
		       const struct client_body *body, struct buf *head)
{
	buf_printf(head,
		   "%s %s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: strata/" STRATA_VERSION
		   "\r\nAccept: */*\r\nConnection: close\r\n",
		   request->method, request->path);
	if (body->bytes)
		buf_printf(head, "Content-Type: %s\r\nContent-Length: %zu\r\n", body->type,
			   body->count);
	if (client->authorization)
		buf_printf(head, "%s\r\n", client->authorization);
	if (request->key)
		buf_printf(head, "Idempotency-Key: %s\r\n", request->key);
	buf_add(head, "\r\n");
}

static int take_local(void *context, int status, const char *bytes, size_t count)
{
	struct transfer *transfer = context;

	transfer->take_rc = client_take(transfer, status, bytes, count);
	return transfer->take_rc;
}

static int send_local(struct transfer *transfer, const struct client_request *request,
		      const struct client_body *body, struct strata_error *err)
{
	struct client *client = transfer->client;
	struct buf head;
	int status = 0;

	buf_init(&head, client->memory, 0);
	print_head(client, request, body, &head);
	int rc = buf_check(&head, err);

	if (rc == 0) {
		const struct local_request local = {
			.socket = client->socket,
			.head = head.text,
			.body = body->bytes,
			.body_bytes = body->count,
			.timeout_ns = transfer->sink ? 0 : client->timeout_ns,
			.take = take_local,
			.context = transfer,
		};

		transfer->take_rc = 0;
		rc = local_ask(&local, &status);
		transfer->status = rc ? 0 : status;
		if (transfer->take_rc)
			rc = client_fail_take(transfer, err);
		else if (rc == -ETIMEDOUT)
			rc = client_fail_time(client, err);
		else if (rc == -EACCES || rc == -EPERM)
			rc = strata_fail(err, -EACCES, "you may not use the server's socket %s",
					 client->socket);
		else if (rc == -ECONNRESET)
			rc = strata_fail(err, rc, "the connection to the server at %s broke",
					 client->socket);
		else if (rc)
			rc = strata_fail(err, -ECONNREFUSED,
					 "no server at %s; start one with `strata serve`",
					 client->socket);
	}
	buf_fini(&head);
	return rc;
}

/* 0 when there is an answer, whatever it is. */
static int send_once(struct transfer *transfer, const struct client_request *request,
		     const struct client_body *body, struct strata_error *err)
{
	buf_reset(&transfer->body);
	transfer->status = 0;
	return transfer->client->socket ? send_local(transfer, request, body, err)
					: transfer->client->web->send(transfer, request, body, err);
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
	char *text = request->body ? json_dumps(request->body, JSON_COMPACT | JSON_ENCODE_ANY)
				   : NULL;
	struct client_body body = { text, text ? strlen(text) : 0, "application/json" };
	int rc = 0;

	if (request->body && !text)
		return strata_fail_memory(err);
	if (request->bytes)
		body = (struct client_body){ request->bytes, request->byte_count, request->type };
	buf_init(&transfer.body, client->memory, STRATA_JSON_BYTES_MAX);
	for (int tried = 0; tried < TRIES; tried++) {
		if (tried)
			pause_for(client->retry_ns << (tried - 1));
		rc = send_once(&transfer, request, &body, err);
		if (rc == 0)
			rc = answer_read(transfer.status, transfer.body.text, transfer.body.length,
					 ret_json, err);
		if (!repeatable || (rc != -EAGAIN && rc != -ECONNRESET))
			break;
	}
	buf_fini(&transfer.body);
	free(text);
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
	int rc = send_once(&transfer, &request, &(struct client_body){ 0 }, err);

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
