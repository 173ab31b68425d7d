#include "test.h"

#include "core/env_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char seen[2000];

static int note(void *context, const struct env_walk_step *step)
{
	const char *refused = context;

	snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), "%s%s ", step->name,
		 S_ISLNK(step->info.st_mode) ? "@"
		 : step->last                ? "!"
					     : "");
	return refused && strcmp(refused, step->name) == 0 ? -EPERM : 0;
}

static int go(const char *path, const char *refused, struct env_walk_end *end)
{
	seen[0] = '\0';
	return env_walk(AT_FDCWD, path, note, (void *)refused, end);
}

/* a/b/c, a file; link -> a/b; up -> ../x/a; round -> round */
static void make_tree(void)
{
	CHECK_INT(chdir(test_temp_dir()), 0);
	CHECK_INT(mkdir("a", 0700) | mkdir("a/b", 0700), 0);
	close(open("a/b/c", O_CREAT | O_WRONLY, 0600));
	CHECK_INT(symlink("a/b", "link") | symlink("round", "round") | symlink("../a", "a/up") |
			  symlink("/", "root") | symlink("nothing", "dangling"),
		  0);
}

TEST(every_component_is_visited_links_as_links)
{
	struct env_walk_end end;

	make_tree();
	CHECK_INT(go("a/b/c", NULL, &end), 0);
	CHECK_TEXT(seen, ". a b c! ");
	CHECK_TEXT(end.name, "c");
	CHECK(!end.missing && faccessat(end.dir, "c", F_OK, 0) == 0);
	close(end.dir);
	CHECK_INT(go("link//up/../a/b/./c", NULL, &end), -ENOENT); /* a/b/up */
	CHECK_INT(go("a/up/b/c", NULL, &end), 0);
	CHECK_TEXT(seen, ". a up@ .. a b c! ");
	close(end.dir);
	CHECK_INT(go("link/c", NULL, &end), 0);
	CHECK_TEXT(seen, ". link@ a b c! ");
	close(end.dir);
	CHECK_INT(go("root/", NULL, &end), 0);
	CHECK_TEXT(seen, ". root@ /! ");
	CHECK_TEXT(end.name, ".");
	close(end.dir);
	CHECK_INT(chdir("/"), 0);
}

TEST(a_name_that_is_missing_ends_the_walk_and_one_on_the_way_fails_it)
{
	struct env_walk_end end;

	make_tree();
	CHECK_INT(go("a/new", NULL, &end), 0);
	CHECK(end.missing);
	CHECK_TEXT(end.name, "new");
	close(end.dir);
	CHECK_INT(go("dangling", NULL, &end), 0);
	CHECK(end.missing);
	CHECK_TEXT(end.name, "nothing");
	close(end.dir);
	CHECK_INT(go("no/new", NULL, &end), -ENOENT);
	CHECK_INT(go("", NULL, &end), -ENOENT);
	CHECK_INT(go("a/b/c/d", NULL, &end), -ENOTDIR);
	CHECK_INT(go("round", NULL, &end), -ELOOP);
	CHECK_INT(chdir("/"), 0);
}

TEST(a_visitor_may_end_it)
{
	struct env_walk_end end = { .dir = -7 };

	make_tree();
	CHECK_INT(go("a/b/c", "b", &end), -EPERM);
	CHECK_TEXT(seen, ". a b ");
	CHECK_INT(end.dir, -7);
	CHECK_INT(chdir("/"), 0);
}

TEST(a_path_that_is_too_long_is_refused)
{
	static char path[PATH_MAX + 2];
	struct env_walk_end end;

	memset(path, '/', sizeof(path) - 1);
	CHECK_INT(go(path, NULL, &end), -ENAMETOOLONG);
	path[PATH_MAX - 1] = '\0';
	CHECK_INT(go(path, NULL, &end), 0);
	close(end.dir);
	memset(path, 'n', NAME_MAX + 1);
	path[NAME_MAX + 1] = '\0';
	CHECK_INT(go(path, NULL, &end), 0); /* cut to a name that nobody has */
	close(end.dir);
}
