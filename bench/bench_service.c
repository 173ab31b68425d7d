/*
 * The service, beside Slurm 22.05.8 on a machine of two cores and beside the raw commit rate of the same disk in the same run. Figures depend on
 * the disk of the day; ratios less.
 *
 *	bench_service [STRATA [FILE]]	STRATA: the program, default the one beside this benchmark;
 *					FILE: gets the figures as JSON, one a line
 */
#include "load.h"

#include "core/env.h"
#include "store/store.h"
#include "store/uuid.h"

#include <limits.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)

static char program[PATH_MAX], base[200], socket_path[256];
static pid_t service;
static FILE *kept;

static _Noreturn void give_up(const char *what)
{
	fprintf(stderr, "bench_service: %s\n", what);
	if (service > 0)
		kill(service, SIGKILL);
	exit(1);
}

static void show(const char *what, double value, const char *unit, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
static void show(const char *what, double value, const char *unit, const char *format, ...)
{
	va_list args;

	printf("  %-44s%9.*f %-4s ", what, value < 100 ? 1 : 0, value, unit);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	if (kept)
		fprintf(kept, "{\"what\": \"%s\", \"value\": %.6g, \"unit\": \"%s\"}\n", what,
			value, unit);
}

static double seconds_since(int64_t start_ns)
{
	return (double)(load_now_ns() - start_ns) / 1e9;
}

static void pause_ms(int ms)
{
	nanosleep(&(struct timespec){ ms / 1000, (ms % 1000) * 1000000L }, NULL);
}

/* ---- the disk ---- */

static void must(int rc, sqlite3 *db)
{
	if (rc != SQLITE_OK && rc != SQLITE_DONE)
		give_up(sqlite3_errmsg(db));
}

/* Transactions of so many rows a second, as the store makes them: WAL, synchronous=FULL; half a KiB a row, and no index. */
static double raw_commits(int rows)
{
	char path[300], text[513];
	sqlite3 *db;
	sqlite3_stmt *insert;
	long count = 0;

	snprintf(path, sizeof(path), "%s/raw%d.db", base, rows);
	memset(text, 'x', 512);
	text[512] = '\0';
	must(sqlite3_open(path, &db), db);
	must(sqlite3_exec(db,
			  "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
			  "CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)",
			  NULL, NULL, NULL),
	     db);
	must(sqlite3_prepare_v2(db, "INSERT INTO t (text) VALUES (?)", -1, &insert, NULL), db);
	int64_t start_ns = load_now_ns();

	while (load_now_ns() - start_ns < SECOND_NS) {
		must(sqlite3_exec(db, "BEGIN", NULL, NULL, NULL), db);
		for (int i = 0; i < rows; i++) {
			must(sqlite3_bind_text(insert, 1, text, -1, SQLITE_STATIC), db);
			must(sqlite3_step(insert), db);
			must(sqlite3_reset(insert), db);
		}
		must(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL), db);
		count++;
	}
	double rate = (double)count / seconds_since(start_ns);

	sqlite3_finalize(insert);
	sqlite3_close(db);
	return rate;
}

/* Jobs a second in transactions of 64, as the service commits them: the same table, with its indexes. */
static double store_jobs(void)
{
	enum { ROWS = 64 };
	static struct store_job rows[ROWS];
	static struct store_change changes[ROWS];
	static char uuids[ROWS][UUID_TEXT_BYTES];
	struct strata_memory memory = { 0 };
	struct strata_error err;
	struct store *store;
	uint64_t epoch;
	char path[300];
	int64_t count = 0;

	snprintf(path, sizeof(path), "sqlite:%s/jobs.db", base);
	if (store_open(path, false, &memory, &store, &err) || store_lead(store, NULL, &epoch, &err))
		give_up(err.text);
	int64_t start_ns = load_now_ns();

	while (load_now_ns() - start_ns < SECOND_NS) {
		for (int i = 0; i < ROWS; i++) {
			if (uuid_make(env_system(), uuids[i], &err))
				give_up(err.text);
			rows[i] = (struct store_job){ .id = ++count,
						      .uuid = uuids[i],
						      .user = "ann",
						      .name = "train",
						      .state = "queued",
						      .reason = "none",
						      .command = "[\"true\"]",
						      .working_dir = "/tmp",
						      .spec = "{\"command\":[\"true\"]}",
						      .created_ns = load_now_ns() };
			changes[i] = STORE_PUT(&rows[i]);
		}
		if (store_apply(store, changes, ROWS, epoch, &err))
			give_up(err.text);
	}
	double rate = (double)count / seconds_since(start_ns);

	store_close(store);
	return rate;
}

