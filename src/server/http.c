/*
 * HTTP, by libmicrohttpd: connections in, answers out. A request is refused before its body is read
 * when its caller may not make it, its path is not known or its body would be too large. One that
 * is to be decided is handed over and its connection suspended, so that a waiting request costs no
 * thread.
 */
#include "server/http.h"

#include "server/element_name.h"

#include "core/text.h"
#include "server/connection.h"
#include "server/front.h"
#include "server/identity.h"
#include "server/listen.h"
#include "server/route.h"
#include "server/standby.h"
#include "server/tls.h"
#include "server/event_stream.h"
#include "server/url.h"
#include "server/web_guard.h"
#include "server/web_port.h"

#include <errno.h>
#include <malloc.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { IDLE_SECONDS = 30, REQUEST_ARENA_BYTES_MAX = 512 << 20, LARGE_BODY_BYTES = 1 << 20 };

/* ---- a request comes ---- */

static void free_request(struct request *request)
{
	bool large = request->body_length >= LARGE_BODY_BYTES;

	if (request->stream)
		stream_drop(request->stream);
	if (request->body_reserved)
		atomic_fetch_sub(&request->front->body_bytes, request->body_reserved);
	if (request->release)
		request->release(request);
	if (request->has_file)
		close(request->file_fd);
	free(request->body);
	free(request->text);
	strata_arena_fini(&request->arena);
	free(request);
	if (large) /* what was read from it were many small blocks, which are kept otherwise */
		malloc_trim(0);
}

/* With the first line of a request, while its path is as it was sent. */
static void *new_request(void *context, const char *url, struct MHD_Connection *connection)
{
	struct request *request = calloc(1, sizeof(*request));
	struct front *front = context;

	if (!request)
		return NULL;
	request->front = front;
	request->connection = connection;
	request->arrived_ns = env_now_ns(front->env, ENV_MONOTONIC);
	strata_arena_init(&request->arena, &request->memory, REQUEST_ARENA_BYTES_MAX);
	const union MHD_ConnectionInfo *secure =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);

	request->encrypted = secure && secure->tls_session;
	request->malformed = !url_is_well_formed(url);
	request->path = strata_arena_text(&request->arena, url, strcspn(url, "?"));
	if (!request->path) {
		free_request(request);
		return NULL;
	}
	return request;
}

static const char *header(const struct request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

static void refuse_stranger(struct request *request)
{
	if (request->who.local)
		request_refuse(request, MHD_HTTP_FORBIDDEN, "forbidden",
			       "this service serves the user it runs as; %s is another",
			       request->who.user);
	else if (request->who.unsure)
		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
			       "the store is away: the token cannot be looked up now; try again");
	else if (request->who.wrong)
		request_refuse(request, MHD_HTTP_UNAUTHORIZED, "unauthorized",
			       "the token is not known, has expired or was revoked; "
			       "`strata token create` makes one");
	else
		request_refuse(request, MHD_HTTP_UNAUTHORIZED, "unauthorized",
			       "a token is needed here: Authorization: Bearer …; "
			       "`strata token create` makes one");
}

#define OF_A_JOB "/api/v1/jobs/*" /* of which the route asks whether it is this one */
#define OF_WORKERS "/api/v1/worker/"

static bool is_for_workers(const struct route *route)
{
	return strncmp(route->path, OF_WORKERS, strlen(OF_WORKERS)) == 0;
}

static bool is_of_a_job(const struct route *route)
{
	return strncmp(route->path, OF_A_JOB, strlen(OF_A_JOB)) == 0;
}

/* May a job's own token be good for it? */
static bool is_for_jobs(const struct route *route)
{
	return route->role <= ROLE_READER || is_of_a_job(route) || is_for_workers(route);
}

/* Which jobs are workers is the leader's to say. */
static bool is_worker(struct request *request)
{
	if (!is_for_workers(request->route) ||
	    (request->who.job &&
	     worker_set_has(&request->front->common->workers, request->who.job)))
		return true;
	request_refuse(request, MHD_HTTP_FORBIDDEN, "forbidden",
		       "only a job that the service started for a model may do this");
	return false;
}

static enum MHD_Result count_length(void *context, enum MHD_ValueKind kind, const char *name,
				    const char *value)
{
	(void)kind, (void)value;
	*(size_t *)context += strcasecmp(name, "Content-Length") == 0;
	return MHD_YES;
}

/* Is it clear where the body ends? Others on the way may see another end than we do. */
static bool is_framed(const struct request *request)
{
	const char *encoding = header(request, "Transfer-Encoding");
	size_t lengths = 0;

	MHD_get_connection_values(request->connection, MHD_HEADER_KIND, count_length, &lengths);
	return encoding ? lengths == 0 && strcasecmp(encoding, "chunked") == 0 : lengths <= 1;
}

