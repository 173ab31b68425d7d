#include "test.h"

#include "formats/recording.h"

#include <math.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

static void check_line(const struct recording_line *line, const char *want)
{
	struct buf buf;

	buf_init(&buf, &memory, 0);
	recording_add(&buf, line);
	CHECK_OK(buf_check(&buf, &err));
	CHECK_TEXT(buf.text, want);
	buf_fini(&buf);
}

TEST(a_line_has_what_is_not_zero)
{
	struct strata_piece piece = {
		.tasks = 2, .cpu_milli = 4000, .gpu_mask = 3, .gpu_milli = 1000
	};
	struct strata_effect effect = { .kind = STRATA_EFFECT_STOP,
					.job = 7,
					.state = STRATA_JOB_RUNNING,
					.mode = STRATA_STOP_CANCEL,
					.pieces = &piece,
					.piece_count = 1 };

	check_line(&(struct recording_line){ .event = { .kind = STRATA_EVENT_SETTLE } },
		   "{\"event\":\"settle\"}\n");
	check_line(
		&(struct recording_line){ .event = { .kind = STRATA_EVENT_PASS,
						     .now_ns = 5,
						     .effects = &effect,
						     .effect_count = 1 },
					  .digest = UINT64_MAX },
		"{\"event\":\"pass\",\"now_ns\":5,\"effects\":[{\"kind\":\"stop\",\"job\":7,"
		"\"state\":\"running\",\"pieces\":[{\"tasks\":2,\"cpu_milli\":4000,\"gpu_mask\":3,"
		"\"gpu_milli\":1000}],\"mode\":\"cancel\"}],\"digest\":-1}\n");
	check_line(&(struct recording_line){ .begins = true, .begin = { .order = "fifo" } },
		   "{\"event\":\"begin\",\"format\":1,\"order\":\"fifo\"}\n");
}

TEST(texts_are_quoted_and_numbers_exact)
{
	check_line(&(struct recording_line){ .event = { .kind = STRATA_EVENT_USAGE,
							.name = "a\"b\\\n\x01",
							.gpu_hours = 0.1 } },
		   "{\"event\":\"usage\",\"name\":\"a\\\"b\\\\\\u000a\\u0001\",\"gpu_hours\":"
		   "0.10000000000000001}\n");
	check_line(&(struct recording_line){ .event = { .kind = STRATA_EVENT_PARTITION,
							.name = "",
							.priority = INFINITY } },
		   "{\"event\":\"partition\",\"name\":\"\"}\n");
}
