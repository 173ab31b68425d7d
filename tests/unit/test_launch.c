#include "exec_sample.h"

#include "exec/launch.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>

/* Somebody who is not root, or the test is skipped. */
static struct exec_order order_of_other(int64_t job, const char *script)
{
	const struct passwd *who = getpwnam("nobody");

	if (geteuid() != 0 || !who)
		test_skip("needs root and a user nobody");
	struct exec_order order = sample_order(job, script);

	order.user = "nobody";
	order.uid = who->pw_uid;
	order.gid = who->pw_gid;
	return order;
}

static void check_not_started(const struct exec_order *order, int code, const char *words)
{
	struct exec_status status = sample_run(order);

	CHECK_INT(status.how, EXEC_NOT_STARTED);
	CHECK_INT(status.error_code, code);
	CHECK_INT(status.started_ns, 0);
	if (!status.error || !strstr(status.error, words))
		test_fail(__FILE__, __LINE__, "«%s», expected «%s»",
			  status.error ? status.error : "", words);
}

TEST(what_cannot_be_started_says_why)
{
	sample_open();
	struct exec_order order = sample_order(1, "true");

	order.output = "missing/out";
	check_not_started(&order, ENOENT,
			  "cannot open its output file missing/out: its directory does not exist");
	order = sample_order(2, "true");
	order.directory = "/no/such/place";
	check_not_started(&order, ENOENT,
			  "cannot enter its directory /no/such/place: No such file or directory");
	order = sample_order(3, "true");
	order.input = "missing";
	check_not_started(&order, ENOENT, "cannot open its input file missing: No such file");
	order = sample_order(4, "true");
	order.script = "no first line";
	order.script_bytes = strlen(order.script);
	check_not_started(&order, ENOEXEC, "Exec format error");
	order = sample_order(5, "true");
	order.script = "#!/no/such/shell\n";
	order.script_bytes = strlen(order.script);
	check_not_started(&order, ENOENT, "the program that its first line names");
	order = sample_order(6, "true");
	mkfifo(sample_path("pipe"), 0600);
	order.output = "pipe";
	check_not_started(&order, ENXIO,
			  "cannot open its output file pipe: it is a pipe, a socket or a device; "
			  "expected a regular file or /dev/null");
	order = sample_order(7, "true");
	order.input = "pipe"; /* and nobody waits for whoever writes to it */
	check_not_started(&order, EINVAL, "cannot open its input file pipe: it is a pipe");
	order = sample_order(8, "true");
	order.output = "/proc/self/fd/2";
	check_not_started(&order, ELOOP, "a link on the way leads into /proc");
	order = sample_order(9, "true");
	order.directory = "/proc/self/cwd";
	check_not_started(&order, ELOOP, "cannot enter its directory /proc/self/cwd");
	sample_close();
}

TEST(a_program_is_looked_for_as_its_user)
{
	struct exec_order order = order_of_other(1, "");
	char path[700];

	sample_open();
	order.script = NULL;
	order.program = "tool";
	order.output = NULL;
	order.directory = "/";
	snprintf(path, sizeof(path), "PATH=%s:%s", sample_path("private"), sample_path("public"));
	order.environment = (const char *const[]){ path, NULL };
	CHECK_INT(mkdir(sample_path("private"), 0700), 0);
	CHECK_INT(mkdir(sample_path("public"), 0755), 0);
	/* that there is one in root's directory makes no difference */
	check_not_started(&order, EACCES, "cannot start tool: Permission denied");
	CHECK_INT(symlink("/bin/true", sample_path("private/tool")), 0);
	order.job = 2;
	check_not_started(&order, EACCES, "cannot start tool: Permission denied");
	CHECK_INT(symlink("/bin/true", sample_path("public/tool")), 0);
	order.job = 3;
	CHECK_INT(sample_run(&order).how, EXEC_EXITED);
	sample_close();
}

