#include "test.h"

#include <strata/rng.h>
#include <strata/text.h>

#include <errno.h>
#include <stdio.h>

#define KI INT64_C(1024)
#define MI (KI * KI)
#define GI (MI * KI)
#define TI (GI * KI)

static struct strata_error err;

static int parse(const char *text, int64_t *ret_bytes)
{
	return strata_size_parse(text, STRATA_TEXT_NUL, 1, 0, ret_bytes, &err);
}

struct size_case {
	const char *text;
	int64_t bytes;
};

static void check_all(const struct size_case *cases, size_t count,
		      int (*read)(const char *text, int64_t *ret_bytes))
{
	for (size_t i = 0; i < count; i++) {
		int64_t bytes = -77;

		if (read(cases[i].text, &bytes) != 0 || bytes != cases[i].bytes)
			test_fail(__FILE__, __LINE__, "«%s» gave %lld (%s), expected %lld",
				  cases[i].text, (long long)bytes, err.text,
				  (long long)cases[i].bytes);
	}
}

TEST(every_size_is_read)
{
	static const struct size_case cases[] = {
		{ "0", 0 },
		{ "1024", 1024 },
		{ "4B", 4 },
		{ "4b", 4 },
		{ "4 bytes", 4 },
		{ "1byte", 1 },
		{ "4k", 4 * KI },
		{ "4K", 4 * KI },
		{ "512M", 512 * MI },
		{ "2g", 2 * GI },
		{ "1T", TI },
		{ "1P", TI * KI },
		{ "7E", 7 * MI * TI },
		{ "2GiB", 2 * GI },
		{ "2gib", 2 * GI },
		{ "2Gi", 2 * GI },
		{ "64Ki", 64 * KI },
		{ "1.5GB", 1500000000 },
		{ "10 MB", 10000000 },
		{ "1kB", 1000 },
		{ "1KB", 1000 },
		{ "3TB", 3000000000000 },
		{ "2pb", 2000000000000000 },
		{ "9EB", 9000000000000000000 },
		{ "1.5K", 1536 },
		{ "0.5", 1 },
		{ "0.4", 0 },
		{ "1.0001k", 1024 },
		{ "0.0009765625K", 1 },
		{ "9223372036854775807", INT64_MAX },
		{ "9.223372036854775807EB", INT64_MAX },
	};

	check_all(cases, sizeof(cases) / sizeof(cases[0]), parse);
}

TEST(what_is_no_size_is_refused)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{ "", "\"\" is not a size; expected a form such as 512M, 2GiB or 1.5GB" },
		{ "abc", "is not a size" },
		{ "-1", "is not a size" },
		{ "+1", "is not a size" },
		{ " 1", "is not a size" },
		{ ".5G", "is not a size" },
		{ "1 ", "has no unit" },
		{ "1x", "\"1x\" has an unknown unit" },
		{ "1KK", "unknown unit" },
		{ "1Kib ", "unknown unit" },
		{ "1iB", "unknown unit" },
		{ "1Bi", "unknown unit" },
		{ "1Gbit", "unknown unit" },
		{ "1GB/s", "unknown unit" },
		{ "1G1M", "unknown unit" },
		{ "1,5G", "no unit" },
		{ "1e3", "unknown unit" },
		{ "1.", "is not a size" },
		{ "1Z", "unknown unit" },
		{ "1..5G", "is not a size" },
	};
	int64_t bytes = -77;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_ERROR(parse(cases[i].text, &bytes), -EINVAL, cases[i].words);
	CHECK_ERROR(strata_size_parse("1\0", 2, 1, 0, &bytes, &err), -EINVAL, "\"1?\"");
	CHECK_INT(bytes, -77);
	CHECK_INT(strata_size_parse("x", 1, 1, 0, &bytes, NULL), -EINVAL);
}

TEST(the_largest_size_is_met_and_one_more_is_not)
{
	static const char *const cases[] = { "9223372036854775808",
					     "8E",
					     "8EiB",
					     "9.3EB",
					     "99999999999999999999",
					     "99999999999999999999K",
					     "9223372036854775807.5" };
	int64_t bytes = -77;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_ERROR(parse(cases[i], &bytes), -ERANGE,
			    "is too large a size; expected less than 8EiB");
	CHECK_INT(bytes, -77);
}

/* sbatch --mem=4000 means MiB, and its 28GB is 28 GiB. */
TEST(slurms_reading_is_a_matter_of_arguments)
{
	int64_t bytes;

	CHECK_OK(strata_size_parse("4000", 4, MI, STRATA_SIZE_BINARY, &bytes, &err));
	CHECK_INT(bytes, 4000 * MI);
	CHECK_OK(strata_size_parse("28GB", 4, MI, STRATA_SIZE_BINARY, &bytes, &err));
	CHECK_INT(bytes, 28 * GI);
	CHECK_OK(strata_size_parse("28G", 3, MI, STRATA_SIZE_BINARY, &bytes, &err));
	CHECK_INT(bytes, 28 * GI);
	CHECK_OK(strata_size_parse("0", 1, MI, STRATA_SIZE_BINARY, &bytes, &err));
	CHECK_INT(bytes, 0);
	CHECK_ERROR(strata_size_parse("28", 2, 0, 0, &bytes, &err), -EINVAL, "\"28\" has no unit");
}

