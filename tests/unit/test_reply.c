#include "test.h"

#include "client/reply.h"

#include <stdio.h>
#include <string.h>

static char body[100000];
static size_t body_length;

/* Feeds an answer in pieces of this size; how many bytes were taken. */
static size_t feed(struct reply *reply, const char *text, size_t length, size_t piece)
{
	size_t at = 0;

	reply_init(reply);
	body_length = 0;
	while (at < length) {
		size_t count = length - at < piece ? length - at : piece, more;
		const char *part;
		size_t taken = reply_feed(reply, text + at, count, &part, &more);

		memcpy(body + body_length, part, more);
		body_length += more;
		body[body_length] = '\0';
		if (!taken)
			break;
		at += taken;
	}
	return at;
}

static void check(const char *text, int status, const char *want)
{
	struct reply reply;

	for (size_t piece = 1; piece <= strlen(text); piece++) {
		CHECK_INT(feed(&reply, text, strlen(text), piece), strlen(text));
		CHECK_INT(reply.state, REPLY_COMPLETE);
		CHECK_INT(reply.status, status);
		CHECK_TEXT(body, want);
	}
}

TEST(an_answer_is_read_whatever_its_pieces)
{
	check("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello");
	check("HTTP/1.0 404 Not Found\ncontent-length:3\nX: y\n\nabc", 404, "abc");
	check("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n"
	      "3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nX: y\r\n\r\n",
	      201, "abc0123456789");
	check("HTTP/1.1 204 No Content\r\n\r\n", 204, "");
	check("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, "");
	check("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", 200,
	      "x");
}

TEST(without_a_length_it_goes_on_to_the_end)
{
	const char *text = "HTTP/1.1 200 OK\r\n\r\nall of it";
	struct reply reply;

	feed(&reply, text, strlen(text), 7);
	CHECK_TEXT(body, "all of it");
	CHECK_INT(reply.state, REPLY_REST);
	CHECK(reply_end(&reply));
	CHECK_INT(reply.state, REPLY_COMPLETE);
}

TEST(an_end_that_comes_too_soon_is_none)
{
	const char *text =
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
	struct reply reply;

	for (size_t length = 0; length < strlen(text); length++) {
		feed(&reply, text, length, 5);
		CHECK(!reply_end(&reply));
	}
	feed(&reply, text, strlen(text), 5);
	CHECK(reply_end(&reply));
	text = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc";
	feed(&reply, text, strlen(text), 100);
	CHECK(!reply_end(&reply));
}

TEST(what_comes_behind_it_is_not_taken)
{
	const char *text = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabHTTP/1.1";
	struct reply reply;

	CHECK_INT(feed(&reply, text, strlen(text), 1000), strlen(text) - 8);
	CHECK_TEXT(body, "ab");
}

TEST(what_is_no_answer_is_broken)
{
	static const char *const bad[] = {
		"SMTP ready\r\n",
		"HTTP/2 200\r\n",
		"HTTP/1.1 20\r\n",
		"HTTP/1.1 2000 OK\r\n",
		"HTTP/1.1 200 OK\r\nno field\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n",
	};
	struct reply reply;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		feed(&reply, bad[i], strlen(bad[i]), 3);
		if (reply.state != REPLY_BROKEN)
			test_fail(__FILE__, __LINE__, "taken: %s", bad[i]);
		CHECK(!reply_end(&reply));
	}
}

/* A line of so many bytes, or so many lines. */
static enum reply_state long_head(size_t line_bytes, size_t lines)
{
	static char text[REPLY_LINE_BYTES_MAX * 2 + 8 * REPLY_LINES_MAX];
	char *at = text + sprintf(text, "HTTP/1.1 200 OK\r\n");
	struct reply reply;

	for (size_t i = 1; i < lines; i++)
		at += sprintf(at, "A: b\n");
	if (line_bytes) {
		memset(at, 'x', line_bytes);
		at[1] = ':';
		at += line_bytes;
		*at++ = '\n';
	}
	feed(&reply, text, (size_t)(at - text), 1000);
	return reply.state;
}

TEST(a_head_has_limits)
{
	CHECK_INT(long_head(REPLY_LINE_BYTES_MAX - 1, 1), REPLY_HEAD);
	CHECK_INT(long_head(REPLY_LINE_BYTES_MAX, 1), REPLY_BROKEN);
	CHECK_INT(long_head(0, REPLY_LINES_MAX), REPLY_HEAD);
	CHECK_INT(long_head(0, REPLY_LINES_MAX + 1), REPLY_BROKEN);
}
