/* Watches: what is told, once each, whatever the server does. */
#include "kube_server.h"

#include "kubernetes/kube_watch.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>

static struct strata_error err;

#define POD(name, uid, version)                                                   \
	"{\"metadata\":{\"namespace\":\"n\",\"name\":\"" name "\",\"uid\":\"" uid \
	"\",\"resourceVersion\":\"" version "\",\"managedFields\":[1]}}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define LIST(version, items) \
	"{\"metadata\":{\"resourceVersion\":\"" version "\"},\"items\":[" items "]}"
#define OK "200 OK"

/* What a watch tells against this script until `until` is told so many times: "+a" "~a" "-a" "." */
static void tell(const struct kube_step *steps, size_t count, const char *want,
		 struct kube_server *server)
{
	struct kube_watch_conf conf = { .env = env_system(),
					.path = "/api/v1/pods",
					.query = "q=1",
					.page = 2,
					.retry_ns = STRATA_MS_NS,
					.retry_max_ns = 4 * STRATA_MS_NS };
	struct kube_watch_event event;
	struct kube_watch *watch;
	char got[512] = "";

	kube_server_start(server, steps, count);
	struct kube_config config = { .server = server->url, .space = "x" };

	conf.config = &config;
	CHECK_OK(kube_watch_open(&conf, &watch, &err));
	while (strlen(got) < strlen(want)) {
		struct pollfd ready = { kube_watch_fd(watch), POLLIN, 0 };

		if (!kube_watch_next(watch, &event)) {
			if (poll(&ready, 1, 20000) != 1)
				break;
			continue;
		}
		static const char signs[] = {
			[KUBE_ADDED] = '+',  [KUBE_MODIFIED] = '~', [KUBE_DELETED] = '-',
			[KUBE_SYNCED] = '.', [KUBE_TROUBLE] = '!',  [KUBE_FINE] = '='
		};

		CHECK(!kube_at(event.object, "metadata", "managedFields", NULL));
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%c%s%s", signs[event.type],
			 kube_text(event.object, "metadata", "name", NULL),
			 event.type == KUBE_DELETED
				 ? kube_text(event.object, "metadata", "uid", NULL)
				 : "");
		json_decref(event.object);
	}
	kube_watch_close(watch);
	kube_server_stop(server);
	CHECK_TEXT(got, want);
}

#define TELL(steps, want, server) tell(steps, sizeof(steps) / sizeof((steps)[0]), want, server)

TEST(a_list_in_pages_then_what_changes)
{
	static const struct kube_step steps[] = {
		{ OK,
		  "{\"metadata\":{\"resourceVersion\":\"5\",\"continue\":\"t&k\"},\"items\":[" POD(
			  "a", "1", "1") "," POD("b", "2", "2") "]}",
		  false },
		{ OK, LIST("5", POD("c", "3", "3")), false },
		{ OK,
		  EVENT("ADDED", POD("d", "4", "6")) EVENT("MODIFIED", POD("a", "1", "7"))
			  EVENT("DELETED", POD("b", "2", "8"))
				  EVENT("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"9\"}}"),
		  false },
		{ OK, EVENT("ADDED", POD("e", "5", "11")), true },
	};
	struct kube_server server;

	TELL(steps, "+a+b+c.+d~a-b2+e", &server);
	CHECK(strstr(server.requests[0], "GET /api/v1/pods?limit=2&q=1 "));
	CHECK(strstr(server.requests[1], "?limit=2&continue=t%26k&q=1 "));
	CHECK(strstr(
		server.requests[2],
		"?watch=1&allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds=300&q=1 "));
	CHECK(strstr(server.requests[3], "resourceVersion=9&"));
	kube_server_forget(&server);
}

