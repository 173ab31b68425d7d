#include "test.h"

#include "core/buf.h"

TEST(text_grows_by_every_kind_of_append)
{
	struct strata_memory memory = { 0 };
	struct strata_error err;
	struct buf buf;

	buf_init(&buf, &memory, 0);
	CHECK_TEXT(buf.text, "");
	buf_add(&buf, "ab");
	buf_add_bytes(&buf, "cdXX", 2);
	buf_add_char(&buf, 'e');
	buf_add_repeat(&buf, '-', 3);
	buf_printf(&buf, "%05d", 42);
	CHECK_TEXT(buf.text, "abcde---00042");
	CHECK_OK(buf_check(&buf, &err));
	buf_reset(&buf);
	CHECK_TEXT(buf.text, "");
	for (int i = 0; i < 1000; i++)
		buf_printf(&buf, "%d,", i);
	CHECK_INT(buf.length, 3890);
	buf_fini(&buf);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(a_limit_is_met_exactly_and_failure_sticks)
{
	struct strata_memory memory = { 0 };
	struct strata_error err;
	struct buf buf;

	buf_init(&buf, &memory, 5);
	buf_add(&buf, "12345");
	CHECK_OK(buf_check(&buf, &err));
	buf_add(&buf, "6");
	buf_add(&buf, "");
	CHECK_ERROR(buf_check(&buf, &err), -12, "memory");
	CHECK_TEXT(buf.text, "12345");
	buf_fini(&buf);
}

TEST(words_are_quoted_for_a_shell)
{
	struct strata_memory memory = { 0 };
	struct buf buf;

	buf_init(&buf, &memory, 0);
	buf_add_quoted(&buf, "");
	buf_add_char(&buf, ' ');
	buf_add_quoted(&buf, "it's $HOME `x` \\ \"y\"");
	CHECK_TEXT(buf.text, "'' 'it'\\''s $HOME `x` \\ \"y\"'");
	buf_fini(&buf);
}

TEST(bytes_become_base64)
{
	struct strata_memory memory = { 0 };
	struct buf buf;

	buf_init(&buf, &memory, 16);
	buf_add_base64(&buf, "", 0);
	CHECK_TEXT(buf.text, "");
	buf_add_base64(&buf, "f", 1);
	buf_add_base64(&buf, "fo", 2);
	buf_add_base64(&buf, "\xff\xfe\xfd", 3);
	CHECK_TEXT(buf.text, "Zg==Zm8=//79");
	buf_add_base64(&buf, "four", 4);
	CHECK(buf.failed);
	CHECK_TEXT(buf.text, "Zg==Zm8=//79");
	buf_fini(&buf);
}

static int build(struct strata_memory *memory, void *context, struct strata_error *err)
{
	struct buf buf;

	(void)context;
	buf_init(&buf, memory, 0);
	for (int i = 0; i < 100; i++)
		buf_printf(&buf, "%d ", i);
	int rc = buf_check(&buf, err);

	buf_fini(&buf);
	return rc;
}

TEST(running_out_of_memory_is_reported_once_at_the_end)
{
	CHECK(test_every_allocation(build, NULL) > 2);
}
