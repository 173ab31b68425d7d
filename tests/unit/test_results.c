/* Results: files by the hash of what is in them, whole or not there; and what counts as a picture. */
#include "server/results.h"

#include "test.h"

#include <strata/limits.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct strata_error err;

/* The head and the end of a picture of this size; its pixels are nobody's business here. */
static size_t make_png(unsigned char bytes[64], uint32_t width, uint32_t height)
{
	static const unsigned char head[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
	static const unsigned char end[] = "\0\0\0\0IEND\xae\x42\x60\x82";

	memset(bytes, 0, 64);
	memcpy(bytes, head, 16);
	for (int i = 0; i < 4; i++) {
		bytes[16 + i] = (unsigned char)(width >> (24 - 8 * i));
		bytes[20 + i] = (unsigned char)(height >> (24 - 8 * i));
	}
	memcpy(bytes + 33, end, 12);
	return 45;
}

TEST(a_picture_is_known_by_its_head)
{
	unsigned char bytes[64];
	uint32_t width = 0, height = 0;
	size_t size = make_png(bytes, 28, 14);

	CHECK_OK(results_check_png(bytes, size, &width, &height, &err));
	CHECK_INT(width, 28);
	CHECK_INT(height, 14);
	make_png(bytes, STRATA_IMAGE_SIDE_MAX, 1);
	CHECK_OK(results_check_png(bytes, size, &width, &height, &err));
	make_png(bytes, 1, STRATA_IMAGE_SIDE_MAX + 1);
	CHECK_ERROR(results_check_png(bytes, size, &width, &height, &err), -EBADMSG, "1 by 8193");
	make_png(bytes, 0, 1);
	CHECK_ERROR(results_check_png(bytes, size, &width, &height, &err), -EBADMSG, "0 by 1");
	CHECK_INT(width, STRATA_IMAGE_SIDE_MAX); /* untouched */
	for (size_t cut = 0; cut < size; cut++) {
		make_png(bytes, 1, 1);
		CHECK_ERROR(results_check_png(bytes, cut, &width, &height, &err), -EBADMSG,
			    "no PNG file");
	}
	for (size_t at = 0; at < 16; at++) {
		make_png(bytes, 1, 1);
		bytes[at] ^= 1;
		CHECK_ERROR(results_check_png(bytes, size, &width, &height, &err), -EBADMSG,
			    "no PNG file");
	}
}

TEST(a_file_is_kept_by_its_contents)
{
	const char *dir = test_temp_dir();
	char hash[STORE_HASH_BYTES], again[STORE_HASH_BYTES], wanted[STORE_HASH_BYTES], text[8] = "";
	uint64_t bytes = 0;
	int64_t there = 0;

	CHECK_OK(results_open(env_system(), dir, &err));
	CHECK_OK(results_open(env_system(), dir, &err)); /* it is there already */
	store_blob_hash("seven", 5, wanted);
	CHECK(!results_have(dir, wanted, &there));
	CHECK_OK(results_put(dir, "seven", 5, hash, &err));
	CHECK_TEXT(hash, wanted);
	CHECK_OK(results_put(dir, "seven", 5, again, &err));
	CHECK_TEXT(again, wanted);
	CHECK(results_have(dir, hash, &there));
	CHECK_INT(there, 5);
	int fd = results_open_file(dir, hash, &bytes, &err);

	CHECK(fd >= 0);
	CHECK_INT(bytes, 5);
	CHECK_INT(read(fd, text, sizeof(text)), 5);
	CHECK_TEXT(text, "seven");
	close(fd);
	results_remove(dir, hash);
	results_remove(dir, hash); /* gone already: as asked */
	CHECK(!results_have(dir, hash, &there));
	CHECK_ERROR(results_open_file(dir, hash, &bytes, &err), -ENOENT, "not there any more");
}

TEST(a_name_that_is_no_hash_is_no_file)
{
	static const char *const names[] = {
		"", "..", "../store.mark",
		"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
		"0000000000000000000000000000000000000000000000000000000000000000/"
	};
	const char *dir = test_temp_dir();
	uint64_t bytes;
	int64_t there;

	CHECK_OK(results_open(env_system(), dir, &err));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		CHECK(!results_have(dir, names[i], &there));
		CHECK_ERROR(results_open_file(dir, names[i], &bytes, &err), -ENOENT, "not there");
		results_remove(dir, names[i]);
	}
	CHECK_INT(access(dir, F_OK), 0);
}

TEST(a_half_written_file_is_written_again)
{
	const char *dir = test_temp_dir();
	char hash[STORE_HASH_BYTES], path[600];
	int64_t there = 0;

	CHECK_OK(results_open(env_system(), dir, &err));
	CHECK_OK(results_put(dir, "seven", 5, hash, &err));
	snprintf(path, sizeof(path), "%s/results/%s", dir, hash);
	CHECK_INT(truncate(path, 2), 0);
	CHECK_OK(results_put(dir, "seven", 5, hash, &err));
	CHECK(results_have(dir, hash, &there));
	CHECK_INT(there, 5);
}

static void count_each(void *context, const char *hash)
{
	CHECK_INT(strlen(hash), STORE_HASH_BYTES - 1);
	++*(int *)context;
}

TEST(old_files_are_found_and_unfinished_ones_go)
{
	const char *dir = test_temp_dir();
	char hash[STORE_HASH_BYTES], path[600];
	int count = 0;

	CHECK_OK(results_open(env_system(), dir, &err));
	CHECK_OK(results_put(dir, "seven", 5, hash, &err));
	snprintf(path, sizeof(path), "%s/results/part-1-1", dir);
	close(open(path, O_WRONLY | O_CREAT, 0600));
	results_each(dir, 0, count_each, &count); /* none is so old */
	CHECK_INT(count, 0);
	CHECK_INT(access(path, F_OK), 0);
	results_each(dir, INT64_MAX, count_each, &count);
	CHECK_INT(count, 1);
	CHECK(access(path, F_OK) < 0);
	results_each("/nonexistent", INT64_MAX, count_each, &count);
	CHECK_INT(count, 1);
}
