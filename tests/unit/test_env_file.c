#include "fault_env.h"
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The test's directory, opened. */
static int open_dir(void)
{
	int dir = open(test_temp_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	CHECK(dir >= 0);
	return dir;
}

/* What is in a file, or NULL if there is none. Valid until the next call. */
static const char *contents(int dir, const char *name)
{
	static char text[4096];
	int fd = openat(dir, name, O_RDONLY);

	if (fd < 0)
		return NULL;
	ssize_t count = read(fd, text, sizeof(text) - 1);

	CHECK(count >= 0);
	text[count] = '\0';
	close(fd);
	return text;
}

static void put(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static int mode_of(int dir, const char *name)
{
	struct stat info;

	CHECK(fstatat(dir, name, &info, 0) == 0);
	return info.st_mode & 07777;
}

/* The names in a directory. */
static int count_names(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY);
	DIR *list = fdopendir(fd);
	int count = -2;

	while (readdir(list))
		count++;
	closedir(list);
	return count;
}

static void empty_dir(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY);
	DIR *list = fdopendir(fd);
	struct dirent *entry;

	while ((entry = readdir(list)))
		if (unlinkat(dir, entry->d_name, 0) < 0)
			unlinkat(dir, entry->d_name, AT_REMOVEDIR);
	closedir(list);
}

TEST(a_file_is_written_replaced_and_read)
{
	const struct env *env = env_system();
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct strata_error err;
	int dir = open_dir();
	mode_t mask = umask(077);
	size_t count;
	char *bytes;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(env_write_file(env, dir, "a", "one", 3, 0644, &err));
	CHECK_INT(mode_of(dir, "a"), 0644); /* whatever the umask */
	CHECK_OK(env_write_file(env, dir, "./a", "a\0two", 5, 0600, &err));
	CHECK_INT(mode_of(dir, "a"), 0600);
	CHECK_OK(env_read_file(env, dir, "a", 5, &arena, &bytes, &count, &err));
	CHECK_INT(count, 5);
	CHECK_BYTES(bytes, "a\0two", 6);
	CHECK_OK(env_write_file(env, dir, "a", NULL, 0, 0600, &err));
	CHECK_OK(env_read_file(env, dir, "a", 0, &arena, &bytes, &count, &err));
	CHECK_TEXT(bytes, "");
	CHECK_INT(count_names(dir), 1);
	CHECK_INT(unlinkat(dir, "a", 0), 0);
	CHECK_ERROR(env_read_file(env, dir, "a", 5, &arena, &bytes, &count, &err), -ENOENT,
		    "cannot open a:");
	CHECK_INT(count_names(dir), 0);
	umask(mask);
	strata_arena_fini(&arena);
	close(dir);
}

TEST(absolute_paths_and_names_of_any_length_will_do)
{
	const struct env *env = env_system();
	char path[600], name[300];
	struct strata_error err;
	int dir = open_dir();

	memset(name, 'n', sizeof(name));
	name[255] = '\0';
	snprintf(path, sizeof(path), "%s/%s", test_temp_dir(), name);
	CHECK_OK(env_write_file(env, AT_FDCWD, path, "x", 1, 0600, &err));
	CHECK_TEXT(contents(dir, name), "x");
	name[255] = 'n';
	name[256] = '\0';
	snprintf(path, sizeof(path), "%s/%s", test_temp_dir(), name);
	CHECK_ERROR(env_write_file(env, AT_FDCWD, path, "x", 1, 0600, &err), -ENAMETOOLONG,
		    "File name too");
	CHECK_INT(count_names(dir), 1);
	close(dir);
}

TEST(paths_without_a_name_are_refused)
{
	const char *paths[] = { "", "/", "a/", ".", "..", "a/.", "a/..", "/.." };
	const struct env *env = env_system();
	struct strata_error err;
	int dir = open_dir();

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		CHECK_ERROR(env_write_file(env, dir, paths[i], "x", 1, 0600, &err), -EINVAL,
			    "no name");
		CHECK_ERROR(env_claim_file(env, dir, paths[i], "x", 1, 0600, &err), -EINVAL,
			    "no name");
	}
	CHECK_ERROR(env_write_file(env, dir, "no/a", "x", 1, 0600, &err), -ENOENT,
		    "cannot open the directory of no/a: No such file");
	put(dir, "file", "");
	CHECK_ERROR(env_write_file(env, dir, "file/a", "x", 1, 0600, &err), -ENOTDIR,
		    "Not a directory");
	CHECK_INT(mkdirat(dir, "sub", 0700), 0);
	CHECK_ERROR(env_write_file(env, dir, "sub", "x", 1, 0600, &err), -EISDIR,
		    "cannot replace sub:");
	CHECK_INT(count_names(dir), 2);
	close(dir);
}