/* The names in the path; they are shown to others. */
static bool read_segments(struct request *request)
{
	for (size_t i = 0; i < REQUEST_SEGMENTS_MAX && request->segments[i]; i++) {
		char *segment = (char *)(uintptr_t)request->segments[i]; /* of our own copy */
		size_t length = url_unescape(segment);

		if (text_printable(segment, length) < length)
			return false;
	}
	return true;
}

static bool read_url(struct request *request)
{
	struct strata_error err = { 0 };

	if (request->malformed) {
		request_refuse(request, MHD_HTTP_BAD_REQUEST, "invalid",
			       "the URL has a %% that is not followed by two hexadecimal digits, "
			       "or %%00");
		return false;
	}
	if (!read_segments(request)) {
		request_refuse(request, MHD_HTTP_BAD_REQUEST, "invalid",
			       "%.80s has a name that cannot be shown; expected printable UTF-8",
			       request->path);
		return false;
	}
	int rc = url_read_query(request, request->route->query, &err);

	if (rc)
		request_fail(request, rc, &err);
	return rc == 0;
}

/* Everything that can be said before the body is read. */
static void look_at_head(struct request *request)
{
	char *path = strata_arena_text(&request->arena, request->path, strlen(request->path));
	const char *length = header(request, "Content-Length");
	bool known = false;

	identify(request->front, request->connection, request->path, &request->who);
	request->route = path ? route_find(request->method, path, request->segments, &known) : NULL;
	request->refused = true;
	if (request->who.role == ROLE_NONE &&
	    !(request->route && request->route->role == ROLE_NONE))
		refuse_stranger(request);
	else if (web_guard_refuses(request))
		return; /* before anything is said about what there is */
	else if (!connection_claim(request->connection, &request->who))
		request_refuse(request, MHD_HTTP_TOO_MANY_REQUESTS, "quota",
			       "%s has too many connections open; close some of them",
			       request->who.user);
	else if (!request->route && known)
		request_refuse(request, MHD_HTTP_METHOD_NOT_ALLOWED, "method",
			       "%s is not possible for %.80s", request->method, request->path);
	else if (!request->route)
		request_refuse(request, MHD_HTTP_NOT_FOUND, "not_found", "there is no %.80s",
			       request->path);
	else if (request->who.role < request->route->role)
		request_refuse(request, MHD_HTTP_FORBIDDEN, "forbidden",
			       "the role %s is needed (%s); %s has the role %s",
			       role_name(request->route->role), request->route->summary,
			       request->who.user, role_name(request->who.role));
	else if (request->who.job && !is_for_jobs(request->route))
		request_refuse(request, MHD_HTTP_FORBIDDEN, "forbidden",
			       "a job's own token is good for that job only");
	else if (!is_framed(request))
		request_refuse(request, MHD_HTTP_BAD_REQUEST, "invalid",
			       "where the body ends is not clear; expected one Content-Length, or "
			       "Transfer-Encoding: chunked");
	else if (length && strtoull(length, NULL, 10) > request->route->body_bytes_max)
		request_refuse(request, MHD_HTTP_CONTENT_TOO_LARGE, "too_large",
			       "the body has %s bytes; expected at most %zu", length,
			       request->route->body_bytes_max);
	else if (read_url(request) && !standby_refuses(request) && is_worker(request) &&
		 (!is_of_a_job(request->route) || element_name_resolve(request)))
		request->refused = false;
}

/* Large bodies share what there is for them, so that nobody fills the memory by sending many at
 * once. */
static bool reserve_body(struct request *request, size_t room)
{
	size_t more = room - request->body_reserved;

	if (room <= STRATA_SERVER_BODY_SMALL_BYTES)
		return true;
	if (atomic_fetch_add(&request->front->body_bytes, more) + more >
	    STRATA_SERVER_BODIES_BYTES_MAX) {
		atomic_fetch_sub(&request->front->body_bytes, more);
		return false;
	}
	request->body_reserved = room;
	return true;
}

static void refuse_body(struct request *request, size_t count)
{
	request->refused = true;
	if (request->body_length + count > request->route->body_bytes_max)
		request_refuse(request, MHD_HTTP_CONTENT_TOO_LARGE, "too_large",
			       "the body has more than %zu bytes", request->route->body_bytes_max);
	else
		request_refuse(
			request, MHD_HTTP_TOO_MANY_REQUESTS, "quota",
			"more is sent to the service at once than it can hold; send it again "
			"in a moment");
}

