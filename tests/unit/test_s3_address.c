/* Addresses of buckets, and files of credentials. */
#include "test.h"

#include "s3/s3_address.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

TEST(addresses_are_read)
{
	static const struct {
		const char *text, *bucket, *prefix;
	} good[] = { { "s3://bucket", "bucket", "" },
		     { "s3://bucket/", "bucket", "" },
		     { "s3://my.own-2/a/b", "my.own-2", "a/b" },
		     { "s3://abc/a_b.C/", "abc", "a_b.C" } };
	static const char *const bad[] = { "",	       "bucket",     "s3:/bucket",   "s3://",
					   "s3://ab",  "s3://Bucket", "s3://-ab/x",   "s3://abc//x",
					   "s3://abc/a//b", "s3://abc/../x", "s3://abc/a b", "S3://abc" };
	struct strata_memory memory = { 0 };
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct strata_error err = { 0 };
		const char *bucket, *prefix;

		CHECK_OK(s3_address_read(good[i].text, &arena, &bucket, &prefix, &err));
		CHECK_TEXT(bucket, good[i].bucket);
		CHECK_TEXT(prefix, good[i].prefix);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct strata_error err = { 0 };
		const char *bucket, *prefix;

		CHECK_ERROR(s3_address_read(bad[i], &arena, &bucket, &prefix, &err), -EINVAL,
			    "checkpoint_path");
	}
	strata_arena_fini(&arena);
}

static int read_text(const char *text, struct s3_credentials *ret_found, struct strata_error *err)
{
	static char copy[512];

	snprintf(copy, sizeof(copy), "%s", text);
	return s3_credentials_read(copy, ret_found, err);
}

TEST(credentials_are_read_and_never_shown)
{
	struct s3_credentials found;
	struct strata_error err = { 0 };

	CHECK_OK(read_text("[default]\r\n aws_access_key_id = AK \r\naws_secret_access_key=s=+/\r\n"
			   "[other]\naws_access_key_id=no\naws_session_token=no\n",
			   &found, &err));
	CHECK_TEXT(found.access_key, "AK");
	CHECK_TEXT(found.secret_key, "s=+/");
	CHECK(!found.session_token);
	CHECK_OK(read_text("aws_access_key_id=A\naws_secret_access_key=b\naws_session_token=t\n",
			   &found, &err));
	CHECK_TEXT(found.session_token, "t");
	CHECK_ERROR(read_text("aws_access_key_id=A\n", &found, &err), -EINVAL, "no credentials");
	CHECK_ERROR(read_text("aws_access_key_id=A\naws_secret_access_key=two words\n", &found, &err),
		    -EINVAL, "a character that none has");
	CHECK(!strstr(err.text, "two words"));
	CHECK_ERROR(read_text("aws_access_key_id=A:B\naws_secret_access_key=b\n", &found, &err),
		    -EINVAL, "a character that none has");
}
