#include "test.h"

#include "client/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* NAME=value …, NULL behind the last. */
static const char *variables[8];
static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct client_place place;
static struct client_hints hints;

static const char *get(void *context, const char *name)
{
	size_t length = strlen(name);

	(void)context;
	for (size_t i = 0; variables[i]; i++)
		if (strncmp(variables[i], name, length) == 0 && variables[i][length] == '=')
			return variables[i] + length + 1;
	return NULL;
}

static int find(void)
{
	hints.get = get;
	return client_find(&hints, &arena, &place, &err);
}

static void start(void)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	hints = (struct client_hints){ 0 };
	memset(variables, 0, sizeof(variables));
}

static const char *path_in(const char *dir, const char *name)
{
	static char paths[4][300];
	static int turn;
	char *path = paths[turn++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static void write_file(const char *path, const char *text, mode_t mode)
{
	FILE *file = fopen(path, "w");

	CHECK(file && fputs(text, file) >= 0);
	fclose(file);
	CHECK_INT(chmod(path, mode), 0);
}

TEST(the_first_of_the_names_counts)
{
	start();
	hints.socket_flag = "/flag";
	hints.server_flag = "http://flag";
	hints.socket_config = "/config";
	hints.server_config = "http://config";
	variables[0] = "STRATA_SOCKET=/variable";
	variables[1] = "STRATA_SERVER=http://variable/";
	CHECK_OK(find());
	CHECK_TEXT(place.socket, "/flag");
	CHECK(!place.url);
	hints.socket_flag = NULL;
	CHECK_OK(find());
	CHECK(!place.socket);
	CHECK_TEXT(place.url, "http://flag"); /* a flag beats any variable */
	hints.server_flag = NULL;
	CHECK_OK(find());
	CHECK_TEXT(place.socket, "/variable");
	variables[0] = "STRATA_SOCKET="; /* as good as none */
	CHECK_OK(find());
	CHECK_TEXT(place.url, "http://variable"); /* without the slash */
	variables[1] = NULL;
	CHECK_OK(find());
	CHECK_TEXT(place.socket, "/config");
	hints.socket_config = NULL;
	CHECK_OK(find());
	CHECK_TEXT(place.url, "http://config");
}

TEST(without_a_name_it_is_the_usual_socket_that_exists)
{
	const char *dir = test_temp_dir();
	char runtime[300], home[300], path[400];

	start();
	snprintf(runtime, sizeof(runtime), "XDG_RUNTIME_DIR=%s/run", dir);
	snprintf(home, sizeof(home), "HOME=%s", dir);
	variables[0] = home;
	snprintf(path, sizeof(path), "%s/.local/state/strata/strata.sock", dir);
	CHECK_OK(find());
	CHECK_TEXT(place.socket, path); /* none exists: where one would be made */
	variables[1] = runtime;
	mkdir(path_in(dir, "run"), 0700);
	mkdir(path_in(dir, "run/strata"), 0700);
	write_file(path_in(dir, "run/strata/strata.sock"), "", 0600);
	CHECK_OK(find());
	CHECK_TEXT(place.socket, path_in(dir, "run/strata/strata.sock"));
	write_file(path_in(dir, "system"), "", 0600);
	hints.system_socket = path_in(dir, "system");
	CHECK_OK(find());
	CHECK_TEXT(place.socket, path_in(dir, "system"));
	start();
	CHECK_OK(find());
	CHECK_TEXT(place.socket, "/run/strata/strata.sock");
}

TEST(an_address_is_one_of_http)
{
	start();
	hints.server_flag = "ftp://host";
	CHECK_ERROR(find(), -EINVAL, "expected http://");
	CHECK_TEXT(err.field, "server");
	hints.server_flag = "https://host:8080///";
	CHECK_OK(find());
	CHECK_TEXT(place.url, "https://host:8080");
	CHECK(!place.token);
}

TEST(a_token_comes_from_the_variable_or_a_private_file)
{
	const char *dir = test_temp_dir(), *file = path_in(dir, "token");
	char named[400], home[300];

	start();
	hints.server_flag = "http://host";
	snprintf(named, sizeof(named), "STRATA_TOKEN_FILE=%s", file);
	snprintf(home, sizeof(home), "HOME=%s", dir);
	variables[0] = home;
	CHECK_OK(find()); /* no file of the usual name is no error … */
	CHECK(!place.token);
	variables[1] = named;
	CHECK_ERROR(find(), -ENOENT, "cannot read the token"); /* … one that was named is */
	write_file(file, "strata_abc\n", 0600);
	CHECK_OK(find());
	CHECK_TEXT(place.token, "strata_abc");
	for (mode_t bit = 01; bit <= 040; bit <<= 1) {
		CHECK_INT(chmod(file, 0600 | bit), 0);
		CHECK_ERROR(find(), -EACCES, "others can read the token");
	}
	variables[2] = "STRATA_TOKEN=strata_own"; /* then the file is not looked at */
	CHECK_OK(find());
	CHECK_TEXT(place.token, "strata_own");
	hints.socket_flag = "/socket"; /* where the uid is enough */
	CHECK_OK(find());
	CHECK(!place.token);
}

static int find_once(struct strata_memory *own, void *context, struct strata_error *error)
{
	struct strata_arena scratch;
	struct client_place found;

	(void)context;
	strata_arena_init(&scratch, own, 0);
	int rc = client_find(&hints, &scratch, &found, error);

	strata_arena_fini(&scratch);
	return rc;
}

TEST(lack_of_memory_is_survived)
{
	const char *dir = test_temp_dir();
	char home[300];

	start();
	snprintf(home, sizeof(home), "XDG_CONFIG_HOME=%s", dir);
	variables[0] = home;
	mkdir(path_in(dir, "strata"), 0700);
	write_file(path_in(dir, "strata/token"), "strata_abc", 0600);
	hints.server_flag = "http://host";
	hints.get = get;
	test_every_allocation(find_once, NULL);
	variables[1] = "HOME=/nowhere";
	hints.server_flag = NULL;
	test_every_allocation(find_once, NULL);
	strata_arena_fini(&arena);
}