static bool add_body(struct request *request, const char *bytes, size_t count)
{
	if (request->body_length + count > request->route->body_bytes_max)
		return false;
	if (request->body_length + count + 1 > request->body_room) {
		size_t room = 2 * (request->body_length + count + 1);
		char *body = reserve_body(request, room) ? realloc(request->body, room) : NULL;

		if (!body)
			return false;
		request->body = body;
		request->body_room = room;
	}
	memcpy(request->body + request->body_length, bytes, count);
	request->body_length += count;
	request->body[request->body_length] = '\0';
	return true;
}

/* ---- an answer goes ---- */

static struct MHD_Response *make_response(const struct request *request)
{
	size_t length = request->text_bytes ? request->text_bytes
			: request->text     ? strlen(request->text)
					    : 0;

	if (request->stream)
		return stream_response(request->stream);
	if (request->has_file)
		return MHD_create_response_from_fd64(request->file_bytes, request->file_fd);
	return MHD_create_response_from_buffer(length, request->text ? request->text : (char *)"",
					       request->text ? MHD_RESPMEM_MUST_FREE
							     : MHD_RESPMEM_PERSISTENT);
}

/* One of every answer, unless it has its own. */
static void add_usual(const struct request *request, struct MHD_Response *response,
		      const char *name, const char *value)
{
	for (size_t i = 0; i < request->header_count; i++)
		if (strcmp(request->headers[i].name, name) == 0)
			return;
	MHD_add_response_header(response, name, value);
}

static void add_headers(const struct request *request, struct MHD_Response *response)
{
	char number[24];

	for (size_t i = 0; i < request->header_count; i++)
		MHD_add_response_header(response, request->headers[i].name,
					request->headers[i].value);
	add_usual(request, response, "Cache-Control",
		  request->etag ? "private, no-cache" : "no-store");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	/* whatever a browser shows of it runs nothing, is in no frame and tells nobody */
	add_usual(request, response, "Content-Security-Policy",
		  "default-src 'none'; frame-ancestors 'none'");
	MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
	if (request->status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
	if (request->etag)
		MHD_add_response_header(response, "ETag", request->etag);
	if (request->retry_after_s) {
		snprintf(number, sizeof(number), "%d", request->retry_after_s);
		MHD_add_response_header(response, "Retry-After", number);
	}
}

static enum MHD_Result send_answer(struct request *request)
{
	struct stream *stream = request->stream;
	struct MHD_Response *response = make_response(request);
	bool filled = request->text;
	enum MHD_Result result;

	request->stream = NULL; /* the response's now */
	request->streamed = stream;
	if (!response)
		return MHD_NO;
	if (request->has_file && !stream)
		request->has_file = false; /* so is this … */
	else if (!stream)
		request->text = NULL; /* … or this */
	if (stream || request->media || filled)
		MHD_add_response_header(response, "Content-Type",
					stream           ? stream->cls->media
					: request->media ? request->media
							 : "application/json");
	add_headers(request, response);
	result = MHD_queue_response(request->connection, (unsigned)request->status, response);
	MHD_destroy_response(response);
	return result;
}

void http_answered(struct request *request)
{
	MHD_resume_connection(request->connection); /* the handler is called again, by its thread */
}

/* The body is there: parse, and hand over what is to be decided. */
static enum MHD_Result handle(struct request *request)
{
	const struct route *route = request->route;

	if (route->parse)
		route->parse(request);
	if (request->answered)
		return send_answer(request);
	request->queued = true;
	MHD_suspend_connection(request->connection);
	if (!inbox_put(&request->front->common->inbox, request)) {
		request_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable",
			       "too many requests wait, or the service ends; ask again");
		MHD_resume_connection(request->connection);
	}
	return MHD_YES;
}

static bool body_is_small(const struct request *request)
{
	enum { SMALL_BYTES = 1 << 16 };
	const char *length = header(request, "Content-Length");

	return is_framed(request) && !header(request, "Transfer-Encoding") &&
	       (!length || strtoull(length, NULL, 10) <= SMALL_BYTES);
}

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_length, void **request_slot)
{
	struct request *request = *request_slot;

	(void)context, (void)connection, (void)url, (void)version;
	if (!request)
		return MHD_NO;
	if (!request->method) {
		request->method = strata_arena_text(&request->arena, method, strlen(method));
		if (!request->method)
			return MHD_NO;
		look_at_head(request);
		/* a small body is let through unread, so that its sender sees the answer and not a
		 * closed door */
		return request->refused && !body_is_small(request) ? send_answer(request) : MHD_YES;
	}
	if (*upload_length) {
		if (!request->refused && !add_body(request, upload, *upload_length))
			refuse_body(request, *upload_length);
		*upload_length = 0;
		return MHD_YES;
	}
	connection_busy(connection, true);
	if (request->queued && request->route->finish)
		request->route->finish(request);
	if (request->refused || request->queued)
		return send_answer(request);
	return handle(request);
}

