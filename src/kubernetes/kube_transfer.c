/*
 * One exchange with the API server by libcurl. Nothing is followed: a redirect would carry the
 * token elsewhere. What went wrong is said by the server in an object of kind Status; its message
 * is the sentence.
 */
#include "kubernetes/kube_transfer.h"

#include "kubernetes/kube_client_int.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { CONNECT_SECONDS = 10, KEEPALIVE_SECONDS = 30, ERROR_BYTES_MAX = 1 << 16 };
#define USUAL_TIMEOUT_NS (15 * STRATA_SECOND_NS)
#define RETRY_AFTER_SECONDS_MAX 3600

static const struct {
	const char *verb, *type;
} methods[] = {
	[KUBE_GET] = { "GET", NULL },
	[KUBE_POST] = { "POST", "application/json" },
	[KUBE_PUT] = { "PUT", "application/json" },
	[KUBE_DELETE] = { "DELETE", "application/json" },
	[KUBE_PATCH_MERGE] = { "PATCH", "application/merge-patch+json" },
	[KUBE_PATCH_STRATEGIC] = { "PATCH", "application/strategic-merge-patch+json" },
	[KUBE_PATCH_JSON] = { "PATCH", "application/json-patch+json" },
};

/* ---- bytes in ---- */

static size_t take(char *bytes, size_t size, size_t count, void *context)
{
	struct kube_transfer *transfer = context;
	long status = 0;

	curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &status);
	bool good = status >= 200 && status < 300;

	if (transfer->sink && good) {
		transfer->sink_rc = transfer->sink(transfer->sink_context, bytes, size * count);
		return transfer->sink_rc ? 0 : size * count;
	}
	size_t limit = transfer->request->answer_bytes ? transfer->request->answer_bytes
						       : STRATA_KUBE_ANSWER_BYTES_MAX;

	if (!good && limit > ERROR_BYTES_MAX)
		limit = ERROR_BYTES_MAX;
	if (transfer->body.length > limit || size * count > limit - transfer->body.length) {
		transfer->too_large = true;
		return 0;
	}
	buf_add_bytes(&transfer->body, bytes, size * count);
	return transfer->body.failed ? 0 : size * count;
}

static size_t take_header(char *bytes, size_t size, size_t count, void *context)
{
	static const char name[] = "retry-after:";
	struct kube_transfer *transfer = context;
	size_t length = size * count, at = sizeof(name) - 1;
	int64_t seconds;

	if (length < at || strncasecmp(bytes, name, at) != 0)
		return length;
	while (at < length && bytes[at] == ' ')
		at++;
	while (length > at && (unsigned char)bytes[length - 1] <= ' ')
		length--;
	if (strata_int_parse(bytes + at, length - at, 0, RETRY_AFTER_SECONDS_MAX, &seconds, NULL) ==
	    0)
		transfer->retry_after_ns = seconds * STRATA_SECOND_NS;
	return size * count;
}

/* libcurl asks once a second, and when something moves. */
static int look_whether_to_stop(void *context, curl_off_t down_all, curl_off_t down,
				curl_off_t up_all, curl_off_t up)
{
	struct kube_client *client = context;

	(void)down_all, (void)down, (void)up_all, (void)up;
	return atomic_load(&client->stops);
}

/* ---- the request ---- */

static int add_header(struct kube_transfer *transfer, const char *name, const char *value,
		      struct strata_error *err)
{
	size_t room = strlen(name) + strlen(value) + 3;
	char *line = malloc(room);
	struct curl_slist *longer = NULL;

	if (line) {
		snprintf(line, room, "%s%s%s", name, *value ? ": " : ":", value);
		longer = curl_slist_append(transfer->headers, line);
		explicit_bzero(line, room);
	}
	free(line);
	if (!longer)
		return strata_fail_memory(err);
	transfer->headers = longer;
	return 0;
}