/* ---- the service ---- */

static char *ask(const char *method, const char *path, const char *body, int status)
{
	size_t length;
	int got;
	char *text = load_ask(socket_path, method, path, body, &length, &got);

	if (!text || got != status)
		give_up(text ? text : "no answer");
	return text;
}

static void start_service(void)
{
	char state[300];
	int status = 0;

	snprintf(state, sizeof(state), "%s/state", base);
	fflush(stdout);
	service = fork();
	if (service == 0) {
		if (!freopen("/dev/null", "w", stdout))
			_exit(1);
		execl(program, "strata", "serve", "--state", state, "--socket", socket_path,
		      "--node", "n:cpus=64:memory=500G:gpus=8", (char *)NULL);
		_exit(127);
	}
	for (int i = 0; i < 60000 && status != 200; i++) {
		size_t length;

		free(load_ask(socket_path, "GET", "/healthz", NULL, &length, &status));
		if (status != 200)
			pause_ms(1);
	}
	if (status != 200)
		give_up("the service does not start");
}

static void stop_service(int how)
{
	kill(service, how);
	waitpid(service, NULL, 0);
	service = 0;
}

static void remove_all(void)
{
	char command[300];

	snprintf(command, sizeof(command), "rm -rf '%s'", base);
	if (system(command))
		fprintf(stderr, "bench_service: %s is left\n", base);
}

/* A body of so many jobs. */
static char *many_jobs(int count, const char *job)
{
	size_t length = strlen(job), room = (size_t)count * (length + 1) + 32;
	char *body = malloc(room), *at = body + sprintf(body, "{\"jobs\":[");

	for (int i = 0; i < count; i++) {
		memcpy(at, job, length);
		at += length;
		*at++ = i + 1 < count ? ',' : ']';
	}
	strcpy(at, "}");
	return body;
}

static void submit_many(int batches, const char *job)
{
	char *body = many_jobs(10000, job);

	for (int i = 0; i < batches; i++)
		free(ask("POST", "/api/v1/jobs", body, 201));
	free(body);
}

/* ---- measures ---- */

static double submissions(int clients)
{
	static const char body[] =
		"{\"command\":[\"true\"],\"working_dir\":\"/tmp\",\"hold\":true}";
	char request[512];
	int64_t start_ns = load_now_ns();

	snprintf(request, sizeof(request),
		 "POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n%s",
		 sizeof(body) - 1, body);
	long count = load_run(socket_path, request, clients, 2 * SECOND_NS, 201);

	return (double)count / seconds_since(start_ns);
}

static void measure_submissions(double one, double many, double jobs)
{
	double rate = submissions(1);

	show("durable submissions, 1 client", rate, "/s", "%.2f of the raw rate; Slurm 664: %.1fx",
	     rate / one, rate / 664);
	rate = submissions(4);
	show("4 clients", rate, "/s", "%.2f of the raw rate; Slurm 787: %.1fx", rate / one,
	     rate / 787);
	rate = submissions(64);
	show("64 clients", rate, "/s",
	     "%.2f of the raw rate in groups, %.2f of that of jobs; Slurm's best 1096: %.1fx",
	     rate / many, rate / jobs, rate / 1096);
	int64_t start_ns = load_now_ns();

	submit_many(1, "{\"command\":[\"true\"],\"working_dir\":\"/tmp\",\"hold\":true}");
	show("10,000 in one request", seconds_since(start_ns), "s", "wanted: less than 1");
}

