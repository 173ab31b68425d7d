/* Sending messages: see webhook_send.h. */
#include "webhook/webhook_send.h"


#include <curl/curl.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AT_A_TIME = 32, CONNECT_MS = 5000, WHOLE_MS = 15000, WAIT_MS = 1000 };

struct message {
	json_t *json; /* whose texts are used */
	CURL *curl;
	struct curl_slist *headers;
	bool turned_away; /* its address is not one that messages go to */
	char problem[CURL_ERROR_SIZE];
	struct sender *sender;
};

struct sender {
	CURLM *multi;
	const struct webhook_allowed *allowed;
	int in_fd, out_fd;
	char *line; /* what has come of the next one; STRATA_WEBHOOK_LINE_BYTES_MAX */
	size_t length;
	size_t under_way;
	bool ended; /* nothing more comes */
};

/* ---- answers ---- */

static int write_all(int fd, const char *text, size_t length, struct strata_error *err)
{
	while (length > 0) {
		ssize_t count = write(fd, text, length);

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return strata_fail(err, -errno, "the service does not listen: %s",
					   strerror(errno));
		text += count;
		length -= (size_t)count;
	}
	return 0;
}

static int tell(struct sender *sender, const char *id, long status, const char *error,
		struct strata_error *err)
{
	json_t *json = json_pack("{s:s,s:I,s:s?}", "id", id, "status", (json_int_t)status, "error",
				 error);
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;

	json_decref(json);
	if (!text)
		return strata_fail_memory(err);
	int rc = write_all(sender->out_fd, text, strlen(text), err);

	if (rc == 0)
		rc = write_all(sender->out_fd, "\n", 1, err);
	free(text);
	return rc;
}

/* ---- one message ---- */

static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct message *message = context;

	(void)purpose;
	if (!webhook_address_fits(&address->addr, message->sender->allowed)) {
		message->turned_away = true;
		return CURL_SOCKET_BAD;
	}
	return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static size_t pass_over(char *bytes, size_t size, size_t count, void *context)
{
	(void)bytes, (void)context;
	return size * count;
}

static void message_free(struct message *message)
{
	if (message->curl)
		curl_easy_cleanup(message->curl);
	curl_slist_free_all(message->headers);
	json_decref(message->json);
	free(message);
}

static bool set_options(struct message *message, const char *url, const json_t *body)
{
	CURL *curl = message->curl;

	curl_easy_setopt(curl, CURLOPT_PRIVATE, message);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(curl, CURLOPT_PROXY, ""); /* whatever the environment says */
	curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	curl_easy_setopt(curl, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)WHOLE_MS);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, message->problem);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "strata/" STRATA_VERSION);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, pass_over);
	curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, message);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, message->headers);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)json_string_length(body));
	curl_easy_setopt(curl, CURLOPT_POSTFIELDS, json_string_value(body));
	return curl_easy_setopt(curl, CURLOPT_URL, url) == CURLE_OK;
}

static bool add_headers(struct message *message)
{
	const json_t *lines = json_object_get(message->json, "headers"), *line;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)lines, i, line)
	{
		const char *text = json_string_value(line);
		struct curl_slist *longer =
			text && !strpbrk(text, "\r\n") ? curl_slist_append(message->headers, text)
							: NULL;

		if (!longer)
			return false;
		message->headers = longer;
	}
	return true;
}

/* The line is one that the service has made: what is not so is answered and passed over. */
static int begin(struct sender *sender, const char *line, size_t length, struct strata_error *err)
{
	struct message *message = calloc(1, sizeof(*message));

	if (!message)
		return strata_fail_memory(err);
	message->sender = sender;
	message->json = json_loadb(line, length, 0, NULL);
	const char *id = json_string_value(json_object_get(message->json, "id"));
	const char *url = json_string_value(json_object_get(message->json, "url"));
	const json_t *body = json_object_get(message->json, "body");
	struct strata_error why = { 0 };
	int rc = 0;

	if (!id || !url || !json_is_string(body)) {
		message_free(message);
		return strata_fail(err, -EBADMSG, "a line is no message");
	}
	message->curl = curl_easy_init();
	if (webhook_url_check(url, &why))
		rc = tell(sender, id, 0, why.text, err);
	else if (!message->curl || !add_headers(message) || !set_options(message, url, body) ||
		 curl_multi_add_handle(sender->multi, message->curl))
		rc = tell(sender, id, 0, "it could not be sent: out of memory", err);
	else {
		sender->under_way++;
		return 0;
	}
	message_free(message);
	return rc;
}

