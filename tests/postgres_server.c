/* A PostgreSQL server for tests. See postgres_server.h. */
#include "postgres_server.h"

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static char programs[256]; /* directory of initdb and postgres */
static char base[64];      /* temporary directory; "": not made */
static char address[512];  /* with the last schema */
static pid_t server;       /* 0: not running */
static unsigned schemas;

bool postgres_server_possible(void)
{
	glob_t found;

	if (!programs[0] && glob("/usr/lib/postgresql/*/bin/initdb", 0, NULL, &found) == 0) {
		snprintf(programs, sizeof(programs), "%s", found.gl_pathv[found.gl_pathc - 1]);
		*strrchr(programs, '/') = '\0';
		globfree(&found);
	}
	return programs[0] != '\0';
}

static const struct passwd *another_user(void)
{
	const struct passwd *user = getpwnam("postgres");

	return user ? user : getpwnam("nobody");
}

/* In the child: another user, output into a file, gone when the parent is. */
static void become(const char *program, const char *const *argv)
{
	char path[512];
	int log;

	snprintf(path, sizeof(path), "%s/log", base);
	if (geteuid() == 0) {
		const struct passwd *user = another_user();

		if (!user || setgid(user->pw_gid) < 0 || setuid(user->pw_uid) < 0)
			_exit(126);
	}
	prctl(PR_SET_PDEATHSIG, SIGQUIT);
	log = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	dup2(log, 1);
	dup2(log, 2);
	snprintf(path, sizeof(path), "%s/%s", programs, program);
	/* it finds its other programs by the path it was called by */
	const char *words[32] = { path };

	for (size_t i = 1; i + 1 < sizeof(words) / sizeof(words[0]) && argv[i]; i++)
		words[i] = argv[i];
	if (chdir(base) == 0)
		execv(path, (char *const *)words); /* which does not change them */
	_exit(127);
}

static pid_t start(const char *program, const char *const *argv)
{
	pid_t pid = fork();

	if (pid == 0)
		become(program, argv);
	if (pid < 0)
		test_fail(__FILE__, __LINE__, "fork: %s", strerror(errno));
	return pid;
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *position)
{
	(void)info, (void)type, (void)position;
	return remove(path);
}

static void clean_up(void)
{
	if (server > 0) {
		kill(server, SIGQUIT);
		waitpid(server, NULL, 0);
	}
	if (base[0])
		nftw(base, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* The last line that the program wrote: why it failed. */
static const char *last_words(void)
{
	static char text[4096];
	char path[512];

	snprintf(path, sizeof(path), "%s/log", base);
	FILE *log = fopen(path, "r");
	size_t count = 0;

	if (log && fseek(log, -(long)(sizeof(text) - 1), SEEK_END) < 0)
		rewind(log);
	if (log) {
		count = fread(text, 1, sizeof(text) - 1, log);
		fclose(log);
	}
	while (count && text[count - 1] == '\n')
		count--;
	text[count] = '\0';
	return strrchr(text, '\n') ? strrchr(text, '\n') + 1 : text;
}

static void make_cluster(void)
{
	char data[128];
	const char *argv[] = { "initdb", "-D", data,   "-U",         "strata", "-A",
			       "trust",  "-E", "UTF8", "--locale=C", "-N",     "--no-instructions",
			       NULL };
	int status;

	snprintf(base, sizeof(base), "/tmp/strata-pg.XXXXXX");
	if (!mkdtemp(base))
		test_fail(__FILE__, __LINE__, "mkdtemp: %s", strerror(errno));
	atexit(clean_up);
	if (geteuid() == 0 && another_user() &&
	    chown(base, another_user()->pw_uid, another_user()->pw_gid) < 0)
		test_fail(__FILE__, __LINE__, "chown: %s", strerror(errno));
	snprintf(data, sizeof(data), "%s/data", base);
	if (waitpid(start("initdb", argv), &status, 0) < 0 || status != 0)
		test_fail(__FILE__, __LINE__, "initdb ended with status %d: %s", status,
			  last_words());
}

void postgres_server_start(void)
{
	char data[128], info[128];
	const char *argv[] = { "postgres",
			       "-D",
			       data,
			       "-k",
			       base,
			       "-h",
			       "",
			       "-c",
			       "shared_buffers=16MB",
			       "-c",
			       getenv("STRATA_PG_FSYNC") ? "fsync=on" : "fsync=off",
			       NULL };

	snprintf(data, sizeof(data), "%s/data", base);
	snprintf(info, sizeof(info), "host=%s user=strata dbname=postgres", base);
	server = start("postgres", argv);
	for (int i = 0; i < 3000 && PQping(info) != PQPING_OK; i++) {
		if (waitpid(server, NULL, WNOHANG) != 0) {
			server = 0;
			test_fail(__FILE__, __LINE__, "postgres did not start: %s", last_words());
		}
		usleep(10000);
	}
}

void postgres_server_stop(int signal)
{
	kill(server, signal);
	waitpid(server, NULL, 0);
	server = 0;
	if (signal == SIGKILL)
		usleep(300000); /* its children notice and go */
}

static bool run(const char *sql, char *words, size_t room)
{
	PGconn *conn = PQconnectdb(address);
	PGresult *result = PQexec(conn, sql);
	ExecStatusType status = PQresultStatus(result);

	snprintf(words, room, "%s", PQerrorMessage(conn));
	PQclear(result);
	PQfinish(conn);
	return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

bool postgres_server_try(const char *sql)
{
	char words[512];

	return run(sql, words, sizeof(words));
}

void postgres_server_run(const char *sql)
{
	char words[512];

	if (!run(sql, words, sizeof(words)))
		test_fail(__FILE__, __LINE__, "%s: %s", sql, words);
}

const char *postgres_server_url(void)
{
	char sql[64];

	if (!postgres_server_possible())
		test_skip("no initdb (Debian: postgresql)");
	if (!base[0])
		make_cluster();
	if (!server)
		postgres_server_start();
	snprintf(address, sizeof(address),
		 "postgresql://strata@/postgres?host=%s&options=-csearch_path%%3Dt%u", base,
		 ++schemas);
	snprintf(sql, sizeof(sql), "CREATE SCHEMA t%u", schemas);
	postgres_server_run(sql);
	return address;
}
