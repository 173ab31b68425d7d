#include "test.h"

#include "server/job_token.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct strata_error err;
static const unsigned char key[JOB_TOKEN_KEY_BYTES] = { 1, 2, 3 };

TEST(a_token_says_whose_it_is)
{
	char text[JOB_TOKEN_BYTES];
	int64_t job = 0, attempt = 0;

	CHECK(strncmp(job_token_make(key, 17, 2, text), "strata_job_17.2.", 16) == 0);
	CHECK(job_token_read(key, text, &job, &attempt));
	CHECK_INT(job, 17);
	CHECK_INT(attempt, 2);
	job_token_make(key, INT64_MAX, UINT32_MAX, text);
	CHECK_INT(strlen(text), 11 + 19 + 1 + 10 + 1 + 64);
	CHECK(job_token_read(key, text, &job, &attempt));
	CHECK_INT(job, INT64_MAX);
	CHECK_INT(attempt, UINT32_MAX);
}

TEST(nobody_makes_one_without_the_key)
{
	static const unsigned char other[JOB_TOKEN_KEY_BYTES] = { 1, 2, 4 };
	char text[JOB_TOKEN_BYTES], changed[JOB_TOKEN_BYTES + 8];
	int64_t job = 5, attempt = 6;

	job_token_make(key, 17, 2, text);
	CHECK(!job_token_read(other, text, &job, &attempt));
	for (size_t i = 0; text[i]; i++) { /* no letter of it can be another */
		strcpy(changed, text);
		changed[i] = changed[i] == '1' ? '3' : '1';
		CHECK(!job_token_read(key, changed, &job, &attempt));
		changed[i] = '\0'; /* nor missing */
		CHECK(!job_token_read(key, changed, &job, &attempt));
	}
	snprintf(changed, sizeof(changed), "%s0", text);
	CHECK(!job_token_read(key, changed, &job, &attempt));
	/* the same numbers in another way */
	snprintf(changed, sizeof(changed), "strata_job_017.2%s", text + 15);
	CHECK(!job_token_read(key, changed, &job, &attempt));
	CHECK(!job_token_read(key, "", &job, &attempt));
	CHECK(!job_token_read(key, "strata_job_", &job, &attempt));
	CHECK(!job_token_read(key, "strata_job_..", &job, &attempt));
	CHECK_INT(job, 5);
	CHECK_INT(attempt, 6);
}

TEST(the_key_is_made_once_and_for_nobody_else)
{
	unsigned char first[JOB_TOKEN_KEY_BYTES], second[JOB_TOKEN_KEY_BYTES] = { 0 };
	char path[600];
	struct stat info;

	CHECK_OK(job_token_open(env_system(), test_temp_dir(), first, &err));
	CHECK_OK(job_token_open(env_system(), test_temp_dir(), second, &err));
	CHECK(memcmp(first, second, sizeof(first)) == 0);
	snprintf(path, sizeof(path), "%s/job.key", test_temp_dir());
	CHECK_INT(stat(path, &info), 0);
	CHECK_INT(info.st_mode & 0777, 0600);
	CHECK_OK(env_write_file(env_system(), AT_FDCWD, path, "short", 5, 0600, &err));
	CHECK_ERROR(job_token_open(env_system(), test_temp_dir(), second, &err), -EBADMSG,
		    "has 5 bytes; expected 32");
	CHECK(memcmp(first, second, sizeof(first)) == 0);
	CHECK(job_token_open(env_system(), "/no/such/place", second, &err) < 0);
}