static int finish(struct sender *sender, const CURLMsg *done, struct strata_error *err)
{
	CURLcode code = done->data.result;
	CURL *curl = done->easy_handle;
	struct message *message;
	char text[CURL_ERROR_SIZE + 64];
	long status = 0;

	curl_easy_getinfo(curl, CURLINFO_PRIVATE, (char **)&message);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	curl_multi_remove_handle(sender->multi, curl);
	sender->under_way--;
	text[0] = '\0';
	if (message->turned_away && code != CURLE_OK)
		snprintf(text, sizeof(text), "its address is not one that messages may go to");
	else if (code != CURLE_OK)
		snprintf(text, sizeof(text), "%s",
			 message->problem[0] ? message->problem : curl_easy_strerror(code));
	else if (status >= 300 && status < 400)
		snprintf(text, sizeof(text), "it answered %ld; redirects are not followed", status);
	else if (status < 200 || status >= 300)
		snprintf(text, sizeof(text), "it answered %ld", status);
	int rc = tell(sender, json_string_value(json_object_get(message->json, "id")),
		      code == CURLE_OK ? status : 0, text[0] ? text : NULL, err);

	message_free(message);
	return rc;
}

/* ---- all of them ---- */

static int read_more(struct sender *sender, struct strata_error *err)
{
	ssize_t count = read(sender->in_fd, sender->line + sender->length,
			     STRATA_WEBHOOK_LINE_BYTES_MAX - sender->length);

	if (count < 0 && errno != EINTR)
		return strata_fail(err, -errno, "the service does not talk: %s", strerror(errno));
	if (count == 0) { /* half a line is none */
		sender->ended = true;
		while (sender->length && sender->line[sender->length - 1] != '\n')
			sender->length--;
	}
	if (count > 0)
		sender->length += (size_t)count;
	return 0;
}

static bool has_room(const struct sender *sender)
{
	return sender->under_way < AT_A_TIME;
}

/* Those lines that are there, as many as may be under way. */
static int begin_lines(struct sender *sender, struct strata_error *err)
{
	char *end;
	int rc = 0;

	while (rc == 0 && has_room(sender) &&
	       (end = memchr(sender->line, '\n', sender->length))) {
		size_t length = (size_t)(end - sender->line) + 1;

		rc = begin(sender, sender->line, length - 1, err);
		memmove(sender->line, end + 1, sender->length - length);
		sender->length -= length;
	}
	if (rc == 0 && has_room(sender) && sender->length == STRATA_WEBHOOK_LINE_BYTES_MAX)
		rc = strata_fail(err, -E2BIG, "a line has more than %d bytes",
				 STRATA_WEBHOOK_LINE_BYTES_MAX);
	return rc;
}

static int go_round(struct sender *sender, struct strata_error *err)
{
	bool listens = !sender->ended && has_room(sender);
	struct curl_waitfd more = { .fd = sender->in_fd, .events = CURL_WAIT_POLLIN };
	int left, rc = 0;
	const CURLMsg *done;

	if (curl_multi_poll(sender->multi, &more, listens, WAIT_MS, NULL) ||
	    curl_multi_perform(sender->multi, &left))
		return strata_fail(err, -EIO, "libcurl does not go on");
	while (rc == 0 && (done = curl_multi_info_read(sender->multi, &left)))
		if (done->msg == CURLMSG_DONE)
			rc = finish(sender, done, err);
	if (rc == 0 && listens && more.revents)
		rc = read_more(sender, err);
	return rc ? rc : begin_lines(sender, err);
}

int webhook_send_all(int in_fd, int out_fd, const struct webhook_allowed *allowed,
		     struct strata_error *err)
{
	struct sender sender = { .multi = curl_multi_init(),
				 .allowed = allowed,
				 .in_fd = in_fd,
				 .out_fd = out_fd,
				 .line = malloc(STRATA_WEBHOOK_LINE_BYTES_MAX) };
	int rc = sender.multi && sender.line ? 0 : strata_fail_memory(err);

	while (rc == 0 && (!sender.ended || sender.under_way || sender.length))
		rc = go_round(&sender, err);
	free(sender.line);
	if (sender.multi)
		curl_multi_cleanup(sender.multi);
	return rc;
}
