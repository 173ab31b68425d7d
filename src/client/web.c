/* The way to a url, on libcurl: one handle, so that one connection serves a command's requests. */
#include "client/client_int.h"
#include "client/web.h"

#include <strata/text.h>

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CONNECT_SECONDS = 10 };

struct handle {
	CURL *curl;
	char problem[CURL_ERROR_SIZE];
	bool ended; /* the certificate of a pinned server has */
};

static void *open_handle(void)
{
	struct handle *handle = calloc(1, sizeof(*handle));

	if (handle)
		handle->curl = curl_easy_init();
	if (handle && !handle->curl) {
		free(handle);
		handle = NULL;
	}
	return handle;
}

static void close_handle(void *any)
{
	struct handle *handle = any;

	curl_easy_cleanup(handle->curl);
	free(handle);
}

static size_t take(char *bytes, size_t size, size_t count, void *context)
{
	struct transfer *transfer = context;
	const struct handle *handle = transfer->client->handle;
	long status = 0;

	curl_easy_getinfo(handle->curl, CURLINFO_RESPONSE_CODE, &status);
	return client_take(transfer, status, bytes, size * count) ? 0 : size * count;
}

/* Headers of a request; NULL for lack of memory. */
static struct curl_slist *make_headers(const struct client *client,
				       const struct client_request *request,
				       const struct client_body *body)
{
	char key[128], type[128];
	const char *lines[4];
	size_t count = 0;
	struct curl_slist *list = NULL;

	lines[count++] = "Expect:"; /* no second round trip for a large body */
	if (body->bytes) {
		snprintf(type, sizeof(type), "Content-Type: %s", body->type);
		lines[count++] = type;
	}
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

/* Who made the connection is known by the key alone, and checked when it was made; also that the
 * certificate has not ended. Before anything is sent. */
static int look_at_peer(void *context, char *peer, char *own, int peer_port, int own_port)
{
	CURL *curl = ((struct handle *)context)->curl;
	struct curl_certinfo *found = NULL;
	long made = 0;
	time_t ends = -1;

	(void)peer, (void)own, (void)peer_port, (void)own_port;
	curl_easy_getinfo(curl, CURLINFO_NUM_CONNECTS, &made);
	if (made == 0)
		return CURL_PREREQFUNC_OK; /* the one of before */
	curl_easy_getinfo(curl, CURLINFO_CERTINFO, &found);
	for (struct curl_slist *at = found && found->num_of_certs ? found->certinfo[0] : NULL; at;
	     at = at->next)
		if (strncmp(at->data, "Expire date:", 12) == 0)
			ends = curl_getdate(at->data + 12, NULL);
	if (ends > time(NULL))
		return CURL_PREREQFUNC_OK;
	((struct handle *)context)->ended = true;
	return CURL_PREREQFUNC_ABORT;
}

/* The pin stands in the place of an authority and of a name. */
static void set_pin(CURL *curl, const struct client *client)
{
	curl_easy_setopt(curl, CURLOPT_PINNEDPUBLICKEY, client->pin);
	curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
	curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
	curl_easy_setopt(curl, CURLOPT_CERTINFO, 1L);
	/* a session that is taken up again shows no certificate to look at */
	curl_easy_setopt(curl, CURLOPT_SSL_SESSIONID_CACHE, 0L);
	curl_easy_setopt(curl, CURLOPT_PREREQFUNCTION, look_at_peer);
	curl_easy_setopt(curl, CURLOPT_PREREQDATA, client->handle);
}

static void set_options(struct transfer *transfer, const struct client_request *request,
			const char *url, const struct client_body *body,
			struct curl_slist *headers)
{
	struct client *client = transfer->client;
	struct handle *handle = client->handle;
	CURL *curl = handle->curl;

	curl_easy_reset(curl); /* keeps the connection */
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, client->pin ? "https" : "http,https");
	curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (client->pin)
		set_pin(curl, client);
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L); /* the token is for this place alone */
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, handle->problem);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "strata/" STRATA_VERSION);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
	if (transfer->sink) /* it may be quiet for hours: the kernel finds out whether the other end lives */
		curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
	else
		curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
				 (long)(client->timeout_ns / STRATA_MS_NS));
	if (strcmp(request->method, "GET") != 0)
		curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
	if (body->bytes) {
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->count);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body->bytes);
	}
}

static int fail_transfer(const struct transfer *transfer, CURLcode code, struct strata_error *err)
{
	const struct client *client = transfer->client;
	const struct handle *handle = client->handle;
	const char *place = client->base;
	const char *why = handle->problem[0] ? handle->problem : curl_easy_strerror(code);

	switch (code) {
	case CURLE_WRITE_ERROR:
		return client_fail_take(transfer, err);
	case CURLE_OUT_OF_MEMORY:
		return strata_fail_memory(err);
	case CURLE_COULDNT_CONNECT:
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
		return strata_fail(err, -ECONNREFUSED, "no server at %s: %s", place,
				   handle->problem[0] ? handle->problem : "no connection");
	case CURLE_OPERATION_TIMEDOUT:
		return client_fail_time(client, err);
	case CURLE_URL_MALFORMAT:
	case CURLE_UNSUPPORTED_PROTOCOL:
		return strata_fail_at(err, -EINVAL, "server", "%s is not an address: %s", place,
				      why);
	case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
		return strata_fail(err, -EACCES,
				   "the key of %s is not the one that was pinned: somebody may be "
				   "in between, or the service has a new key; ask its operator "
				   "for the fingerprint, then `strata login %s`",
				   place, place);
	case CURLE_PEER_FAILED_VERIFICATION:
		return strata_fail(err, -EACCES,
				   "the certificate of %s is not trusted: %s; `strata login %s` "
				   "pins its key",
				   place, why, place);
	case CURLE_ABORTED_BY_CALLBACK:
		if (handle->ended)
			return strata_fail(err, -EACCES,
					   "the certificate of %s has ended; its operator makes "
					   "a new one (the service's own is made at its start)",
					   place);
		/* fall through */
	default:
		return strata_fail(err, -ECONNRESET, "the connection to the server at %s broke: %s",
				   place, why);
	}
}

static int send_web(struct transfer *transfer, const struct client_request *request,
		    const struct client_body *body, struct strata_error *err)
{
	struct client *client = transfer->client;
	struct handle *handle = client->handle;
	struct curl_slist *headers = make_headers(client, request, body);
	struct buf url;

	handle->problem[0] = '\0';
	handle->ended = false;
	buf_init(&url, client->memory, 0);
	buf_add(&url, client->base);
	buf_add(&url, request->path);
	int rc = headers ? buf_check(&url, err) : strata_fail_memory(err);

	if (rc == 0) {
		set_options(transfer, request, url.text, body, headers);
		CURLcode code = curl_easy_perform(handle->curl);

		if (code != CURLE_OK)
			rc = fail_transfer(transfer, code, err);
		else
			curl_easy_getinfo(handle->curl, CURLINFO_RESPONSE_CODE, &transfer->status);
	}
	buf_fini(&url);
	curl_slist_free_all(headers);
	return rc;
}

const struct client_web client_web = { open_handle, close_handle, send_web };