static int add_headers(struct kube_transfer *transfer, struct strata_error *err)
{
	const struct kube_request *request = transfer->request;
	const char *token = NULL;
	int rc = kube_client_token(transfer->client, &token, err);

	if (rc == 0)
		rc = add_header(transfer, "Accept",
				request->plain ? "text/plain, */*" : "application/json", err);
	if (rc == 0)
		rc = add_header(transfer, "Expect", "", err); /* not asked for first */
	if (rc == 0 && request->body)
		rc = add_header(transfer, "Content-Type", methods[request->method].type, err);
	if (rc == 0 && token) {
		char *value = malloc(strlen(token) + 8);

		if (!value)
			return strata_fail_memory(err);
		sprintf(value, "Bearer %s", token);
		rc = add_header(transfer, "Authorization", value, err);
		explicit_bzero(value, strlen(value));
		free(value);
	}
	return rc;
}

/* CURLOPT_*_BLOB for bytes, the option for a name otherwise: files are read for each connection. */
static void set_pem(CURL *curl, const struct kube_pem *pem, CURLoption blob, CURLoption file)
{
	struct curl_blob bytes = { .data = (void *)pem->bytes,
				   .len = pem->count,
				   .flags = CURL_BLOB_NOCOPY };

	if (pem->bytes)
		curl_easy_setopt(curl, blob, &bytes);
	else if (pem->file)
		curl_easy_setopt(curl, file, pem->file);
}

static void set_connection(const struct kube_transfer *transfer)
{
	const struct kube_config *config = transfer->client->config;
	CURL *curl = transfer->curl;

	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_SECONDS);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_SECONDS);
	/* the environment's proxies are not for the API server: said in the config, or none */
	curl_easy_setopt(curl, CURLOPT_PROXY, config->proxy ? config->proxy : "");
	set_pem(curl, &config->authority, CURLOPT_CAINFO_BLOB, CURLOPT_CAINFO);
	if (config->authority.bytes || config->authority.file) /* and no others */
		curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
	set_pem(curl, &config->certificate, CURLOPT_SSLCERT_BLOB, CURLOPT_SSLCERT);
	set_pem(curl, &config->key, CURLOPT_SSLKEY_BLOB, CURLOPT_SSLKEY);
	if (config->insecure) {
		curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
	}
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "strata/" STRATA_VERSION);
}

static void set_options(struct kube_transfer *transfer)
{
	const struct kube_request *request = transfer->request;
	int64_t timeout_ns = request->timeout_ns ? request->timeout_ns : USUAL_TIMEOUT_NS;
	CURL *curl = transfer->curl;

	curl_easy_reset(curl); /* keeps the connection */
	set_connection(transfer);
	curl_easy_setopt(curl, CURLOPT_URL, transfer->url);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(timeout_ns / STRATA_MS_NS));
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look_whether_to_stop);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, transfer->client);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, transfer->problem);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, transfer->headers);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, transfer);
	if (transfer->sent) {
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, transfer->sent);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)strlen(transfer->sent));
	}
	curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, methods[request->method].verb);
}

static int make_url(struct kube_transfer *transfer, struct strata_error *err)
{
	const struct kube_request *request = transfer->request;
	const char *query = request->query ? request->query : "";

	if (asprintf(&transfer->url, "%s%s%s%s", transfer->client->config->server, request->path,
		     *query ? "?" : "", query) < 0) {
		transfer->url = NULL;
		return strata_fail_memory(err);
	}
	return 0;
}

int kube_transfer_init(struct kube_transfer *transfer, struct kube_client *client, CURL *curl,
		       const struct kube_request *request, struct strata_error *err)
{
	*transfer = (struct kube_transfer){ .client = client, .curl = curl, .request = request };
	buf_init(&transfer->body, client->memory, 0);
	int rc = make_url(transfer, err);

	if (rc == 0 && request->body) {
		transfer->sent = json_dumps(request->body, JSON_COMPACT);
		rc = transfer->sent ? 0 : strata_fail_memory(err);
	}
	if (rc == 0)
		rc = add_headers(transfer, err);
	if (rc == 0)
		set_options(transfer);
	return rc;
}

void kube_transfer_fini(struct kube_transfer *transfer)
{
	for (struct curl_slist *at = transfer->headers; at; at = at->next)
		explicit_bzero(at->data, strlen(at->data));
	curl_slist_free_all(transfer->headers);
	free(transfer->url);
	if (transfer->sent)
		explicit_bzero(transfer->sent, strlen(transfer->sent));
	free(transfer->sent);
	buf_fini(&transfer->body);
}

/* ---- what came of it ---- */

