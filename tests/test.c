/* The test harness: registration, checks, TAP, temporary directories and allocation failure. See test.h. */
#include "test.h"

#include "core/memory_int.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEST_COUNT_MAX = 512 };

static struct {
	const char *name;
	void (*run)(void);
} tests[TEST_COUNT_MAX];
static size_t test_count;

static jmp_buf end_of_test;
static bool skipped;
static char message[4096];
static char temp_dir[256];

void test_register(const char *name, void (*run)(void))
{
	if (test_count == TEST_COUNT_MAX)
		abort();
	tests[test_count].name = name;
	tests[test_count++].run = run;
}

void test_fail(const char *file, int line, const char *format, ...)
{
	int length = snprintf(message, sizeof(message), "%s:%d: ", file, line);
	va_list args;

	va_start(args, format);
	vsnprintf(message + length, sizeof(message) - (size_t)length, format, args);
	va_end(args);
	longjmp(end_of_test, 1);
}

void test_skip(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	skipped = true;
	longjmp(end_of_test, 1);
}

void test_int(const char *file, int line, const char *what, int64_t got, int64_t want)
{
	if (got != want)
		test_fail(file, line, "%s is %" PRId64 ", expected %" PRId64, what, got, want);
}

void test_text(const char *file, int line, const char *what, const char *got, const char *want)
{
	if (!got || !want ? got != want : strcmp(got, want) != 0)
		test_fail(file, line, "%s is\n«%s», expected\n«%s»", what, got ? got : "(null)",
			  want ? want : "(null)");
}

void test_bytes(const char *file, int line, const char *what, const void *got, const void *want,
		size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (((const unsigned char *)got)[i] != ((const unsigned char *)want)[i])
			test_fail(file, line, "%s differs at byte %zu of %zu", what, i, size);
}

void test_near(const char *file, int line, const char *what, double got, double want,
	       double tolerance)
{
	if (!(fabs(got - want) <= tolerance))
		test_fail(file, line, "%s is %.17g, expected %.17g ± %g", what, got, want,
			  tolerance);
}

void test_error(const char *file, int line, const char *what, int got,
		const struct strata_error *err, int code, const char *words)
{
	if (got == 0)
		test_fail(file, line, "%s succeeded, expected the error «%s»", what, words);
	if (got != code || err->code != code || !strstr(err->text, words))
		test_fail(file, line, "%s gave %d (%s), err %d «%s», expected %d «%s»", what, got,
			  strerror(-got), err->code, err->text, code, words);
}

void test_ok(const char *file, int line, const char *what, int got, const struct strata_error *err)
{
	if (got != 0)
		test_fail(file, line, "%s gave %d: %s%s%s", what, got, err->field,
			  err->field[0] ? ": " : "", err->text);
}

const char *test_data_dir(void)
{
	const char *dir = getenv("STRATA_TEST_DATA");

	return dir ? dir : "tests/data";
}

const char *test_shared_file(const char *relative_path)
{
	static char path[4096];
	const char *dir = getenv("STRATA_DATA");

	snprintf(path, sizeof(path), "%s/%s", dir ? dir : "../shared", relative_path);
	if (access(path, R_OK) != 0)
		test_skip("no %s (set STRATA_DATA)", relative_path);
	return path;
}

char *test_read_file(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "rb");
	char *text = NULL;
	size_t size = 0, room = 0, got;

	if (!file)
		test_fail(__FILE__, __LINE__, "cannot open %s: %s", path, strerror(errno));
	do {
		if (room - size < 65536)
			text = realloc(text, room = room * 2 + 131072);
		if (!text)
			abort();
		got = fread(text + size, 1, room - size - 1, file);
		size += got;
	} while (got > 0);
	fclose(file);
	text[size] = '\0';
	if (ret_size)
		*ret_size = size;
	return text;
}

int test_open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = -3; /* ".", ".." and the directory itself */

	if (!dir)
		test_skip("no /proc/self/fd");
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *position)
{
	(void)info, (void)type, (void)position;
	return remove(path);
}

const char *test_temp_dir(void)
{
	if (!temp_dir[0]) {
		const char *base = getenv("TMPDIR");

		snprintf(temp_dir, sizeof(temp_dir), "%s/strata-test.XXXXXX", base ? base : "/tmp");
		if (!mkdtemp(temp_dir))
			test_fail(__FILE__, __LINE__, "mkdtemp: %s", strerror(errno));
	}
	return temp_dir;
}

static struct strata_memory *json_memory; /* whose failures jansson shares, while set */

static void *json_get(size_t size_bytes)
{
	if (json_memory && !memory_may_allocate(json_memory))
		return NULL;
	return malloc(size_bytes);
}

/* What a call handed over: of the run without failures, and of the one under way. */
static struct result {
	char *bytes;
	size_t count, room;
} wanted, got;