TEST(a_pipe_is_not_replaced)
{
	struct fault_env fault;
	struct env_draft draft;
	struct strata_error err;
	struct stat info;
	int dir = open_dir();

	fault_env_init(&fault);
	CHECK_INT(mkfifoat(dir, "pipe", 0600), 0);
	CHECK_ERROR(env_draft_open(&draft, &fault.env, dir, "pipe", &err), -EINVAL,
		    "pipe is a device, a pipe or a socket");
	CHECK_ERROR(env_write_file(&fault.env, dir, "pipe", "x", 1, 0644, &err), -EINVAL, "pipe");
	CHECK_INT(fstatat(dir, "pipe", &info, 0), 0);
	CHECK(S_ISFIFO(info.st_mode));
	CHECK_INT(count_names(dir), 1);
	CHECK_INT(fault.open_count, 0);
	fault_env_fini(&fault);
	close(dir);
}

TEST(a_draft_comes_a_part_at_a_time)
{
	struct fault_env fault;
	struct env_draft draft;
	struct strata_error err;
	int dir = open_dir();

	fault_env_init(&fault);
	put(dir, "a", "old");
	CHECK_OK(env_draft_open(&draft, &fault.env, dir, "a", &err));
	CHECK_INT(env_draft_add(&draft, "one ", 4), 0);
	CHECK_INT(env_draft_add(&draft, "two", 3), 0);
	CHECK_TEXT(contents(dir, "a"), "old");
	CHECK_OK(env_draft_keep(&draft, 0644, &err));
	CHECK_TEXT(contents(dir, "a"), "one two");
	CHECK_INT(mode_of(dir, "a"), 0644);
	CHECK_OK(env_draft_open(&draft, &fault.env, dir, "a", &err));
	CHECK_INT(env_draft_add(&draft, "three", 5), 0);
	env_draft_drop(&draft);
	CHECK_TEXT(contents(dir, "a"), "one two");
	CHECK_ERROR(env_draft_open(&draft, &fault.env, dir, "no/a", &err), -ENOENT,
		    "cannot open the directory of no/a");
	CHECK_INT(count_names(dir), 1);
	CHECK_INT(fault.open_count, 0);
	fault_env_fini(&fault);
	close(dir);
}

TEST(only_one_claim_succeeds)
{
	const struct env *env = env_system();
	struct strata_error err;
	int dir = open_dir(), won = 0;

	for (int i = 0; i < 8; i++)
		if (fork() == 0) {
			char text = (char)('a' + i);
			int rc = env_claim_file(env, dir, "claim", &text, 1, 0640, NULL);

			_exit(rc == 0 ? 1 : rc == -EEXIST ? 0 : 2);
		}
	for (int i = 0; i < 8; i++) {
		int status;

		CHECK(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) < 2);
		won += WEXITSTATUS(status);
	}
	CHECK_INT(won, 1);
	CHECK_INT(strlen(contents(dir, "claim")), 1);
	CHECK_INT(mode_of(dir, "claim"), 0640);
	CHECK_INT(count_names(dir), 1);
	CHECK_ERROR(env_claim_file(env, dir, "claim", "x", 1, 0600, &err), -EEXIST,
		    "cannot create claim: File exists");
	CHECK_INT(count_names(dir), 1);
	close(dir);
}