static int code_of(int status, const char *reason)
{
	if (status == 429 || status == 408 || status >= 500)
		return -EAGAIN;
	if (status == 401 || status == 403)
		return -EACCES;
	if (status == 404)
		return -ENOENT;
	if (status == 409)
		return strcmp(reason, "AlreadyExists") == 0 ? -EEXIST : -EBUSY;
	return status == 410 ? -ESTALE : status >= 400 ? -EINVAL : -EBADMSG;
}

static int fail_status(const struct kube_transfer *transfer, struct kube_answer *answer,
		       struct strata_error *err)
{
	json_t *status = json_loadb(transfer->body.text, transfer->body.length, 0, NULL);
	const char *message = kube_text(status, "message", NULL);
	const json_t *wait = kube_at(status, "details", "retryAfterSeconds", NULL);
	int64_t seconds = json_integer_value(wait);

	snprintf(answer->reason, sizeof(answer->reason), "%s", kube_text(status, "reason", NULL));
	if (!answer->retry_after_ns && seconds > 0 && seconds <= RETRY_AFTER_SECONDS_MAX)
		answer->retry_after_ns = seconds * STRATA_SECOND_NS;
	int rc = code_of(answer->status, answer->reason);

	if (answer->status == 401)
		message = "the token or certificate is not taken (Unauthorized)";
	if (answer->status >= 300 && answer->status < 400)
		message = "it sends on to another address, which is not followed";
	strata_fail(err, rc, "Kubernetes says %d to %s %s: %s", answer->status,
		    methods[transfer->request->method].verb, transfer->request->path,
		    *message ? message : "nothing more");
	json_decref(status);
	return rc;
}

static int fail_transfer(const struct kube_transfer *transfer, CURLcode code,
			 struct strata_error *err)
{
	const char *server = transfer->client->config->server;
	const char *problem = *transfer->problem ? transfer->problem : curl_easy_strerror(code);

	if (transfer->sink_rc)
		return strata_fail(err, transfer->sink_rc, "%s", strerror(-transfer->sink_rc));
	if (transfer->too_large)
		return strata_fail(err, -E2BIG, "the answer of %s to %s is too large", server,
				   transfer->request->path);
	if (code == CURLE_OUT_OF_MEMORY || transfer->body.failed)
		return strata_fail_memory(err);
	if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL)
		return strata_fail(err, -EINVAL, "%s is not an address", server);
	if (code == CURLE_PEER_FAILED_VERIFICATION)
		return strata_fail(err, -EACCES, "the certificate of %s is not trusted: %s", server,
				   problem);
	if (code == CURLE_SSL_CERTPROBLEM || code == CURLE_SSL_CACERT_BADFILE)
		return strata_fail(err, -EACCES,
				   "a certificate or key of the kubeconfig is not usable: %s",
				   problem);
	if (code == CURLE_ABORTED_BY_CALLBACK)
		problem = "it is not waited for any more";
	return strata_fail(err, -EAGAIN, "no answer from %s: %s", server, problem);
}

static int read_body(struct kube_transfer *transfer, struct kube_answer *answer,
		     struct strata_error *err)
{
	json_error_t where;

	if (transfer->request->plain) {
		answer->text = malloc(transfer->body.length + 1);
		if (!answer->text)
			return strata_fail_memory(err);
		memcpy(answer->text, transfer->body.text, transfer->body.length + 1);
		answer->text_bytes = transfer->body.length;
		return 0;
	}
	answer->body = json_loadb(transfer->body.text, transfer->body.length,
				  JSON_REJECT_DUPLICATES, &where);
	if (!answer->body && json_error_code(&where) == json_error_out_of_memory)
		return strata_fail_memory(err);
	if (!json_is_object(answer->body))
		return strata_fail(err, -EBADMSG, "what %s answers to %s is not JSON of the API",
				   transfer->client->config->server, transfer->request->path);
	return 0;
}

int kube_transfer_end(struct kube_transfer *transfer, CURLcode code, struct kube_answer *answer,
		      struct strata_error *err)
{
	long status = 0;

	curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &status);
	answer->status = (int)status;
	answer->retry_after_ns = transfer->retry_after_ns;
	if (code)
		return fail_transfer(transfer, code, err);
	if (status < 200 || status >= 300)
		return fail_status(transfer, answer, err);
	return transfer->sink ? 0 : read_body(transfer, answer, err);
}
