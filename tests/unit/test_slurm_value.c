#include "test.h"

#include "slurm/slurm_value.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

static int64_t minutes(const char *text)
{
	int64_t ns = -7;

	CHECK_OK(strata_slurm_time_parse(text, STRATA_TEXT_NUL, &ns, &err));
	return ns == STRATA_DURATION_UNLIMITED ? -1 : ns / STRATA_MINUTE_NS;
}

static int64_t megabytes(const char *text)
{
	int64_t bytes = -7;

	CHECK_OK(strata_slurm_memory_parse(text, STRATA_TEXT_NUL, &bytes, &err));
	CHECK_INT(bytes % (1 << 20), 0);
	return bytes >> 20;
}

/* The forms and their minutes are sbatch's. */
TEST(time_limits_are_those_of_sbatch)
{
	CHECK_INT(minutes("15"), 15);
	CHECK_INT(minutes("10080"), 7 * 24 * 60);
	CHECK_INT(minutes("0:30"), 1);
	CHECK_INT(minutes("1:30"), 2);
	CHECK_INT(minutes("1:00:00"), 60);
	CHECK_INT(minutes("500:00:00"), 500 * 60);
	CHECK_INT(minutes("1-2"), 26 * 60);
	CHECK_INT(minutes("0-13:0"), 13 * 60);
	CHECK_INT(minutes("1-2:3:4"), 26 * 60 + 4);
	CHECK_INT(minutes("0"), -1);
	CHECK_INT(minutes("-1"), -1);
	CHECK_INT(minutes("INFINITE"), -1);
	CHECK_INT(minutes("unlimited"), -1);
}

TEST(what_is_no_time_limit_is_refused)
{
	static const char *const bad[] = { "",   "abc",     "inf",   "2h",    "1.5",   ":5",
					   "5:", "1:2:3:4", "1-2-3", "1:2-3", "1:00 ", "-5" };
	int64_t ns = -7;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_ERROR(strata_slurm_time_parse(bad[i], STRATA_TEXT_NUL, &ns, &err), -EINVAL,
			    "is not a time limit");
	CHECK_INT(ns, -7);
}

TEST(memory_is_whole_megabytes)
{
	CHECK_INT(megabytes("4000"), 4000);
	CHECK_INT(megabytes("0"), 0);
	CHECK_INT(megabytes("28GB"), 28 << 10);
	CHECK_INT(megabytes("1T"), 1 << 20);
	CHECK_INT(megabytes("16g"), 16 << 10);
	CHECK_INT(megabytes("1k"), 1);
	CHECK_INT(megabytes("1025k"), 2);
}

TEST(what_is_no_memory_is_refused)
{
	static const char *const bad[] = { "",   "abc", "1.5G", "28Gx", "28gib", "28P",
					   "-1", "5B",  "G",    "1 G",  "1GBB" };
	int64_t bytes = -7;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_ERROR(strata_slurm_memory_parse(bad[i], STRATA_TEXT_NUL, &bytes, &err),
			    -EINVAL, "is not a size of memory");
	CHECK(strata_slurm_memory_parse("99999999999T", STRATA_TEXT_NUL, &bytes, &err) == -ERANGE);
	CHECK_INT(bytes, -7);
}

TEST(numbers_of_nodes_are_read)
{
	int64_t min, max;

	CHECK_OK(slurm_nodes_parse("2", &min, &max, &err));
	CHECK(min == 2 && max == 2);
	CHECK_OK(slurm_nodes_parse("2-4", &min, &max, &err));
	CHECK(min == 2 && max == 4);
	CHECK_OK(slurm_nodes_parse("-2", &min, &max, &err));
	CHECK(min == 1 && max == 2);
	CHECK_OK(slurm_nodes_parse("2k", &min, &max, &err));
	CHECK(min == 2048 && max == 2048);
	CHECK_OK(slurm_nodes_parse("0-3", &min, &max, &err));
	CHECK_ERROR(slurm_nodes_parse("{n}", &min, &max, &err), -EINVAL,
		    "\"{n}\" is not a valid node count");
	CHECK_ERROR(slurm_nodes_parse("4-2", &min, &max, &err), -EINVAL,
		    "Maximum node count 2 is less than minimum node count 4");
	CHECK_ERROR(slurm_nodes_parse("2-", &min, &max, &err), -EINVAL,
		    "Maximum node count -1 is less than minimum node count 2");
	CHECK_ERROR(slurm_nodes_parse("", &min, &max, &err), -EINVAL, "not a valid node count");
	CHECK_ERROR(slurm_nodes_parse("1,2", &min, &max, &err), -EINVAL, "not a valid");
	CHECK_ERROR(slurm_nodes_parse("2147483648", &min, &max, &err), -EINVAL, "not a valid");
	CHECK(min == 0 && max == 3);
}

static struct strata_sbatch_gpus gpus;

static int parse(int (*reader)(const char *, struct strata_arena *, struct strata_sbatch_gpus *,
			       struct strata_error *),
		 const char *text)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	gpus = (struct strata_sbatch_gpus){ .count = -7 };
	return reader(text, &arena, &gpus, &err);
}