static void count_request(const struct request *request)
{
	struct front *front = request->front;

	metrics_answer(&front->common->metrics, request->status);
	if (!request->streamed)
		metrics_time(&front->common->metrics, METRIC_HTTP,
			     env_now_ns(front->env, ENV_MONOTONIC) - request->arrived_ns);
}

static void completed(void *context, struct MHD_Connection *connection, void **request_slot,
		      enum MHD_RequestTerminationCode code)
{
	(void)context, (void)code;
	connection_busy(connection, false);
	if (*request_slot)
		count_request(*request_slot);
	if (*request_slot)
		free_request(*request_slot);
	*request_slot = NULL;
}

/* ---- opening ---- */

static struct MHD_Daemon *start(struct front *front, int fd, bool encrypted)
{
	struct MHD_OptionItem secure[] = {
		{ MHD_OPTION_HTTPS_CERT_CALLBACK2, 0, (void *)(uintptr_t)tls_retrieve },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0, (char *)(uintptr_t)TLS_PRIORITIES },
		{ MHD_OPTION_END, 0, NULL },
	};
	struct MHD_OptionItem plain[] = { { MHD_OPTION_END, 0, NULL } };

	return MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
			(encrypted ? MHD_USE_TLS : 0),
		0, NULL, NULL, answer, front, MHD_OPTION_ARRAY, encrypted ? secure : plain,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_NOTIFY_COMPLETED, completed, NULL,
		MHD_OPTION_NOTIFY_CONNECTION, connection_noticed, front,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_CONNECTION_LIMIT,
		connections_room(front), MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_URI_LOG_CALLBACK, new_request, front, MHD_OPTION_UNESCAPE_CALLBACK,
		url_unescape_value, NULL, MHD_OPTION_THREAD_POOL_SIZE,
		(unsigned)front->conf->http_threads, MHD_OPTION_END);
}

/* A daemon of its own. */
static int open_tcp(struct front *front, const char *address, bool encrypted,
		    struct MHD_Daemon **ret_daemon, int *ret_port, struct strata_error *err)
{
	int fd, port, rc = listen_tcp(address, encrypted, &fd, &port, err);

	if (rc)
		return rc;
	struct MHD_Daemon *daemon = start(front, fd, encrypted); /* has the descriptor then */

	if (!daemon) {
		close(fd);
		return strata_fail(err, -EIO, "the HTTP server does not start%s",
				   encrypted && MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES
					   ? ": this libmicrohttpd was built without TLS"
					   : "");
	}
	*ret_port = port;
	*ret_daemon = daemon;
	return 0;
}

/* The page's, as before the restart; somebody else may have it now, and then there is none. */
static void open_kept(struct front *front)
{
	int port = web_port_kept(front->env, front->conf->state_dir);
	char address[32];

	snprintf(address, sizeof(address), "127.0.0.1:%d", port);
	if (port)
		open_tcp(front, address, false, &front->http_page, &front->page_port, NULL);
}

int http_open_loopback(struct front *front, int *ret_port, struct strata_error *err)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int rc = 0;

	pthread_mutex_lock(&lock);
	bool have_tcp = front->http_tcp && !tls_is_open(); /* a link is good on the loopback only */

	if (!have_tcp && !front->http_page) {
		rc = open_tcp(front, "127.0.0.1:0", false, &front->http_page, &front->page_port,
			      err);
		if (rc == 0)
			rc = web_port_keep(front->env, front->conf->state_dir, front->page_port,
					   err);
	}
	if (rc == 0)
		*ret_port = have_tcp ? front->tcp_port : front->page_port;
	pthread_mutex_unlock(&lock);
	return rc;
}

int http_open(struct front *front, struct strata_error *err)
{
	int fd, rc = listen_unix(front->conf->socket, &fd, err);

	if (rc)
		return rc;
	front->http_socket = start(front, fd, false); /* which has the descriptor then */
	if (!front->http_socket) {
		close(fd);
		return strata_fail(err, -EIO, "the HTTP server does not start");
	}
	if (front->conf->listen)
		rc = open_tcp(front, front->conf->listen, tls_is_open(), &front->http_tcp,
			      &front->tcp_port, err);
	if (rc == 0 && (!front->conf->listen || tls_is_open()))
		open_kept(front);
	return rc;
}

void http_close(struct front *front)
{
	if (front->http_socket) /* first: a request there may just open the other */
		MHD_stop_daemon(front->http_socket);
	if (front->http_tcp)
		MHD_stop_daemon(front->http_tcp);
	if (front->http_page)
		MHD_stop_daemon(front->http_page);
	front->http_socket = front->http_tcp = front->http_page = NULL;
}
