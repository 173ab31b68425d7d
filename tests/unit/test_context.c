/* Contexts: what may be in them, who may read them, how many there are. */
#include "test.h"

#include "client/context.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIN "sha256//EZw8MsiWekGjX3CZs+gI0JWz6jskn6UVhYsWhJViAx4="

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

static const char *start(void)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	err = (struct strata_error){ 0 };
	return test_temp_dir();
}

static void put(const char *dir, const char *name, const char *text, mode_t mode)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/contexts", dir);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/contexts/%s.json", dir, name);
	FILE *file = fopen(path, "w");

	CHECK(file && fputs(text, file) >= 0);
	fclose(file);
	chmod(path, mode);
}

TEST(what_is_written_is_read)
{
	const char *dir = start(), **names, *path;
	struct client_context one = { "lab", "https://gpu.lab:8470", "strata_abc", PIN }, got;
	struct stat info;
	size_t count;

	CHECK_OK(context_write(dir, &one, &err));
	one = (struct client_context){ "a.b", "http://127.0.0.1:1", "t", NULL };
	CHECK_OK(context_write(dir, &one, &err));
	CHECK_OK(context_read(dir, "lab", &arena, &got, &err));
	CHECK_TEXT(got.server, "https://gpu.lab:8470");
	CHECK_TEXT(got.token, "strata_abc");
	CHECK_TEXT(got.fingerprint, PIN);
	CHECK_OK(context_read(dir, "a.b", &arena, &got, &err));
	CHECK(!got.fingerprint);
	CHECK_OK(context_list(dir, &arena, &names, &count, &err));
	CHECK_INT(count, 2);
	CHECK_TEXT(names[0], "a.b");
	CHECK_OK(context_use(dir, "lab", &err));
	CHECK_OK(context_remove(dir, "lab", &err));
	path = strata_arena_printf(&arena, "%s/context", dir);
	CHECK(stat(path, &info) < 0); /* none is in use */
	CHECK_ERROR(context_read(dir, "lab", &arena, &got, &err), -ENOENT, "not signed in to lab");
	CHECK_ERROR(context_use(dir, "lab", &err), -ENOENT, "not signed in to lab");
	CHECK_ERROR(context_remove(dir, "lab", &err), -ENOENT, "not signed in to lab");
}

TEST(what_others_can_read_is_not_believed)
{
	static const mode_t modes[] = { 0640, 0604, 0660, 0602, 0610 };
	const char *dir = start();
	struct client_context got;

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		put(dir, "lab", "{\"server\": \"https://a\", \"token\": \"t\"}", modes[i]);
		CHECK_ERROR(context_read(dir, "lab", &arena, &got, &err), -EACCES, "chmod 600");
	}
	put(dir, "lab", "{\"server\": \"https://a\", \"token\": \"t\"}", 0600);
	CHECK_OK(context_read(dir, "lab", &arena, &got, &err));
	if (geteuid() == 0) {
		CHECK_INT(chown(strata_arena_printf(&arena, "%s/contexts/lab.json", dir), 4711, 0),
			  0);
		CHECK_ERROR(context_read(dir, "lab", &arena, &got, &err), -EACCES,
			    "another user's");
	}
}

TEST(what_makes_no_sense_is_refused)
{
	static const struct {
		const char *text, *words;
	} bad[] = {
		{ "", "strata login" },
		{ "[]", "strata login" },
		{ "{\"server\": \"https://a\"}", "token" },
		{ "{\"server\": \"https://a\", \"token\": \"t\", \"more\": 1}", "more" },
		{ "{\"server\": \"ftp://a\", \"token\": \"t\"}", "expected https" },
		{ "{\"server\": \"http://gpu.lab\", \"token\": \"t\"}", "not encrypted" },
		{ "{\"server\": \"http://127.0.0.1.evil\", \"token\": \"t\"}", "not encrypted" },
		{ "{\"server\": \"https://a\", \"token\": \"t\", \"fingerprint\": \"x\"}",
		  "no fingerprint" },
		{ "{\"server\": \"http://localhost:1\", \"token\": \"t\", \"fingerprint\": \"" PIN
		  "\"}",
		  "no TLS" },
	};
	const char *dir = start();
	struct client_context got;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put(dir, "lab", bad[i].text, 0600);
		int rc = context_read(dir, "lab", &arena, &got, &err);

		CHECK(rc < 0);
		CHECK(strstr(err.text, bad[i].words));
	}
}

TEST(names_are_names)
{
	static const char *const bad[] = { "", ".", "..", "a/b", "../a", "-a", "_a", "a b", "\xc3\xa4" };
	char name[CONTEXT_NAME_BYTES_MAX + 2];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_ERROR(context_check_name(bad[i], &err), -EINVAL, "no name of a context");
	memset(name, 'a', sizeof(name));
	name[CONTEXT_NAME_BYTES_MAX] = '\0';
	CHECK_OK(context_check_name(name, &err));
	name[CONTEXT_NAME_BYTES_MAX] = 'a';
	name[CONTEXT_NAME_BYTES_MAX + 1] = '\0';
	CHECK_ERROR(context_check_name(name, &err), -EINVAL, "1 to 64");
}

TEST(pins_are_pins)
{
	CHECK(context_is_pin(PIN));
	CHECK(!context_is_pin(PIN "="));
	CHECK(!context_is_pin("sha256//"));
	CHECK(!context_is_pin("sha256//EZw8MsiWekGjX3CZs+gI0JWz6jskn6UVhYsWhJViAx4"));
	CHECK(!context_is_pin("sha1//EZw8MsiWekGjX3CZs+gI0JWz6jskn6UVhYsWhJViAx4="));
	CHECK(!context_is_pin("/etc/passwd")); /* curl would read a file */
	CHECK(!context_is_pin(PIN ";sha256//AAA="));
}

TEST(there_is_a_limit)
{
	const char *dir = start();
	char name[32];
	struct client_context one = { name, "https://a", "t", NULL };

	for (int i = 0; i < STRATA_CONTEXTS_MAX; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		CHECK_OK(context_write(dir, &one, &err));
	}
	CHECK_OK(context_write(dir, &one, &err)); /* in place of itself */
	strcpy(name, "more");
	CHECK_ERROR(context_write(dir, &one, &err), -EDQUOT, "expected at most 64");
}

static const char *get(void *home, const char *name)
{
	return strcmp(name, "HOME") == 0 ? home : NULL;
}

TEST(the_one_in_use_is_known)
{
	const char *home = start(), *dir, *name = NULL;
	struct client_hints hints = { .get = get, .get_context = (char *)(uintptr_t)home };
	struct client_context one = { "lab", "https://a", "t", NULL };

	CHECK_OK(context_used(&hints, &arena, &name, &err));
	CHECK(!name);
	CHECK_OK(context_dir(&hints, &arena, &dir, &err));
	CHECK_OK(context_write(dir, &one, &err));
	CHECK_OK(context_use(dir, "lab", &err));
	CHECK_OK(context_used(&hints, &arena, &name, &err));
	CHECK_TEXT(name, "lab");
	FILE *file = fopen(strata_arena_printf(&arena, "%s/context", dir), "w");

	fputs("../../etc/passwd\n", file);
	fclose(file);
	name = NULL;
	CHECK_ERROR(context_used(&hints, &arena, &name, &err), -EINVAL, "strata context use NAME");
	CHECK(!name);
	hints.get_context = NULL;
	CHECK_OK(context_used(&hints, &arena, &name, &err)); /* no home, none in use */
	CHECK(!name);
}
