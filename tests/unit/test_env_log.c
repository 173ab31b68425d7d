/* The log of the process, on a standard error of its own. */
#include "core/env_log.h"

#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char said[65536];

/* What the function puts on standard error. */
static const char *capture(void (*run)(void))
{
	char path[600];

	snprintf(path, sizeof(path), "%s/log", test_temp_dir());
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600), kept = dup(STDERR_FILENO);

	CHECK(fd >= 0 && kept >= 0);
	dup2(fd, STDERR_FILENO);
	run();
	dup2(kept, STDERR_FILENO);
	ssize_t count = pread(fd, said, sizeof(said) - 1, 0);

	said[count > 0 ? count : 0] = '\0';
	close(fd);
	close(kept);
	return said;
}

static void say_three(void)
{
	log_open(LOG_FORM_TEXT, LOG_LEVEL_WARNING);
	log_error("store", "one %d", 1);
	log_say(LOG_LEVEL_WARNING, "start", 7, "two");
	log_info("front", "three");
}

TEST(what_is_below_the_level_is_not_written)
{
	CHECK_TEXT(capture(say_three), "strata: one 1\nstrata: job 7: two\n");
}

static void say_to_file(void)
{
	log_open(LOG_FORM_AUTO, LOG_LEVEL_INFO);
	log_info("front", "ready");
}

TEST(where_no_terminal_is_lines_are_logfmt)
{
	const char *line = capture(say_to_file);

	CHECK(strncmp(line, "time=20", 7) == 0);
	CHECK(strstr(line, "Z level=info component=front msg=\"ready\"\n"));
}

static void say_inherited(void)
{
	struct log_variables variables;

	log_open(LOG_FORM_JSON, LOG_LEVEL_DEBUG);
	log_inherit(&variables);
	log_open(LOG_FORM_TEXT, LOG_LEVEL_ERROR);
	putenv(variables.text[0]);
	putenv(variables.text[1]);
	CHECK_TEXT(variables.text[2], "");
	log_open_inherited();
	unsetenv("STRATA_LOG_FORMAT");
	unsetenv("STRATA_LOG_LEVEL");
	log_say_line(LOG_LEVEL_DEBUG,
		     (struct log_line){ .component = "supervisor", .job = 3, .attempt = 1 }, "x");
}

TEST(a_process_that_is_started_goes_on_in_the_same_form)
{
	CHECK(strstr(capture(say_inherited), "\"level\":\"debug\",\"component\":\"supervisor\","
					     "\"job\":3,\"attempt\":1,\"msg\":\"x\"}\n"));
}

static void say_often(void)
{
	log_open(LOG_FORM_TEXT, LOG_LEVEL_INFO);
	for (int i = 0; i < 3 * LOG_BURST; i++)
		log_warning("store", "the store is away: attempt %d", i);
	log_warning("store", "another thing");
}

TEST(a_flood_of_the_same_is_cut_off)
{
	const char *at = capture(say_often);
	int lines = 0;

	CHECK(strstr(at, "strata: another thing\n"));
	for (; (at = strchr(at, '\n')); at++)
		lines++;
	CHECK_INT(lines, LOG_BURST + 1);
}

static struct log_variables inherited;

static void say_to_journal(void)
{
	struct stat info;
	char text[64];

	fstat(STDERR_FILENO, &info);
	snprintf(text, sizeof(text), "%ju:%ju", (uintmax_t)info.st_dev, (uintmax_t)info.st_ino);
	setenv("JOURNAL_STREAM", text, 1);
	log_open(LOG_FORM_TEXT, LOG_LEVEL_INFO);
	log_warning("store", "away");
	log_inherit(&inherited);
	unsetenv("JOURNAL_STREAM");
	log_open(LOG_FORM_TEXT, LOG_LEVEL_INFO);
	log_warning("store", "there");
}

TEST(the_journal_gets_priorities_and_nobody_else)
{
	CHECK_TEXT(capture(say_to_journal), "<4>strata: away\nstrata: there\n");
	CHECK(strncmp(inherited.text[2], "JOURNAL_STREAM=", 15) == 0);
}

static void say_forged(void)
{
	log_open(LOG_FORM_TEXT, LOG_LEVEL_INFO);
	log_say(LOG_LEVEL_INFO, "checkpoints", 7, "cannot remove %s",
		"/tmp/a\nstrata: forged\033[2J\xff");
}

TEST(a_line_stays_a_line)
{
	CHECK_TEXT(capture(say_forged),
		   "strata: job 7: cannot remove /tmp/a\\nstrata: forged\\x1b[2J\\xff\n");
}