TEST(gpus_have_counts_and_types)
{
	CHECK_OK(parse(slurm_gpus_parse, "2"));
	CHECK(gpus.count == 2 && !gpus.type);
	CHECK_OK(parse(slurm_gpus_parse, "a100:2"));
	CHECK_INT(gpus.count, 2);
	CHECK_TEXT(gpus.type, "a100");
	CHECK_TEXT(gpus.text, "a100:2");
	CHECK_OK(parse(slurm_gpus_parse, "a100"));
	CHECK_INT(gpus.count, 1);
	CHECK_OK(parse(slurm_gpus_parse, "a:1,b:2"));
	CHECK(gpus.count == 3 && !gpus.type);
	CHECK_OK(parse(slurm_gpus_parse, "a:1,a:2"));
	CHECK_INT(gpus.count, 2);
	CHECK_OK(parse(slurm_gpus_parse, "1k"));
	CHECK_INT(gpus.count, 1024);
	CHECK_OK(parse(slurm_gpus_parse, "0"));
	CHECK_INT(gpus.count, 0);
	CHECK_ERROR(parse(slurm_gpus_parse, "x:y"), -EBADMSG,
		    "Invalid generic resource (gres) specification");
	CHECK_ERROR(parse(slurm_gpus_parse, "2,a:1"), -EBADMSG,
		    "Invalid GRES specification (with and without type identification)");
	char many[1024] = "", *at = many;

	for (int i = 0; i < 17; i++) {
		at += sprintf(at, "%st%d:1", i ? "," : "", i);
		if (i == 15)
			CHECK_OK(parse(slurm_gpus_parse, many));
	}
	CHECK_ERROR(parse(slurm_gpus_parse, many), -E2BIG, "GPUs of more than 16 types");
	CHECK(parse(slurm_gpus_parse, "") == -EBADMSG);
	CHECK(parse(slurm_gpus_parse, "a:1,") == -EBADMSG);
	CHECK(parse(slurm_gpus_parse, "99999999999999999") == -EBADMSG);
	CHECK_INT(gpus.count, -7);
}

TEST(gpus_of_gres_are_found)
{
	CHECK_OK(parse(slurm_gres_parse, "gpu"));
	CHECK_INT(gpus.count, 1);
	CHECK_OK(parse(slurm_gres_parse, "gpu:v100:4"));
	CHECK_INT(gpus.count, 4);
	CHECK_TEXT(gpus.type, "v100");
	CHECK_OK(parse(slurm_gres_parse, "gres:gpu:2"));
	CHECK_INT(gpus.count, 2);
	CHECK_OK(parse(slurm_gres_parse, "gpu:x"));
	CHECK_TEXT(gpus.type, "x");
	CHECK_OK(parse(slurm_gres_parse, "none"));
	CHECK(!gpus.text);
	CHECK(parse(slurm_gres_parse, "foo:1") == -EBADMSG);
	CHECK(parse(slurm_gres_parse, "gpu=2") == -EBADMSG);
	CHECK(parse(slurm_gres_parse, "gpus:2") == -EBADMSG);
	CHECK(parse(slurm_gres_parse, "gpu:2,mps:3") == -EBADMSG);
	CHECK(parse(slurm_gres_parse, "") == -EBADMSG);
}

TEST(signals_have_names_numbers_and_times)
{
	struct strata_sbatch_signal got;

	CHECK(slurm_signal_parse("B:USR1@60", &got));
	CHECK(got.number == SIGUSR1 && got.batch_only && !got.reservation);
	CHECK_INT(got.before_ns, 60 * STRATA_SECOND_NS);
	CHECK(slurm_signal_parse("SIGTERM", &got));
	CHECK(got.number == SIGTERM && got.before_ns == 60 * STRATA_SECOND_NS && !got.batch_only);
	CHECK(slurm_signal_parse("rb:10@5", &got));
	CHECK(got.number == 10 && got.batch_only && got.reservation);
	CHECK(slurm_signal_parse("USR1@", &got) && got.before_ns == 0);
	CHECK(slurm_signal_parse("USR1@65535", &got));
	CHECK(!slurm_signal_parse("USR1@65536", &got));
	CHECK(!slurm_signal_parse("NOPE", &got));
	CHECK(!slurm_signal_parse("0", &got));
	CHECK(!slurm_signal_parse("B:", &got));
	CHECK(!slurm_signal_parse("X:USR1", &got));
	CHECK(!slurm_signal_parse("usr1@x", &got));
	CHECK(!slurm_signal_parse("", &got));
}

TEST(kinds_of_mail_are_bits)
{
	unsigned types = 7;

	CHECK(slurm_mail_parse("begin,END", &types));
	CHECK_INT(types, STRATA_MAIL_BEGIN | STRATA_MAIL_END);
	CHECK(slurm_mail_parse("All", &types));
	CHECK_INT(types, 63);
	CHECK(slurm_mail_parse("none", &types) && types == 0);
	CHECK(slurm_mail_parse("TIME_LIMIT_80,ARRAY_TASKS", &types));
	CHECK_TEXT(slurm_mail_name(types), "TIME_LIMIT_80");
	CHECK(!slurm_mail_name(0));
	CHECK(!slurm_mail_parse("NOPE", &types));
	CHECK(!slurm_mail_parse("", &types));
	CHECK(!slurm_mail_parse("end,", &types));
}

static int once(struct strata_memory *scarce, void *context, struct strata_error *error)
{
	struct strata_arena scratch;
	struct strata_sbatch_gpus got;

	strata_arena_init(&scratch, scarce, 0);
	int rc = slurm_gres_parse("gpu:a100:2", &scratch, &got, error);

	if (rc == 0)
		rc = slurm_gpus_parse("a100:2", &scratch, &got, error);
	strata_arena_fini(&scratch);
	return rc;
}

TEST(a_lack_of_memory_is_reported)
{
	test_every_allocation(once, NULL);
}
