/*
 * The test harness. A test program is a file of TEST(name) { … } blocks linked with test.c; it prints TAP,
 * which tests/run (and meson) count. A failed CHECK ends its test and the next one runs.
 *
 *	TEST(arena_respects_its_limit)
 *	{
 *		CHECK(!strata_arena_get(&arena, 4097));
 *	}
 */
#ifndef TEST_H
#define TEST_H

#include <strata/error.h>
#include <strata/memory.h>

#include <stdbool.h>
#include <stdint.h>

#define TEST(name)                                                     \
	static void name(void);                                        \
	__attribute__((constructor)) static void register_##name(void) \
	{                                                              \
		test_register(#name, name);                            \
	}                                                              \
	static void name(void)

#define CHECK(condition) \
	((condition) ? (void)0 : test_fail(__FILE__, __LINE__, "%s is false", #condition))
#define CHECK_INT(got, want) test_int(__FILE__, __LINE__, #got, (int64_t)(got), (int64_t)(want))
#define CHECK_TEXT(got, want) test_text(__FILE__, __LINE__, #got, got, want)
#define CHECK_BYTES(got, want, size) test_bytes(__FILE__, __LINE__, #got, got, want, size)
/* |got − want| ≤ tolerance; NaN fails. */
#define CHECK_NEAR(got, want, tolerance) test_near(__FILE__, __LINE__, #got, got, want, tolerance)
/* The call returned `code` and its error (named err, in scope) says `words`. */
#define CHECK_ERROR(call, code, words) \
	test_error(__FILE__, __LINE__, #call, call, &err, code, words)
/* The call returned 0; when not, the test fails with the sentence in err. */
#define CHECK_OK(call) test_ok(__FILE__, __LINE__, #call, call, &err)

void test_register(const char *name, void (*run)(void));
_Noreturn void test_fail(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void test_int(const char *file, int line, const char *what, int64_t got, int64_t want);
void test_text(const char *file, int line, const char *what, const char *got, const char *want);
void test_bytes(const char *file, int line, const char *what, const void *got, const void *want,
		size_t size);
void test_near(const char *file, int line, const char *what, double got, double want,
	       double tolerance);
void test_error(const char *file, int line, const char *what, int got,
		const struct strata_error *err, int code, const char *words);
void test_ok(const char *file, int line, const char *what, int got, const struct strata_error *err);

/* Ends the test as skipped, by name, with the reason. */
_Noreturn void test_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Where tests/data is. */
const char *test_data_dir(void);

/* The path of a file of the public reference data (STRATA_DATA, default ../shared); ends the test as skipped
 * where it is absent. Valid until the next call. */
const char *test_shared_file(const char *relative_path);

/* A whole file, NUL behind it; fails the test when it cannot be read. Free with free(). */
char *test_read_file(const char *path, size_t *ret_size);

/* Descriptors that are open now: as many before as after something that fails. */
int test_open_fds(void);

/* A fresh directory, removed with all it holds when the test ends. Valid until then. */
const char *test_temp_dir(void);

/*
 * Runs a call again and again while each of its allocations in turn fails, first once, then with every later
 * one too, until it succeeds untouched. It must return 0 or -ENOMEM and give back all it took from `memory`.
 * It may do without an allocation and return 0; then its result has to be the one it has without failures,
 * which the call hands over with test_result(): without that a success after a failure fails the test.
 * jansson's allocations count as well.
 * Returns the number of allocations seen; fails the test when there were none.
 */
typedef int test_call(struct strata_memory *memory, void *context, struct strata_error *err);
uint64_t test_every_allocation(test_call *call, void *context);
/* The same without jansson's: its reader ends the program when memory runs out in some numbers and texts. */
uint64_t test_every_own_allocation(test_call *call, void *context);

/* Adds to the result of a call under test_every_allocation: whatever a user of it would read. */
void test_result(const void *bytes, size_t count);
void test_result_text(const char *text); /* with its end, so that "ab", "c" is not "a", "bc"; NULL is a value of its own */
void test_result_int(int64_t value);
struct json_t;
void test_result_json(const struct json_t *value);

#endif