TEST(a_checkpoint_directory_of_anothers_is_not_given_away)
{
	struct exec_order order = order_of_other(1, "true");

	sample_open();
	CHECK_INT(mkdir(sample_path("place"), 0755), 0);
	CHECK_INT(mkdir(sample_path("root"), 0700), 0);
	CHECK_INT(symlink(sample_path("root"), sample_path("place/1")), 0);
	order.checkpoint_dir = sample_path("place/1");
	order.checkpoint_place = true;
	order.output = NULL;
	check_not_started(&order, ENOTDIR, "cannot make its checkpoint directory");
	CHECK_INT(mkdir(sample_path("place/2"), 0700), 0);
	order.job = 2;
	order.checkpoint_dir = sample_path("place/2");
	check_not_started(&order, EEXIST, "there is one of another user's");
	sample_close();
}

TEST(output_is_emptied_or_appended_to)
{
	sample_open();
	struct exec_order order = sample_order(1, "echo one");

	sample_run(&order);
	order = sample_order(2, "echo two");
	order.append = true;
	sample_run(&order);
	CHECK_TEXT(sample_text(sample_path("out")), "one\ntwo\n");
	order = sample_order(3, "echo three; echo four >&2");
	order.error_output = "err";
	sample_run(&order);
	CHECK_TEXT(sample_text(sample_path("out")), "three\n");
	CHECK_TEXT(sample_text(sample_path("err")), "four\n");
	order = sample_order(4, "echo five; echo six >&2; echo seven");
	order.error_output = order.output;
	sample_run(&order);
	CHECK_TEXT(sample_text(sample_path("out")), "five\nsix\nseven\n");
	sample_close();
}

TEST(input_umask_and_descriptors_are_as_ordered)
{
	sample_open();
	struct exec_order order = sample_order(
		1, "cat; umask; ls /proc/self/fd | tr '\\n' ' '; ps -o pgid=,sid= -p $$ | "
		   "tr -s ' ' '\\n' | grep . | uniq | wc -l");
	FILE *file = fopen(sample_path("in"), "we");

	fputs("from a file\n", file);
	fclose(file);
	order.input = "in";
	order.umask = 0137;
	sample_run(&order);
	CHECK_TEXT(sample_text(sample_path("out")), "from a file\n0137\n0 1 2 3 1\n");
	struct stat info;

	CHECK_INT(stat(sample_path("out"), &info), 0);
	CHECK_INT(info.st_mode & 0777, 0640);
	sample_close();
}

TEST(the_token_is_there_while_the_job_runs)
{
	sample_open();
	struct exec_order order =
		sample_order(1, "t=${0%script}token; cat $t; stat -c ' %a %u' $t");

	order.token = "secret";
	sample_run(&order);
	char want[64];

	snprintf(want, sizeof(want), "secret 600 %u\n", geteuid());
	CHECK_TEXT(sample_text(sample_path("out")), want);
	CHECK(access(sample_path("state/jobs/1.1.token"), F_OK) < 0);
	sample_close();
}

TEST(a_job_runs_as_its_user_and_nobody_else)
{
	struct exec_order order = order_of_other(
		1, "id -u; id -g; id -G; grep -c '^Cap[IPEA].*0000000000000000$' /proc/self/status;"
		   "grep NoNewPrivs /proc/self/status; cat ${0%script}token;"
		   "cat ${0%.script}; kill -0 $PPID");
	const char *const environment[] = { "PATH=/usr/bin:/bin", NULL };

	order.environment = environment;
	sample_open();
	CHECK_INT(mkdir(sample_path("home"), 0700), 0);
	CHECK_INT(chown(sample_path("home"), (uid_t)order.uid, (gid_t)order.gid), 0);
	order.directory = sample_path("home");
	order.token = "secret\n";
	struct exec_status status = sample_run(&order);
	char want[400];

	CHECK_INT(status.how, EXEC_EXITED);
	CHECK_INT(status.exit_code, 1); /* it may not signal its supervisor */
	snprintf(want, sizeof(want), "%d\n%d\n%d\n4\nNoNewPrivs:\t0\nsecret\n", (int)order.uid,
		 (int)order.gid, (int)order.gid);
	CHECK(strncmp(sample_text(sample_path("home/out")), want, strlen(want)) == 0);
	CHECK(strstr(sample_text(sample_path("home/out")), "/1.1: Permission denied"));
	struct stat info;

	CHECK_INT(stat(sample_path("home/out"), &info), 0);
	CHECK_INT(info.st_uid, order.uid);
	sample_close();
}