static int run_strata(const char *const *argv)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (!freopen("/dev/null", "w", stdout))
			_exit(1);
		execv(program, (char *const *)argv);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return status;
}

static void measure_cli(void)
{
	const char *const argv[] = { "strata",  "submit", "--hold", "--socket", socket_path,
				     "--quiet", "--",     "true",   NULL };
	int64_t start_ns = load_now_ns();
	int count = 0;

	for (; load_now_ns() - start_ns < 2 * SECOND_NS; count++)
		if (run_strata(argv))
			give_up("strata submit fails");
	double rate = count / seconds_since(start_ns);

	show("strata submit, one after the other", rate, "/s", "sbatch 182: %.1fx", rate / 182);
}

static int by_value(const void *a, const void *b)
{
	double one = *(const double *)a, two = *(const double *)b;

	return one < two ? -1 : one > two;
}

static void measure_start(void)
{
	enum { RUNS = 50 };
	double times[RUNS];
	char path[64];

	for (int i = 0; i < RUNS; i++) {
		int64_t start_ns = load_now_ns();
		char *text = ask("POST", "/api/v1/jobs",
				 "{\"command\":[\"/bin/true\"],\"working_dir\":\"/tmp\","
				 "\"output\":\"/dev/null\"}",
				 201);

		snprintf(path, sizeof(path), "/api/v1/jobs/%ld", atol(strstr(text, "\"id\":") + 5));
		do {
			free(text);
			text = ask("GET", path, NULL, 200);
		} while (strstr(text, "\"started_at\":null"));
		free(text);
		times[i] = seconds_since(start_ns) * 1e3;
		pause_ms(60); /* until all is quiet again */
	}
	qsort(times, RUNS, sizeof(times[0]), by_value);
	show("submit to start, median", times[RUNS / 2], "ms",
	     "worst %.1f ms; Slurm, delays set to 0, 774: %.0fx", times[RUNS - 1],
	     774 / times[RUNS / 2]);
}

static long completed(void)
{
	char *text = ask("GET", "/api/v1/queue?limit=1&fields=id", NULL, 200);
	const char *at = strstr(text, "\"completed\":");
	long count = at ? atol(at + 12) : 0;

	free(text);
	return count;
}

static void measure_jobs(void)
{
	long before = completed();
	char *body = many_jobs(1000, "{\"command\":[\"/bin/true\"],\"working_dir\":\"/tmp\","
				     "\"output\":\"/dev/null\"}");
	int64_t start_ns = load_now_ns();

	free(ask("POST", "/api/v1/jobs", body, 201));
	while (completed() < before + 1000)
		pause_ms(10);
	double rate = 1000 / seconds_since(start_ns);

	show("1,000 x /bin/true on 64 CPUs, all done", rate, "/s", "Slurm 23: %.0fx", rate / 23);
	free(body);
}

static double rss_mib(void)
{
	char path[64], line[256];
	long kib = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", service);
	FILE *file = fopen(path, "r");

	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, "VmRSS:", 6) == 0)
			kib = atol(line + 6);
	if (file)
		fclose(file);
	return (double)kib / 1024;
}

static double ask_time_ms(const char *path)
{
	int64_t start_ns = load_now_ns();

	free(ask("GET", path, NULL, 200));
	return seconds_since(start_ns) * 1e3;
}