void test_result(const void *bytes, size_t count)
{
	if (got.count + count > got.room) {
		got.room = 2 * (got.count + count) + 256;
		got.bytes = realloc(got.bytes, got.room);
		if (!got.bytes)
			abort();
	}
	if (count)
		memcpy(got.bytes + got.count, bytes, count);
	got.count += count;
}

void test_result_text(const char *text)
{
	test_result(text ? text : "\001", text ? strlen(text) + 1 : 1);
}

void test_result_int(int64_t value)
{
	test_result(&value, sizeof(value));
}

void test_result_json(const struct json_t *value)
{
	struct strata_memory *failing = json_memory;

	json_memory = NULL;
	char *text = json_dumps(value, JSON_SORT_KEYS | JSON_ENCODE_ANY);

	test_result_text(text);
	free(text);
	json_memory = failing;
}

/* Of a call that succeeded. */
static void check_result(uint64_t fail_at, bool untouched)
{
	size_t count = got.count < wanted.count ? got.count : wanted.count, same = 0;

	if (!untouched && wanted.count == 0)
		test_fail(__FILE__, __LINE__,
			  "allocation %" PRIu64
			  " failed, the call gave 0, and there is no test_result to compare",
			  fail_at);
	while (same < count && got.bytes[same] == wanted.bytes[same])
		same++;
	if (same < wanted.count || same < got.count)
		test_fail(__FILE__, __LINE__,
			  "allocation %" PRIu64
			  " failed, the call gave 0, and its result differs at byte %zu of %zu",
			  fail_at, same, wanted.count);
}

static void run_failing(test_call *call, void *context, uint64_t fail_at, bool from_there,
			bool json_too, struct strata_memory *memory)
{
	struct strata_error err = { 0 };

	*memory = (struct strata_memory){ .fail_at = fail_at, .fail_from_there = from_there };
	json_memory = json_too ? memory : NULL;
	got.count = 0;
	int rc = call(memory, context, &err);
	json_memory = NULL;
	if (rc != 0 && rc != -ENOMEM)
		test_fail(__FILE__, __LINE__,
			  "allocation %" PRIu64 " failed and the call gave %d: %s", fail_at, rc,
			  err.text);
	if (rc == -ENOMEM && err.code != -ENOMEM)
		test_fail(__FILE__, __LINE__, "allocation %" PRIu64 " failed: no error was set",
			  fail_at);
	if (rc == -ENOMEM && (memory->calls < fail_at || fail_at == 0))
		test_fail(__FILE__, __LINE__, "the call said -ENOMEM though nothing failed: %s",
			  err.text);
	if (memory->used_bytes != 0)
		test_fail(__FILE__, __LINE__,
			  "allocation %" PRIu64 " failed: %zu bytes were not given back", fail_at,
			  memory->used_bytes);
	if (rc == 0 && fail_at)
		check_result(fail_at, memory->calls < fail_at);
}

static uint64_t fail_each(test_call *call, void *context, bool json_too)
{
	struct strata_memory memory;

	run_failing(call, context, 0, false, json_too, &memory);
	free(wanted.bytes);
	wanted = got;
	got = (struct result){ 0 };
	for (uint64_t n = 1;; n++) {
		run_failing(call, context, n, true, json_too, &memory);
		run_failing(call, context, n, false, json_too, &memory);
		if (memory.calls < n) {
			if (n == 1)
				test_fail(__FILE__, __LINE__, "the call allocates nothing");
			return n - 1;
		}
	}
}

uint64_t test_every_allocation(test_call *call, void *context)
{
	return fail_each(call, context, true);
}

uint64_t test_every_own_allocation(test_call *call, void *context)
{
	return fail_each(call, context, false);
}

static bool run_one(size_t index)
{
	skipped = false;
	bool failed = setjmp(end_of_test) != 0;

	if (!failed)
		tests[index].run();
	json_memory = NULL;
	if (temp_dir[0]) {
		nftw(temp_dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
		temp_dir[0] = '\0';
	}
	if (failed && !skipped) {
		printf("not ok %zu - %s\n", index + 1, tests[index].name);
		for (char *line = strtok(message, "\n"); line; line = strtok(NULL, "\n"))
			printf("# %s\n", line);
		fflush(stdout);
		return false;
	}
	printf("ok %zu - %s%s%s\n", index + 1, tests[index].name, skipped ? " # SKIP " : "",
	       skipped ? message : "");
	fflush(stdout);
	return true;
}

int main(int argc, char **argv)
{
	bool all_passed = true;

	json_set_alloc_funcs(json_get, free);
	printf("1..%zu\n", test_count);
	for (size_t i = 0; i < test_count; i++)
		if (argc < 2 || strstr(tests[i].name, argv[1]))
			all_passed &= run_one(i);
	return all_passed ? 0 : 1;
}
