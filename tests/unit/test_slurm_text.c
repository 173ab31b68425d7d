#include "test.h"

#include "slurm/slurm_text.h"

#include <stdio.h>

static struct strata_memory memory;

static const char *written(void (*write)(struct buf *, int64_t), int64_t value)
{
	static char text[64];
	struct buf buf;

	buf_init(&buf, &memory, 0);
	write(&buf, value);
	snprintf(text, sizeof(text), "%s", buf.text);
	buf_fini(&buf);
	return text;
}

TEST(spans_leave_out_what_is_nought)
{
	CHECK_TEXT(written(slurm_span, 0), "0:00");
	CHECK_TEXT(written(slurm_span, 65), "1:05");
	CHECK_TEXT(written(slurm_span, 3600), "1:00:00");
	CHECK_TEXT(written(slurm_span, 86400 + 59), "1-00:00:59");
}

TEST(clocks_have_hours_always)
{
	CHECK_TEXT(written(slurm_clock, 5), "00:00:05");
	CHECK_TEXT(written(slurm_clock, 7 * 86400), "7-00:00:00");
}

TEST(sizes_are_whole_and_rounded_up)
{
	CHECK_TEXT(written(slurm_size, 0), "0");
	CHECK_TEXT(written(slurm_size, 1), "1M");
	CHECK_TEXT(written(slurm_size, INT64_C(1) << 30), "1G");
	CHECK_TEXT(written(slurm_size, INT64_C(1536) << 20), "1536M");
}

TEST(lists_have_whole_words)
{
	CHECK(slurm_listed("a,bc", "a") && slurm_listed("a,bc", "bc"));
	CHECK(!slurm_listed("a,bc", "b") && !slurm_listed("", "a") && !slurm_listed(NULL, "a"));
}
