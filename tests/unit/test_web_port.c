#include "test.h"

#include "server/web_port.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

TEST(the_port_is_kept)
{
	const char *dir = test_temp_dir();
	struct strata_error err = { 0 };

	CHECK_INT(web_port_kept(env_system(), dir), 0);
	CHECK_INT(web_port_keep(env_system(), dir, 8470, &err), 0);
	CHECK_INT(web_port_kept(env_system(), dir), 8470);
	CHECK_INT(web_port_keep(env_system(), dir, 65535, &err), 0);
	CHECK_INT(web_port_kept(env_system(), dir), 65535);
}

TEST(what_is_no_port_is_none)
{
	static const char *const texts[] = { "", "0\n", "65536\n", "x\n", "123456789\n", "-1\n" };
	const char *dir = test_temp_dir();
	char path[4096];

	snprintf(path, sizeof(path), "%s/web.port", dir);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		CHECK_INT(env_write_file(env_system(), AT_FDCWD, path, texts[i], strlen(texts[i]),
					 0600, NULL),
			  0);
		CHECK_INT(web_port_kept(env_system(), dir), 0);
	}
}

TEST(a_directory_that_is_not_there_is_named)
{
	struct strata_error err = { 0 };

	CHECK(web_port_keep(env_system(), "/nonexistent", 8470, &err) < 0);
	CHECK(strstr(err.text, "/nonexistent"));
}
