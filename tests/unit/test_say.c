#include "test.h"

#include "server/server.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

TEST(a_line_stays_a_line)
{
	char text[256] = "";
	int kept = dup(STDERR_FILENO);
	FILE *file = tmpfile();

	CHECK(kept >= 0 && file);
	fflush(stderr);
	dup2(fileno(file), STDERR_FILENO);
	server_say("job %d: cannot remove %s", 7, "/tmp/a\nstrata: forged\033[2J\xff");
	fflush(stderr);
	dup2(kept, STDERR_FILENO);
	close(kept);
	CHECK(pread(fileno(file), text, sizeof(text) - 1, 0) > 0);
	fclose(file);
	CHECK_TEXT(text, "strata: job 7: cannot remove /tmp/a\\nstrata: forged\\x1b[2J\\xff\n");
}