static void measure_queue(void)
{
	const char *const argv[] = {
		"strata", "queue", "-n", "50000", "--socket", socket_path, NULL
	};
	const char *job = "{\"command\":[\"true\"],\"working_dir\":\"/tmp\",\"gpus\":8,"
			  "\"hold\":true,\"name\":\"train\"}";

	submit_many(5, job);
	show("memory with 50,000 pending", rss_mib(), "MiB", "Slurm 463: %.1fx", 463 / rss_mib());
	double ms = ask_time_ms("/api/v1/queue?limit=50000");

	show("GET queue with 50,000 pending", ms, "ms", "squeue 532: %.1fx", 532 / ms);
	int64_t start_ns = load_now_ns();

	if (run_strata(argv))
		give_up("strata queue fails");
	ms = seconds_since(start_ns) * 1e3;
	show("strata queue with 50,000 pending", ms, "ms", "squeue 532: %.1fx", 532 / ms);
	ms = ask_time_ms("/api/v1/jobs/40000");
	show("one job of them", ms, "ms", "squeue 6: %.1fx", 6 / ms);
	submit_many(5, job);
	stop_service(SIGKILL);
	start_ns = load_now_ns();
	start_service();
	show("restart with 100,000 pending", seconds_since(start_ns), "s",
	     "Slurm with 10,000: 1.11 s");
}

/* ---- a crowd ---- */

enum { CROWD = 16000, ASKED = 500 };

/* As another user, where that is possible: opens connections that say half of what they want, one after the other, for as long as it lives. */
static _Noreturn void crowd(void)
{
	static int held[CROWD];
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	size_t room = files.rlim_cur > CROWD + 100 ? CROWD : files.rlim_cur - 100;

	if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
		_exit(1);
	snprintf(address.sun_path, sizeof(address.sun_path), "%.100s", socket_path);
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0;; i = (i + 1) % room) {
		if (held[i])
			close(held[i]);
		held[i] = socket(AF_UNIX, SOCK_STREAM, 0);
		if (connect(held[i], (struct sockaddr *)&address, sizeof(address)) == 0 &&
		    write(held[i], "GET / HTTP/1.1\r\n", 16) < 0)
			continue; /* hung up on */
	}
}

static void ask_often(const char *what)
{
	double times[ASKED];

	for (int i = 0; i < ASKED; i++)
		times[i] = ask_time_ms("/api/v1/nodes");
	qsort(times, ASKED, sizeof(times[0]), by_value);
	show(what, times[ASKED * 99 / 100], "ms", "median %.1f, worst %.1f ms; wanted: at most 50",
	     times[ASKED / 2], times[ASKED - 1]);
}

static void measure_crowd(void)
{
	chmod(base, 0755); /* the other user gets to the socket */
	ask_often("one request on a new connection, p99");
	pid_t pid = fork();

	if (pid == 0)
		crowd();
	pause_ms(3000); /* until it has its share, and goes on asking for more */
	ask_often("while another opens 16,000, p99");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	char self[PATH_MAX - 20] = "";

	snprintf(base, sizeof(base), "%s/strata-bench.XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(base) || readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		give_up("no directory");
	*strrchr(self, '/') = '\0';
	snprintf(program, sizeof(program), "%s/../strata", self);
	if (argc > 1)
		snprintf(program, sizeof(program), "%s", argv[1]);
	if (argc > 2 && !(kept = fopen(argv[2], "w")))
		give_up(argv[2]);
	snprintf(socket_path, sizeof(socket_path), "%s/socket", base);
	double one = raw_commits(1), many = raw_commits(64) * 64;

	double jobs = store_jobs();

	show("raw commits of one row", one, "/s", "as the store makes them, on this disk");
	show("raw rows in commits of 64", many, "/s", "a row of half a KiB, and no index");
	show("rows of jobs in commits of 64", jobs, "/s", "the store's own table");
	start_service();
	measure_submissions(one, many, jobs);
	measure_cli();
	measure_crowd();
	stop_service(SIGTERM);
	remove_all();
	mkdir(base, 0755);
	start_service();
	measure_start();
	measure_jobs();
	measure_queue();
	stop_service(SIGKILL);
	remove_all();
	if (kept && fclose(kept))
		give_up(argv[2]);
	return 0;
}
