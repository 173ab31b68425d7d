/* Where ONNX Runtime is looked for, in trees that look like Python's. */
#include "test.h"

#include "engine/ort_find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEEN_MAX = 16 };

/* What was handed out, up to the one that is accepted. */
struct seen {
	char paths[SEEN_MAX][4096];
	size_t count;
	const char *wanted; /* NULL: none is accepted */
};

static bool note(void *context, const char *path)
{
	struct seen *seen = context;

	CHECK(seen->count < SEEN_MAX);
	snprintf(seen->paths[seen->count++], sizeof(seen->paths[0]), "%s", path);
	return seen->wanted && strcmp(path, seen->wanted) == 0;
}

/* Makes a file and the directories above it; returns its path, which is the test's until it
 * ends. */
static const char *make(const char *below, mode_t mode)
{
	static char paths[SEEN_MAX][4096];
	static size_t next;
	char *path = paths[next++ % SEEN_MAX];

	snprintf(path, sizeof(paths[0]), "%s/%s", test_temp_dir(), below);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(path, 0755);
		*slash = '/';
	}
	FILE *file = fopen(path, "w");

	CHECK(file);
	fclose(file);
	CHECK_INT(chmod(path, mode), 0);
	return path;
}

static const char *in_temp(const char *below)
{
	static char paths[4][4096];
	static size_t next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", test_temp_dir(), below);
	return path;
}

TEST(what_the_user_names_is_the_only_one)
{
	const struct ort_places places = { .named = "/opt/x.so",
					   .path = "/usr/bin",
					   .home = "/root" };
	static struct seen seen;

	CHECK(!ort_find(&places, note, &seen));
	CHECK_INT(seen.count, 1);
	CHECK_TEXT(seen.paths[0], "/opt/x.so");
}

TEST(the_system_comes_first)
{
	static struct seen seen = { .wanted = "libonnxruntime.so" };

	CHECK(ort_find(&(struct ort_places){ .named = "" }, note, &seen));
	CHECK_INT(seen.count, 2);
	CHECK_TEXT(seen.paths[0], "libonnxruntime.so.1");
	CHECK_TEXT(seen.paths[1], "libonnxruntime.so");
}

TEST(a_virtual_environment_is_looked_at_newest_version_first)
{
	const char *old = make(
		"venv/lib/python3.11/site-packages/onnxruntime/capi/libonnxruntime.so.1.9.0", 0644);
	const char *new =
		make("venv/lib/python3.11/site-packages/onnxruntime/capi/libonnxruntime.so.1.31.1",
		     0644);
	const struct ort_places places = { .virtual_env = in_temp("venv") };
	static struct seen seen;

	make("venv/lib/python3.11/site-packages/onnxruntime/capi/other.so", 0644);
	CHECK(!ort_find(&places, note, &seen));
	CHECK_INT(seen.count, 4);
	CHECK_TEXT(seen.paths[2], new);
	CHECK_TEXT(seen.paths[3], old);
}

TEST(the_python_on_path_leads_to_its_packages)
{
	static struct seen seen;
	char path[8400];

	make("empty/bin/other", 0755);
	make("plain/bin/python3", 0644); /* cannot be run: the next is looked at */
	make("plain/lib/python3.9/site-packages/onnxruntime/capi/libonnxruntime.so.1", 0644);
	make("py/bin/python3", 0755);
	const char *library = make(
		"py/lib/python3.12/dist-packages/onnxruntime/capi/libonnxruntime.so.1.20.0", 0644);

	snprintf(path, sizeof(path), "bin::%s:%s:%s", in_temp("empty/bin"), in_temp("plain/bin"),
		 in_temp("py/bin"));
	seen.wanted = library;
	CHECK(ort_find(&(struct ort_places){ .path = path }, note, &seen));
	CHECK_INT(seen.count, 3);
	CHECK_TEXT(seen.paths[2], library);
}

TEST(a_relative_path_leads_nowhere)
{
	static struct seen seen;

	make("py/bin/python3", 0755);
	make("py/lib/python3.12/site-packages/onnxruntime/capi/libonnxruntime.so.1", 0644);
	CHECK_INT(chdir(test_temp_dir()), 0);
	CHECK(!ort_find(&(struct ort_places){ .path = "py/bin", .virtual_env = "py", .home = "py" },
			note, &seen));
	CHECK_INT(seen.count, 2);
}

TEST(a_linked_python_leads_to_where_it_is_installed)
{
	static struct seen seen;

	make("base/bin/python3.12", 0755);
	make("linked/bin/other", 0644);
	const char *library = make(
		"base/lib/python3.12/site-packages/onnxruntime/capi/libonnxruntime.so.1", 0644);

	CHECK_INT(symlink(in_temp("base/bin/python3.12"), in_temp("linked/bin/python3")), 0);
	seen.wanted = library;
	CHECK(ort_find(&(struct ort_places){ .path = in_temp("linked/bin") }, note, &seen));
	CHECK_TEXT(seen.paths[seen.count - 1], library);
}

TEST(the_users_own_packages_come_last_and_names_are_no_patterns)
{
	const char *library = make("ho[m]e*/.local/lib/python3.11/site-packages/onnxruntime/capi/"
				   "libonnxruntime.so.1.22.0",
				   0644);
	static struct seen seen;

	make("home2/.local/lib/python3.11/site-packages/onnxruntime/capi/libonnxruntime.so.1",
	     0644);
	CHECK(!ort_find(&(struct ort_places){ .home = in_temp("ho[m]e*") }, note, &seen));
	CHECK_INT(seen.count, 3);
	CHECK_TEXT(seen.paths[2], library);
}

TEST(places_are_the_environments)
{
	setenv("STRATA_ONNXRUNTIME", "/a", 1);
	setenv("VIRTUAL_ENV", "/b", 1);
	struct ort_places places = ort_places_of_process();

	CHECK_TEXT(places.named, "/a");
	CHECK_TEXT(places.virtual_env, "/b");
	CHECK_TEXT(places.path, getenv("PATH"));
}
