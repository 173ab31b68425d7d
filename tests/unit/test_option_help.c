#include "sample.h"

TEST(help_lists_every_flag_with_range_and_default)
{
	struct buf buf;

	buf_init(&buf, &sample_memory, 0);
	option_help(&sample_schema, &buf);
	CHECK_TEXT(buf.text, "  -o, --on                  do it\n"
			     "      --[no-]loud           it is heard (default yes)\n"
			     "  -n, --steps N             how many steps (1 to 1000; default 20)\n"
			     "      --any N               (default 0)\n"
			     "      --scale N             guidance (0 to 1000000000; default 7.5)\n"
			     "      --color red|green     which one (default green)\n"
			     "  -t, --title TEXT          (at most 16 bytes; default untitled)\n"
			     "      --secret TEXT         (default ***)\n"
			     "      --memory SIZE         (at least 1MiB; default 1GiB)\n"
			     "      --time-limit DURATION\n"
			     "                            (default unlimited)\n"
			     "      --grace DURATION      (default 1m)\n"
			     "      --begin TIME          \n"
			     "      --sizes N,…           (0 to 100; default 1,2)\n"
			     "      --disk ,…             \n"
			     "      --labels KEY=TEXT,…   \n"
			     "      --weights KEY=N,…     (0 to 10; default a=2)\n"
			     "      --net.url TEXT        where it is\n"
			     "      --net.timeout DURATION\n"
			     "                            (at most 1m; default 5s)\n"
			     "      --net.speed RATE      (default 1000000B/s)\n");
	buf_fini(&buf);
}

TEST(the_manual_escapes_what_scdoc_would_read)
{
	struct buf buf;

	buf_init(&buf, &sample_memory, 0);
	option_manual(&sample_schema, &buf);
	CHECK(strstr(buf.text, "*-n*, *--steps* N\n\thow many steps (1 to 1000; default 20)\n\n"));
	CHECK(strstr(buf.text, "*--net\\.url* TEXT\n\twhere it is\n"));
	CHECK(strstr(buf.text, "(default \\*\\*\\*)"));
	CHECK(strstr(buf.text, "*--\\[no-\\]loud*\n\tit is heard (default yes)\n"));
	buf_fini(&buf);
}