TEST(sizes_print_exactly_and_short)
{
	static const struct {
		int64_t bytes;
		const char *exact, *brief;
	} cases[] = {
		{ 0, "0", "0 B" },
		{ 999, "999", "999 B" },
		{ 1000, "1000", "1000 B" },
		{ 1023, "1023", "1023 B" },
		{ 1024, "1KiB", "1 KiB" },
		{ 1536, "1536", "1.5 KiB" },
		{ 512 * MI, "512MiB", "512 MiB" },
		{ MI - 1, "1048575", "1 MiB" },
		{ 3 * GI / 2, "1536MiB", "1.5 GiB" },
		{ 1500000000, "1500000000", "1.4 GiB" },
		{ 12345678, "12345678", "11.8 MiB" },
		{ 7 * MI * TI, "7EiB", "7 EiB" },
		{ INT64_MAX, "9223372036854775807", "8 EiB" },
		{ -2048, "-2KiB", "-2 KiB" },
		{ INT64_MIN, "-8EiB", "-8 EiB" },
		{ -1000, "-1000", "-1000 B" },
	};
	char text[STRATA_FORM_BYTES];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_TEXT(strata_size_print(cases[i].bytes, text), cases[i].exact);
		CHECK_TEXT(strata_size_print_short(cases[i].bytes, text), cases[i].brief);
	}
}

static int parse_rate(const char *text, int64_t *ret_bytes)
{
	return strata_rate_parse(text, STRATA_TEXT_NUL, ret_bytes, &err);
}

TEST(every_rate_is_read)
{
	static const struct size_case cases[] = {
		{ "0", 0 },
		{ "1000", 1000 },
		{ "1000/s", 1000 },
		{ "1000B/s", 1000 },
		{ "1.5GB/s", 1500000000 },
		{ "200MiB/s", 200 * MI },
		{ "200 MiB/s", 200 * MI },
		{ "200M/s", 200 * MI },
		{ "200M", 200 * MI },
		{ "10Gbit/s", 1250000000 },
		{ "10Gb/s", 1250000000 },
		{ "10Gbps", 1250000000 },
		{ "10gbit/s", 1250000000 },
		{ "1.5GBps", 1500000000 },
		{ "100 Mbit/sec", 12500000 },
		{ "100Mbits/second", 12500000 },
		{ "8bit/s", 1 },
		{ "4b/s", 1 },
		{ "3b/s", 0 },
		{ "1Kibit/s", 128 },
		{ "1Kib/s", 128 },
		{ "12MB/s", 12000000 },
		{ "9223372036854775807", INT64_MAX },
		{ "1PB/s", 1000000000000000 },
	};

	check_all(cases, sizeof(cases) / sizeof(cases[0]), parse_rate);
}

TEST(what_is_no_rate_is_refused)
{
	static const char *const wrong[] = { "",      "fast",    "-1",      "1 ",     "1/",
					     "1/m",   "1MB/min", "1MB/s ",  "1MB/ss", "1ps",
					     "1XB/s", "1MB//s",  "1MB/s/s", "1 MB /s" };
	int64_t rate = -77;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK_ERROR(parse_rate(wrong[i], &rate), -EINVAL,
			    "is not a rate; expected a form such as 200MiB/s, 1.5GB/s or 10Gbit/s");
	CHECK_ERROR(parse_rate("8E/s", &rate), -ERANGE, "is too large a rate");
	CHECK_INT(rate, -77);
}

TEST(rates_print_exactly_and_short)
{
	static const struct {
		int64_t rate;
		const char *exact, *brief;
	} cases[] = {
		{ 0, "0B/s", "0 B/s" },
		{ 1000, "1000B/s", "1 kB/s" },
		{ 200 * MI, "200MiB/s", "210 MB/s" },
		{ 1500000000, "1500000000B/s", "1.5 GB/s" },
		{ 1250000000, "1250000000B/s", "1.25 GB/s" },
		{ 999999, "999999B/s", "1 MB/s" },
		{ INT64_MAX, "9223372036854775807B/s", "9.22 EB/s" },
	};
	char text[STRATA_FORM_BYTES];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_TEXT(strata_rate_print(cases[i].rate, text), cases[i].exact);
		CHECK_TEXT(strata_rate_print_short(cases[i].rate, text), cases[i].brief);
	}
}

TEST(any_size_and_rate_survives_the_round_trip)
{
	struct strata_rng rng;

	strata_rng_init(&rng, 2, 0);
	for (int i = 0; i < 50000; i++) {
		int64_t bytes = (int64_t)strata_rng_below(&rng, UINT64_C(1) << (i % 64)), back;
		char text[STRATA_FORM_BYTES];

		if (i % 3 == 0)
			bytes = bytes / MI * MI;
		CHECK_OK(parse(strata_size_print(bytes, text), &back));
		CHECK_INT(back, bytes);
		CHECK_OK(parse_rate(strata_rate_print(bytes, text), &back));
		CHECK_INT(back, bytes);
		if (bytes > INT64_MAX / 256 * 255)
			continue; /* rounding may go past the end */
		CHECK_OK(parse(strata_size_print_short(bytes, text), &back));
		CHECK_NEAR((double)back, (double)bytes, (double)bytes * 0.0051);
		CHECK_OK(parse_rate(strata_rate_print_short(bytes, text), &back));
		CHECK_NEAR((double)back, (double)bytes, (double)bytes * 0.0051);
	}
}