TEST(directories_are_made_with_their_parents)
{
	const struct env *env = env_system();
	struct strata_error err;
	int dir = open_dir();
	char path[600];
	mode_t mask = umask(0);

	CHECK_OK(env_make_dir(env, dir, "a/b//c/", 0750, &err));
	CHECK_INT(mode_of(dir, "a"), 0750);
	CHECK_INT(mode_of(dir, "a/b/c"), 0750);
	CHECK_OK(env_make_dir(env, dir, "a/b/c", 0700, &err));
	CHECK_INT(mode_of(dir, "a/b/c"), 0750);
	CHECK_OK(env_make_dir(env, dir, "a/../d", 0700, &err));
	CHECK_INT(mode_of(dir, "d"), 0700);
	snprintf(path, sizeof(path), "%s/e/f", test_temp_dir());
	CHECK_OK(env_make_dir(env, AT_FDCWD, path, 0700, &err));
	CHECK_INT(mode_of(dir, "e/f"), 0700);
	CHECK_OK(env_make_dir(env, AT_FDCWD, "/", 0700, &err));
	CHECK_OK(env_make_dir(env, AT_FDCWD, ".", 0700, &err));
	put(dir, "file", "");
	CHECK_ERROR(env_make_dir(env, dir, "file", 0700, &err), -ENOTDIR,
		    "make the directory file: Not a");
	CHECK_ERROR(env_make_dir(env, dir, "file/x", 0700, &err), -ENOTDIR,
		    "directory file/x: Not a");
	CHECK_ERROR(env_make_dir(env, dir, "", 0700, &err), -ENOENT, "No such file");
	char *longest = malloc(5000);

	CHECK(longest);
	memset(longest, 'x', 4999);
	longest[4999] = '\0';
	CHECK_ERROR(env_make_dir(env, dir, longest, 0700, &err), -ENAMETOOLONG, "too long");
	free(longest);
	umask(mask);
	close(dir);
}

TEST(reading_is_bounded)
{
	const struct env *env = env_system();
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct strata_error err;
	int dir = open_dir();
	size_t count = 7;
	char *bytes = NULL;

	strata_arena_init(&arena, &memory, 0);
	for (size_t size = 4000; size < 10000; size += 97) {
		char *text = calloc(1, size);

		CHECK(text);
		text[0] = '<';
		text[size - 1] = '>';
		CHECK_OK(env_write_file(env, dir, "a", text, size, 0600, &err));
		CHECK_OK(env_read_file(env, dir, "a", size, &arena, &bytes, &count, &err));
		CHECK_INT(count, size);
		CHECK_BYTES(bytes, text, size);
		bytes = NULL;
		CHECK_ERROR(env_read_file(env, dir, "a", size - 1, &arena, &bytes, &count, &err),
			    -E2BIG, "a has more than");
		CHECK(!bytes);
		CHECK_INT(count, size);
		free(text);
		strata_arena_reset(&arena);
	}
	CHECK_ERROR(
		env_read_file(env, AT_FDCWD, "/dev/zero", 1 << 20, &arena, &bytes, &count, &err),
		-E2BIG, "/dev/zero has more than 1048576 bytes");
	CHECK_ERROR(env_read_file(env, dir, ".", 100, &arena, &bytes, &count, &err), -EISDIR,
		    "cannot read .:");
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 100);
	CHECK_ERROR(env_read_file(env, dir, "a", 1 << 20, &arena, &bytes, &count, &err), -ENOMEM,
		    "memory");
	strata_arena_fini(&arena);
	close(dir);
}

TEST(files_that_claim_to_be_empty_are_read)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct strata_error err;
	int dir = open_dir();
	size_t count;
	char *bytes;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(env_read_file(env_system(), AT_FDCWD, "/proc/self/status", 1 << 20, &arena, &bytes,
			       &count, &err));
	CHECK(strstr(bytes, "Name:") && strlen(bytes) == count);
	CHECK_OK(env_read_file(env_system(), AT_FDCWD, "/proc/kallsyms", 64 << 20, &arena, &bytes,
			       &count, &err));
	CHECK_INT(mkfifoat(dir, "fifo", 0600), 0);
	CHECK_OK(env_read_file(env_system(), dir, "fifo", 10, &arena, &bytes, &count,
			       &err)); /* at once */
	CHECK_INT(count, 0);
	strata_arena_fini(&arena);
	close(dir);
}

/* ---- a world that fails ---- */

/* What is tried: on a directory with "old" in the file "a" (nothing for the first two), something changes. */
struct attempt {
	const char *name;
	const char *old, *new; /* contents of "a" before and after; NULL: none */
	int (*run)(const struct env *env, int dir, struct strata_error *err);
};

static const char long_text[] = "new contents, long enough for several short writes";

static int write_a(const struct env *env, int dir, struct strata_error *err)
{
	return env_write_file(env, dir, "a", long_text, strlen(long_text), 0600, err);
}

static int claim_a(const struct env *env, int dir, struct strata_error *err)
{
	return env_claim_file(env, dir, "a", long_text, strlen(long_text), 0600, err);
}

#define LONG "new contents, long enough for several short writes"

