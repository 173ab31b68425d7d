/* Backups: whole, of one moment, in one file, and never over another. */
#include "store/sqlite_backup.h"

#include "store/store.h"
#include "unit/store_sample.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct strata_memory memory;
static struct strata_error err;
static char address[512], copy[512];

static struct store *make_store(int64_t jobs, uint64_t *ret_epoch)
{
	struct store *store;

	memory = (struct strata_memory){ 0 };
	snprintf(address, sizeof(address), "%s/strata.db", test_temp_dir());
	snprintf(copy, sizeof(copy), "%s/copy.db", test_temp_dir());
	CHECK_OK(store_open(address, false, &memory, &store, &err));
	CHECK_OK(store_lead(store, NULL, ret_epoch, &err));
	for (int64_t i = 1; i <= jobs; i++)
		CHECK_OK(sample_put_job(store, i, *ret_epoch, &err));
	return store;
}

TEST(a_backup_is_a_store_as_of_then)
{
	uint64_t epoch;
	struct store *store = make_store(30, &epoch), *other;
	struct sample_ids found = { 0 };
	struct stat info;
	char path[600];

	CHECK_OK(store_backup(store, copy, &err));
	CHECK_OK(sample_put_job(store, 31, epoch, &err));
	CHECK_INT(stat(copy, &info), 0);
	CHECK_INT(info.st_mode & 0777, 0600);
	snprintf(path, sizeof(path), "%s.part", copy);
	CHECK_INT(access(path, F_OK), -1);
	CHECK_OK(store_open(copy, true, &memory, &other, &err));
	CHECK_OK(store_load(other, STORE_JOB, NULL, sample_take_id, &found, &err));
	CHECK_INT(found.count, 30);
	store_close(other);
	/* As a store to go on with. */
	CHECK_OK(store_open(copy, false, &memory, &other, &err));
	CHECK_OK(store_lead(other, NULL, &epoch, &err));
	CHECK_INT(epoch, 2);
	CHECK_OK(sample_put_job(other, 31, epoch, &err));
	store_close(other);
	store_close(store);
}

TEST(a_reader_can_make_one)
{
	uint64_t epoch;
	struct store *store = make_store(3, &epoch), *reader;

	CHECK_OK(store_open(address, true, &memory, &reader, &err));
	CHECK_OK(store_backup(reader, copy, &err));
	store_close(reader);
	store_close(store);
}

TEST(nothing_is_overwritten)
{
	uint64_t epoch;
	struct store *store = make_store(1, &epoch);

	CHECK_OK(store_backup(store, copy, &err));
	CHECK_ERROR(store_backup(store, copy, &err), -EEXIST, "copy.db is there already");
	CHECK_ERROR(store_backup(store, address, &err), -EEXIST, "is there already");
	CHECK_ERROR(store_backup(store, "/nowhere/copy.db", &err), -ENOENT,
		    "cannot create /nowhere/");
	char longest[5000];

	memset(longest, '/', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	CHECK_ERROR(store_backup(store, longest, &err), -E2BIG, "the path of the copy is too long");
	store_close(store);
}

TEST(a_damaged_database_has_no_backup)
{
	uint64_t epoch;
	struct store *store = make_store(200, &epoch);
	char noise[4096];

	store_close(store);
	int fd = open(address, O_RDWR);

	memset(noise, 0x5A, sizeof(noise));
	CHECK(lseek(fd, 0, SEEK_END) > 40 * 4096);
	for (int page = 35; page < 45; page++)
		CHECK_INT(pwrite(fd, noise, sizeof(noise), page * 4096), sizeof(noise));
	close(fd);
	CHECK_OK(store_open(address, false, &memory, &store, &err));
	CHECK_ERROR(store_backup(store, copy, &err), -EBADMSG, "damaged");
	CHECK_INT(access(copy, F_OK), -1);
	store_close(store);
}