TEST(after_410_a_list_becomes_differences)
{
	static const struct kube_step steps[] = {
		{ OK,
		  LIST("5", POD("a", "1", "1") "," POD("b", "2", "2") "," POD(
				    "c", "3", "3") "," POD("d", "4", "4")),
		  false },
		{ OK, EVENT("ERROR", "{\"code\":410,\"message\":\"too old\"}"), false },
		/* a as it was, b changed, c gone, d made again */
		{ OK,
		  LIST("20", POD("a", "1", "1") "," POD("b", "2", "12") "," POD("d", "9", "13")),
		  false },
		{ "410 Gone", "{\"message\":\"too old\"}", false },
		{ OK, LIST("30", POD("a", "1", "1") "," POD("b", "2", "12")), false },
		{ OK, EVENT("ADDED", POD("f", "6", "31")), true },
	};
	struct kube_server server;

	TELL(steps, "+a+b+c+d.~b-d4+d-c3.-d9.+f", &server);
	CHECK(strstr(server.requests[5], "resourceVersion=30&"));
	kube_server_forget(&server);
}

TEST(an_outage_is_told_once_and_nothing_twice)
{
	static const struct kube_step steps[] = {
		{ "503 Service Unavailable", "{}", false },
		{ "503 Service Unavailable", "{}", false },
		{ OK, LIST("5", POD("a", "1", "1")), false },
		{ "500 Internal Server Error", "{}", false },
		{ "200 OK\r\nContent-Length: 9999",
		  EVENT("ADDED", POD("b", "2", "6")) "{\"type\":\"ADD", false },
		{ OK, EVENT("ADDED", POD("b", "2", "6")) EVENT("ADDED", POD("c", "3", "7")), true },
	};
	struct kube_server server;

	TELL(steps, "!=+a.!=+b!=+c", &server);
	CHECK(strstr(server.requests[5], "resourceVersion=6&"));
	kube_server_forget(&server);
}

TEST(lines_that_are_no_events_lead_to_another_list)
{
	static const struct kube_step steps[] = {
		{ OK, LIST("5", ""), false },
		{ OK, "nonsense\n", false },
		{ OK, LIST("6", POD("a", "1", "6")), false },
		{ OK, EVENT("ADDED", "{\"metadata\":{}}"), false },
		{ OK, LIST("7", POD("a", "1", "6")), false },
		{ OK, EVENT("DELETED", POD("a", "1", "8")), true },
	};
	struct kube_server server;

	TELL(steps, ".!=+a.!=.-a1", &server);
	kube_server_forget(&server);
}

TEST(it_ends_at_once_while_it_waits)
{
	static const struct kube_step steps[] = { { OK, LIST("5", ""), false }, { OK, "", true } };
	struct kube_server server;

	TELL(steps, ".", &server);
	kube_server_forget(&server);
}

TEST(one_who_takes_nothing_stops_the_reading)
{
	static const struct kube_step steps[] = {
		{ OK, LIST("5", POD("a", "1", "1") "," POD("b", "2", "2") "," POD("c", "3", "3")),
		  false },
		{ OK, "", true },
	};
	struct kube_server server;
	struct kube_watch_event event;
	struct kube_watch *watch;
	int told = 0;

	kube_server_start(&server, steps, 2);
	struct kube_config config = { .server = server.url, .space = "x" };
	struct kube_watch_conf conf = {
		.env = env_system(), .config = &config, .path = "/api/v1/pods", .ahead = 1
	};

	CHECK_OK(kube_watch_open(&conf, &watch, &err));
	while (told < 4) {
		struct pollfd ready = { kube_watch_fd(watch), POLLIN, 0 };

		CHECK_INT(poll(&ready, 1, 20000), 1);
		if (!kube_watch_next(watch, &event))
			continue;
		json_decref(event.object);
		told++;
	}
	kube_watch_close(watch);
	kube_server_stop(&server);
	kube_server_forget(&server);
}

TEST(a_line_has_a_limit)
{
	char *body = malloc(STRATA_KUBE_LINE_BYTES_MAX + 2);

	memset(body, ' ', STRATA_KUBE_LINE_BYTES_MAX + 1);
	body[STRATA_KUBE_LINE_BYTES_MAX + 1] = '\0';
	const struct kube_step steps[] = {
		{ OK, LIST("5", ""), false },
		{ OK, body, false },
		{ OK, LIST("6", ""), false },
		{ OK, "", true },
	};
	struct kube_server server;

	TELL(steps, ".!=.", &server);
	free(body);
	kube_server_forget(&server);
}
