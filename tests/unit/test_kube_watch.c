/* Watches: what is told, once each, whatever the server does. */
#include "kube_told.h"

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
