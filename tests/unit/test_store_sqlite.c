/* The store on SQLite when things go wrong: power, disks, rights, other processes. */
#include "fault_vfs.h"
#include "random.h"
#include "unit/store_sample.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct strata_memory memory;
static struct strata_error err;
static char address[512];

static const char *new_address(void)
{
	fault_vfs_stop();
	memory = (struct strata_memory){ 0 };
	snprintf(address, sizeof(address), "%s/strata.db", test_temp_dir());
	return address;
}

/* ---- power ---- */

enum { BATCHES = 12, BATCH = 20 };

/* Batch b: jobs 20 b + 1 … 20 b + 20, all with attempt b, and job 1 again. */
static int put_batch(struct store *store, int64_t b, uint64_t epoch, struct strata_error *error)
{
	static struct sample_job samples[BATCH + 1];
	struct store_change changes[BATCH + 1];

	for (int i = 0; i <= BATCH; i++) {
		changes[i] = STORE_PUT(sample_job(&samples[i], i < BATCH ? BATCH * b + i + 1 : 1));
		samples[i].row.attempt = b;
	}
	return store_apply(store, changes, BATCH + 1, epoch, error);
}

struct seen {
	int64_t count, last_attempt;
};

static int see_job(void *context, const void *row, struct strata_error *error)
{
	const struct store_job *job = row;
	struct seen *seen = context;

	(void)error;
	CHECK_INT(job->id, ++seen->count); /* without gaps */
	if (job->id == 1)
		seen->last_attempt = job->attempt;
	else
		CHECK_INT(job->attempt, (job->id - 1) / BATCH);
	return 0;
}

/* What a store holds: whole batches, those acknowledged among them. */
static void check_batches(struct store *store, int64_t acknowledged)
{
	struct seen seen = { 0 };

	CHECK_OK(store_load(store, STORE_JOB, NULL, see_job, &seen, &err));
	CHECK_INT(seen.count % BATCH, 0);
	CHECK(seen.count >= acknowledged * BATCH);
	CHECK(seen.count <= (acknowledged + 1) * BATCH);
	if (seen.count > 0)
		CHECK_INT(seen.last_attempt, seen.count / BATCH - 1);
}

/* Writes until the power fails at the n-th change; the number of batches acknowledged, -1 while opening. */
static int64_t write_until(uint64_t n, uint64_t *ret_epoch)
{
	struct store *store;
	int64_t acknowledged = 0;

	fault_vfs.crash_at = n;
	*ret_epoch = 0;
	if (store_open(address, false, &memory, &store, NULL) < 0)
		return 0;
	if (store_lead(store, NULL, ret_epoch, NULL) == 0)
		while (acknowledged < BATCHES &&
		       put_batch(store, acknowledged, *ret_epoch, NULL) == 0)
			acknowledged++;
	store_close(store);
	return acknowledged;
}

TEST(what_was_acknowledged_outlasts_the_power)
{
	new_address();
	bool done = false;
	unsigned crashes = 0;

	for (uint64_t n = 1; !done; n += 1 + n / 64, crashes++) {
		struct store *store;
		uint64_t epoch, next;

		fault_vfs_start(n * 7919);
		int64_t acknowledged = write_until(n, &epoch);

		done = fault_vfs.changes < n;
		fault_vfs_crash();
		CHECK_OK(store_open(address, false, &memory, &store, &err));
		check_batches(store, acknowledged);
		CHECK_OK(store_lead(store, NULL, &next, &err));
		CHECK(next > epoch); /* an epoch that was given out is not given again */
		store_close(store);
		fault_vfs_stop();
	}
	CHECK(crashes > 100);
	CHECK_INT(memory.used_bytes, 0);
}

/* The power fails again and again, on the same files. */
TEST(power_may_fail_for_a_week)
{
	uint64_t seed = 5, last = 0;
	int64_t batches = 0;

	new_address();
	fault_vfs_start(99);
	for (int day = 0; day < 200; day++) {
		struct store *store = NULL;
		uint64_t epoch = 0;

		fault_vfs.crash_at = 1 + random_below(&seed, 150);
		if (store_open(address, false, &memory, &store, NULL) == 0 &&
		    store_lead(store, NULL, &epoch, NULL) == 0)
			while (put_batch(store, batches, epoch, NULL) == 0)
				batches++;
		store_close(store);
		fault_vfs_crash();
		CHECK(epoch == 0 || epoch > last);
		last = epoch ? epoch : last;
		CHECK_OK(store_open(address, false, &memory, &store, &err));
		check_batches(store, batches);
		int64_t jobs;

		CHECK_OK(store_last(store, STORE_JOB, &jobs, &err));
		batches = jobs / BATCH; /* one may be there that was not acknowledged */
		store_close(store);
		fault_vfs_crash();
	}
	CHECK(batches > 50);
	fault_vfs_stop();
}