static const struct attempt attempts[] = {
	{ "write a new file", NULL, LONG, write_a },
	{ "claim", NULL, LONG, claim_a },
	{ "replace a file", "old", LONG, write_a },
};
enum { ATTEMPTS = sizeof(attempts) / sizeof(attempts[0]) };

static void set_up(const struct attempt *attempt, int dir)
{
	empty_dir(dir);
	if (attempt->old)
		put(dir, "a", attempt->old);
}

static bool is(const char *got, const char *want)
{
	return got && want ? strcmp(got, want) == 0 : got == want;
}

TEST(interruptions_and_short_writes_are_not_noticed)
{
	int dir = open_dir();

	for (int i = 0; i < ATTEMPTS; i++) {
		struct strata_memory memory = { 0 };
		struct strata_arena arena;
		struct fault_env fault;
		struct strata_error err;
		size_t count;
		char *bytes;

		set_up(&attempts[i], dir);
		fault_env_init(&fault);
		fault.interrupt = true;
		fault.bytes_max = 7;
		CHECK_OK(attempts[i].run(&fault.env, dir, &err));
		CHECK(is(contents(dir, "a"), attempts[i].new));
		CHECK_INT(count_names(dir), attempts[i].new ? 1 : 0);
		strata_arena_init(&arena, &memory, 0);
		if (attempts[i].new) {
			CHECK_OK(env_read_file(&fault.env, dir, "a", 100, &arena, &bytes, &count,
					       &err));
			CHECK_TEXT(bytes, attempts[i].new);
		}
		strata_arena_fini(&arena);
		CHECK_OK(env_make_dir(&fault.env, dir, "x/y", 0700, &err));
		unlinkat(dir, "x/y", AT_REMOVEDIR);
		CHECK_INT(fault.open_count, 0);
		fault_env_fini(&fault);
	}
	close(dir);
}

/* The n-th primitive fails, for every n and several reasons: the call fails with that reason, the old contents are
 * there (the new ones if only the last sync failed, and only when a file was replaced or removed), and nothing else. */
TEST(a_failure_leaves_the_old_file_and_no_trace)
{
	const int codes[] = { -EIO, -ENOSPC, -EDQUOT, -EROFS };
	int dir = open_dir();

	for (int i = 0; i < ATTEMPTS * 4 * 2; i++) {
		const struct attempt *attempt = &attempts[i % ATTEMPTS];
		int code = codes[i / ATTEMPTS % 4];

		for (uint64_t n = 1, done = 0; !done; n++) {
			struct strata_error err = { 0 };
			struct fault_env fault;

			set_up(attempt, dir);
			fault_env_init(&fault);
			fault.fail_at = n;
			fault.fail_code = code;
			fault.fail_half = i / (ATTEMPTS * 4);
			fault.bytes_max = 20;
			int rc = attempt->run(&fault.env, dir, &err);
			const char *now = contents(dir, "a");

			done = fault.calls < n;
			/* the clean-up of a temporary file may fail without anybody minding */
			if (rc != 0) {
				CHECK_INT(rc, code);
				CHECK_INT(err.code, code);
				CHECK(strstr(err.text, strerror(-code)));
			}
			if (rc == 0 ? !is(now, attempt->new)
				    : !is(now, attempt->old) &&
					      !(is(now, attempt->new) && n == fault.calls &&
						attempt->run == write_a))
				test_fail(__FILE__, __LINE__, "%s, primitive %d gave %d: now «%s»",
					  attempt->name, (int)n, rc, now ? now : "(none)");
			CHECK_INT(count_names(dir), (now != NULL) + (rc == 0 && !done));
			CHECK_INT(fault.open_count, 0);
			fault_env_fini(&fault);
		}
	}
	close(dir);
}

/* The machine stops before the n-th primitive, for every n, and loses any part of what was not synced. */
TEST(a_crash_leaves_the_old_file_or_the_new_one)
{
	int dir = open_dir(), crashes = 0;

	for (int i = 0; i < ATTEMPTS * FAULT_LOSSES; i++) {
		const struct attempt *attempt = &attempts[i % ATTEMPTS];

		for (uint64_t n = 1, done = 0; !done; n++, crashes++) {
			struct fault_env fault;

			set_up(attempt, dir);
			fault_env_init(&fault);
			fault.crash_at = n;
			fault.bytes_max = 20;
			int rc = attempt->run(&fault.env, dir, NULL);

			done = fault.calls < n;
			fault_env_lose(&fault, i / ATTEMPTS);
			const char *now = contents(dir, "a");

			if (rc == 0 ? !is(now, attempt->new)
				    : !is(now, attempt->old) && !is(now, attempt->new))
				test_fail(__FILE__, __LINE__,
					  "%s, crash at primitive %d, losing %d, gave %d: now «%s»",
					  attempt->name, (int)n, i / ATTEMPTS, rc,
					  now ? now : "(none)");
			CHECK_INT(fault.open_count, 0);
			fault_env_fini(&fault);
		}
	}
	CHECK(crashes > 200);
	close(dir);
}