TEST(a_user_cannot_write_where_only_root_may)
{
	struct exec_order order = order_of_other(1, "true");

	sample_open();
	/* straight, and by a link in a directory of the user's */
	CHECK_INT(mkdir(sample_path("root"), 0700), 0);
	order.directory = "/";
	order.output = sample_path("root/out");
	check_not_started(&order, EACCES, "Permission denied");
	CHECK_INT(mkdir(sample_path("home"), 0777), 0);
	CHECK_INT(chmod(sample_path("home"), 0777), 0);
	CHECK_INT(symlink(sample_path("root/out"), sample_path("home/out")), 0);
	order.job = 2;
	order.output = sample_path("home/out");
	check_not_started(&order, EACCES, "Permission denied");
	order.job = 3;
	order.output = NULL;
	order.checkpoint_dir = sample_path("root/saved");
	check_not_started(&order, EACCES, "cannot make its checkpoint directory");
	CHECK(access(sample_path("root/out"), F_OK) < 0);
	CHECK(access(sample_path("root/saved"), F_OK) < 0);
	order.job = 4;
	order.directory = sample_path("root");
	check_not_started(&order, EACCES, "cannot");
	sample_close();
}

TEST(a_place_of_the_service_gets_a_directory_for_the_user)
{
	struct exec_order order = order_of_other(1, "echo > \"$DIR/x\"");
	char variable[700];
	struct stat info;

	sample_open();
	CHECK_INT(mkdir(sample_path("place"), 0755), 0);
	order.checkpoint_dir = sample_path("place/1");
	order.checkpoint_place = true;
	order.output = NULL;
	snprintf(variable, sizeof(variable), "DIR=%s", order.checkpoint_dir);
	order.environment = (const char *const[]){ variable, NULL };
	struct exec_status status = sample_run(&order);

	CHECK_INT(status.exit_code, 0);
	CHECK_TEXT(status.checkpoint, sample_path("place/1/x"));
	CHECK_INT(stat(sample_path("place/1"), &info), 0);
	CHECK_INT(info.st_uid, order.uid);
	CHECK_INT(stat(sample_path("place/1.json"), &info), 0);
	CHECK_INT(info.st_uid, 0);
	sample_close();
}

TEST(a_users_preload_does_not_reach_the_supervisor)
{
	sample_open();
	struct exec_order order =
		sample_order(1, "echo $LD_LIBRARY_PATH; tr '\\0' '\\n' < /proc/$PPID/environ");
	const char *const environment[] = { "PATH=/usr/bin:/bin", "LD_LIBRARY_PATH=/mine", NULL };

	order.environment = environment;
	sample_run(&order);
	CHECK_TEXT(sample_text(sample_path("out")),
		   "/mine\nPATH=/usr/sbin:/usr/bin:/sbin:/bin\n"
		   "STRATA_LOG_FORMAT=auto\nSTRATA_LOG_LEVEL=info\n");
	sample_close();
}

TEST(only_root_acts_for_others)
{
	struct launch_user user;
	struct exec_order order = sample_order(1, "true");

	CHECK_OK(launch_user_init(&user, &order, &err));
	CHECK_INT(user.switches, geteuid() == 0);
	launch_user_fini(&user);
	if (geteuid() == 0)
		test_skip("root acts for everybody");
	order.uid = geteuid() + 1;
	CHECK_ERROR(launch_user_init(&user, &order, &err), -EPERM, "does not run as root");
}