/* ---- disks ---- */

TEST(a_full_disk_loses_nothing)
{
	struct store *store;
	uint64_t epoch;
	int64_t batches = 0;

	new_address();
	fault_vfs_start(1);
	CHECK_OK(store_open(address, false, &memory, &store, &err));
	CHECK_OK(store_lead(store, NULL, &epoch, &err));
	for (int round = 0; round < 40; round++) {
		fault_vfs.full_at = fault_vfs.changes + 1 + (uint64_t)round;
		while (put_batch(store, batches, epoch, &err) == 0)
			batches++;
		CHECK_INT(err.code, -ENOSPC);
		CHECK(strstr(err.text, "full"));
		check_batches(store, batches); /* what is there can be read */
		fault_vfs.full_at = 0;
		CHECK_OK(put_batch(store, batches++, epoch,
				   &err)); /* and it goes on when there is space */
	}
	store_close(store);
	fault_vfs_stop();
}

TEST(a_write_that_fails_leaves_a_whole_store)
{
	struct store *store;
	uint64_t epoch;
	int64_t batches = 0;

	new_address();
	fault_vfs_start(1);
	CHECK_OK(store_open(address, false, &memory, &store, &err));
	CHECK_OK(store_lead(store, NULL, &epoch, &err));
	for (uint64_t n = 1; n < 60; n++) {
		fault_vfs.fail_at = fault_vfs.changes + n;
		while (put_batch(store, batches, epoch, &err) == 0)
			batches++;
		CHECK_INT(err.code, -EIO);
		check_batches(store, batches);
	}
	store_close(store);
	fault_vfs_crash();
	CHECK_OK(store_open(address, false, &memory, &store, &err));
	check_batches(store, batches);
	store_close(store);
	fault_vfs_stop();
}

