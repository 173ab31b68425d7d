#include "test.h"

#include "server/web_guard.h"

TEST(the_names_of_the_loopback_are_ours)
{
	static const char *const good[] = { "localhost", "localhost:8470", "127.0.0.1:1",
					    "[::1]:8470", "LocalHost:65535" };
	static const char *const bad[] = { "",
					   ":8470",
					   "evil.example",
					   "localhost.evil.example",
					   "127.0.0.1.evil.example:80",
					   "localhost:",
					   "localhost:80x",
					   "localhost:123456",
					   "[::1",
					   "[::1]x",
					   "evil:80, localhost" };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		CHECK(web_guard_host(good[i], NULL));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!web_guard_host(bad[i], NULL));
	CHECK(!web_guard_host(NULL, NULL));
}

TEST(other_names_are_listed)
{
	CHECK(web_guard_host("gpu.lab.example", "gpu.lab.example"));
	CHECK(web_guard_host("gpu.lab.example:443", "a, gpu.lab.example ,b"));
	CHECK(web_guard_host("B", "a,b"));
	CHECK(!web_guard_host("gpu.lab", "gpu.lab.example"));
	CHECK(!web_guard_host("gpu.lab.example", ""));
	CHECK(!web_guard_host("", ", ,"));
}

TEST(an_origin_is_that_of_the_host)
{
	CHECK(web_guard_origin("http://127.0.0.1:8470", "127.0.0.1:8470", false));
	CHECK(web_guard_origin("https://gpu.lab.example", "gpu.lab.example", false));
	CHECK(!web_guard_origin("http://127.0.0.1:8471", "127.0.0.1:8470", false));
	CHECK(!web_guard_origin("http://127.0.0.1", "127.0.0.1:8470", false));
	CHECK(!web_guard_origin("null", "null", false));
	CHECK(!web_guard_origin("http://", "", false));
	CHECK(!web_guard_origin("http://a", NULL, false));
	CHECK(!web_guard_origin("ftp://a", "a", false));
	CHECK(web_guard_origin("https://a", "a", true));
	CHECK(!web_guard_origin("http://a", "a", true));
}

TEST(a_host_has_a_port)
{
	CHECK_INT(web_guard_port("127.0.0.1:8470"), 8470);
	CHECK_INT(web_guard_port("[::1]:1"), 1);
	CHECK_INT(web_guard_port("localhost"), 80);
	CHECK_INT(web_guard_port("localhost:x"), 80);
	CHECK_INT(web_guard_port(NULL), 80);
}