/* The program stops before the n-th primitive and, when `restarted`, does it all again before the power goes. */
static void make_dir_and_crash(int dir, uint64_t n, int loss, bool restarted, bool *ret_done)
{
	struct fault_env fault;
	struct stat info;

	unlinkat(dir, "a/b", AT_REMOVEDIR);
	unlinkat(dir, "a", AT_REMOVEDIR);
	fault_env_init(&fault);
	fault.crash_at = n;
	int rc = env_make_dir(&fault.env, dir, "a/b", 0700, NULL);

	*ret_done = fault.calls < n;
	if (restarted) {
		fault.crash_at = 0;
		rc = env_make_dir(&fault.env, dir, "a/b", 0700, NULL);
		CHECK_INT(rc, 0);
	}
	CHECK_INT(fault.open_count, 0);
	fault_env_lose(&fault, loss);
	CHECK(rc != 0 || fstatat(dir, "a/b", &info, 0) == 0);
	fault_env_fini(&fault);
}

TEST(a_directory_that_was_made_is_there_after_a_crash)
{
	int dir = open_dir();

	for (int loss = 0; loss < FAULT_LOSSES; loss++)
		for (int restarted = 0; restarted < 2; restarted++) {
			bool done = false;

			for (uint64_t n = 1; !done; n++)
				make_dir_and_crash(dir, n, loss, restarted, &done);
		}
	close(dir);
}

/* A failure in earnest: the limit on the size of files strikes after a part was written, as a full disk does. */
TEST(running_out_of_room_leaves_the_old_file)
{
	struct rlimit small = { 1000, 1000 };
	struct strata_error err;
	static char text[5000];
	int dir = open_dir(), status;

	put(dir, "a", "old");
	if (fork() == 0) {
		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &small);
		int rc = env_write_file(env_system(), dir, "a", text, sizeof(text), 0600, &err);

		_exit(rc == -EFBIG ? 0 : 1);
	}
	CHECK(wait(&status) > 0 && status == 0);
	CHECK_TEXT(contents(dir, "a"), "old");
	CHECK_INT(count_names(dir), 1);
	close(dir);
}

TEST(a_plain_user_is_told_no)
{
	struct strata_error err;
	int dir = open_dir(), status;

	if (geteuid() != 0)
		test_skip("needs root to become somebody else");
	put(dir, "a", "old");
	CHECK_INT(fchmod(dir, 0755), 0);
	if (fork() == 0) {
		if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
			_exit(9);
		int bad = 0;

		bad |= env_write_file(env_system(), dir, "a", "x", 1, 0600, &err) != -EACCES;
		bad |= strstr(err.text,
			      "cannot write a: cannot create a temporary file: Permission") == NULL;
		bad |= env_claim_file(env_system(), dir, "b", "x", 1, 0600, &err) != -EACCES;
		bad |= env_make_dir(env_system(), dir, "c", 0700, &err) != -EACCES;
		bad |= env_make_dir(env_system(), AT_FDCWD, "/tmp", 0700, &err) != 0;
		_exit(bad);
	}
	CHECK(wait(&status) > 0);
	CHECK_INT(status, 0);
	CHECK_TEXT(contents(dir, "a"), "old");
	CHECK_INT(count_names(dir), 1);
	close(dir);
}

static int read_call(struct strata_memory *memory, void *context, struct strata_error *err)
{
	struct strata_arena arena;
	size_t count;
	char *bytes;

	(void)context;
	strata_arena_init(&arena, memory, 0);
	int rc = env_read_file(env_system(), AT_FDCWD, "/proc/self/maps", 1 << 20, &arena, &bytes,
			       &count, err);

	strata_arena_fini(&arena);
	return rc;
}

TEST(running_out_of_memory_is_reported)
{
	CHECK(test_every_allocation(read_call, NULL) >= 1);
}