/* Runs as somebody who is not root, whom rights do not concern; the exit status is what `run` returned. */
static int run_as_nobody(int (*run)(void))
{
	const struct passwd *nobody = getpwnam("nobody");
	int status;

	if (geteuid() == 0 && !nobody)
		test_skip("no user nobody");
	pid_t pid = fork();

	if (pid == 0) {
		if (geteuid() == 0 && (setgid(nobody->pw_gid) < 0 || setuid(nobody->pw_uid) < 0))
			_exit(99);
		_exit(run());
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

static int open_for_writing(void)
{
	struct store *store;

	return -store_open(address, false, &memory, &store, &err);
}

TEST(a_directory_without_rights_is_named)
{
	new_address();
	chmod(test_temp_dir(), 0555);
	CHECK_INT(run_as_nobody(open_for_writing), EACCES);
	chmod(test_temp_dir(), 0755);
}

TEST(a_file_that_may_not_be_written_is_read_only)
{
	struct store *store;

	new_address();
	CHECK_OK(store_open(address, false, &memory, &store, &err));
	store_close(store);
	chmod(address, 0444);
	chmod(test_temp_dir(), 0777);
	CHECK_INT(run_as_nobody(open_for_writing),
		  EPERM); /* nobody opens it to write in a place like that */
	chmod(test_temp_dir(), 0755);
	if (geteuid() == 0)
		CHECK_INT(chown(test_temp_dir(), getpwnam("nobody")->pw_uid, (gid_t)-1), 0);
	CHECK_INT(run_as_nobody(open_for_writing), EROFS);
}

TEST(what_is_wrong_is_said)
{
	struct store *store;
	FILE *file;

	new_address();
	CHECK_ERROR(store_open("/nowhere/at/all.db", false, &memory, &store, &err), -ENOENT,
		    "the directory of the store /nowhere/at cannot be used: No such file");
	char longest[5000];

	memset(longest, '/', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	CHECK_ERROR(store_open(longest, false, &memory, &store, &err), -E2BIG,
		    "the path of the database is too long");
	CHECK_ERROR(store_open(address, true, &memory, &store, &err), -ENOENT, "unable to open");
	CHECK_INT(mkdir(address, 0755), 0);
	CHECK_ERROR(store_open(address, false, &memory, &store, &err), -EISDIR, "Is a directory");
	CHECK_INT(rmdir(address), 0);
	file = fopen(address, "w");
	for (int i = 0; i < 1000; i++)
		fputs("not a database ", file);
	fclose(file);
	CHECK_ERROR(store_open(address, false, &memory, &store, &err), -EBADMSG, "not a database");
	CHECK_INT(memory.used_bytes, 0);
}

TEST(only_the_owner_reads_it)
{
	static const char *const ends[] = { "", "-wal", "-shm", ".lock" };
	struct store *store;
	uint64_t epoch;
	mode_t before = umask(0);

	new_address();
	CHECK_OK(store_open(address, false, &memory, &store, &err));
	CHECK_OK(store_lead(store, NULL, &epoch, &err));
	umask(before);
	for (int i = 0; i < 4; i++) {
		char path[600];
		struct stat info;

		snprintf(path, sizeof(path), "%s%s", address, ends[i]);
		CHECK_INT(stat(path, &info), 0);
		CHECK_INT(info.st_mode & 0777, 0600);
	}
	store_close(store);
}

/* ---- processes ---- */

/* A child that leads and writes until it is killed; it says over the pipe what was acknowledged. */
static void lead_and_write(int pipe_fd)
{
	struct strata_memory own = { 0 };
	struct store *store;
	uint64_t epoch;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody behind */
	if (store_open(address, false, &own, &store, NULL) < 0 ||
	    store_lead(store, NULL, &epoch, NULL) < 0)
		_exit(1);
	for (int64_t b = 0; put_batch(store, b, epoch, NULL) == 0; b++)
		if (write(pipe_fd, &b, sizeof(b)) != sizeof(b))
			break;
	_exit(1);
}

TEST(a_killed_leader_loses_nothing_and_frees_the_lead)
{
	new_address();
	for (int round = 0; round < 5; round++) {
		struct store *store;
		int64_t b, last = -1;
		uint64_t epoch;
		int ends[2];

		CHECK_INT(pipe(ends), 0);
		pid_t pid = fork();

		if (pid == 0)
			lead_and_write(ends[1]);
		close(ends[1]);
		CHECK_INT(read(ends[0], &last, sizeof(last)), sizeof(last));
		CHECK_OK(store_open(address, false, &memory, &store, &err));
		CHECK_ERROR(store_lead(store, NULL, &epoch, &err), -EBUSY,
			    "is led by another server, process ");
		int fds = test_open_fds();

		CHECK_ERROR(store_lead(store, NULL, &epoch, &err), -EBUSY, "is led by another");
		CHECK_INT(test_open_fds(), fds); /* that of the lock is closed again */
		usleep(3000 * (unsigned)round);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		while (read(ends[0], &b, sizeof(b)) == sizeof(b))
			last = b;
		close(ends[0]);
		CHECK_OK(store_lead(store, NULL, &epoch, &err));
		CHECK_INT(epoch, 2 * round + 2); /* the child led, too */
		int64_t jobs;

		CHECK_OK(store_last(store, STORE_JOB, &jobs, &err));
		CHECK(jobs >= (last + 1) * BATCH);
		store_close(store);
	}
}

/* Without the lock file, as on a file system that has no locks, the epoch still keeps the first leader out. */
TEST(the_epoch_alone_keeps_the_earlier_leader_out)
{
	struct store *first, *second;
	uint64_t early, late;
	char lock[600];

	new_address();
	snprintf(lock, sizeof(lock), "%s.lock", address);
	CHECK_OK(store_open(address, false, &memory, &first, &err));
	CHECK_OK(store_lead(first, NULL, &early, &err));
	unlink(lock);
	CHECK_OK(store_open(address, false, &memory, &second, &err));
	CHECK_OK(store_lead(second, NULL, &late, &err));
	CHECK_ERROR(sample_put_job(first, 1, early, &err), -ESTALE, "another server leads");
	CHECK_OK(sample_put_job(second, 1, late, &err));
	store_close(first);
	store_close(second);
}

/* More different questions than statements are kept. */
TEST(statements_make_room_for_each_other)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h",
					     "i", "j", "k", "l", "m", "n", "o", "p" };
	struct store *store;
	struct sample_ids found = { 0 };
	uint64_t epoch;

	new_address();
	CHECK_OK(store_open(address, false, &memory, &store, &err));
	CHECK_OK(store_lead(store, NULL, &epoch, &err));
	CHECK_OK(sample_put_job(store, 1, epoch, &err));
	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < 128; i++) {
			struct store_query query = { .states = names,
						     .state_count = i % 16,
						     .user = i & 16 ? "ada" : NULL,
						     .account = i & 32 ? "vision" : NULL,
						     .descending = i & 64,
						     .limit = 10 };

			found.count = 0;
			CHECK_OK(store_jobs_page(store, &query, sample_take_id, &found, &err));
			CHECK_INT(found.count, i % 16 == 0);
		}
	store_close(store);
	CHECK_INT(memory.used_bytes, 0);
}
