/*
 * Starting a job's first process; launch.h says with whose rights. Acting as the user means the
 * file-system identity of setfsuid: the kernel then checks files as for that user, while nobody can
 * signal or trace us as if we were them.
 */
#include "exec/launch.h"

#include "core/env_path.h"
#include "exec/environment.h"
#include "exec/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- the user ---- */

static int find_groups(struct launch_user *user, const char *name, struct strata_error *err)
{
	enum { FIRST = 64, MOST = 65536 };

	for (int room = FIRST; room <= MOST; room *= 4) {
		int count = room;
		gid_t *groups = malloc((size_t)room * sizeof(*groups));

		if (!groups)
			return strata_fail_memory(err);
		if (getgrouplist(name, user->gid, groups, &count) >= 0) {
			user->groups = groups;
			user->group_count = (size_t)count;
			return 0;
		}
		free(groups);
	}
	return strata_fail(err, -E2BIG, "user %s is in more than 65536 groups", name);
}

int launch_user_init(struct launch_user *user, const struct exec_order *order,
		     struct strata_error *err)
{
	*user = (struct launch_user){ .uid = (uid_t)order->uid, .gid = (gid_t)order->gid };
	if (geteuid() != 0) {
		if (user->uid == geteuid())
			return 0;
		return strata_fail(err, -EPERM,
				   "the service does not run as root, so it runs jobs of user %u "
				   "only, not of %u",
				   geteuid(), user->uid);
	}
	int rc = find_groups(user, order->user ? order->user : "", err);

	if (rc)
		return rc;
	if (setgroups(user->group_count, user->groups) < 0) {
		rc = strata_fail(err, -errno, "cannot take on the groups of user %u: %s", user->uid,
				 strerror(errno));
		launch_user_fini(user);
		return rc;
	}
	user->switches = true;
	return 0;
}

void launch_user_fini(struct launch_user *user)
{
	free(user->groups);
	user->groups = NULL;
}

void launch_as_user_begin(const struct launch_user *user)
{
	if (user->switches)
		env_as_user_begin(user->uid, user->gid);
}

void launch_as_user_end(const struct launch_user *user)
{
	if (user->switches)
		env_as_user_end();
}

/* ---- files ---- */

static int open_file(int cwd, const char *path, int flags, const char *what, int *ret_fd,
		     struct strata_error *err)
{
	struct strata_error why = { 0 };
	int fd = env_path_open(cwd, path ? path : "/dev/null", ENV_PATH_FILE, flags, 0666, &why);

	if (fd < 0)
		return strata_fail(err, fd, "cannot open its %s file %.200s: %s", what, path,
				   fd == -ENOENT && flags & O_CREAT ? "its directory does not exist"
								    : why.text);
	*ret_fd = fd;
	return 0;
}

static int open_files(int cwd, const struct exec_order *order, int fds[3], struct strata_error *err)
{
	int flags = O_WRONLY | O_CREAT | (order->append ? O_APPEND : O_TRUNC);
	bool shared = !order->error_output ||
		      (order->output && strcmp(order->output, order->error_output) == 0);
	int rc = open_file(cwd, order->input, O_RDONLY, "input", &fds[0], err);

	if (rc == 0)
		rc = open_file(cwd, order->output, flags, "output", &fds[1], err);
	if (rc == 0 && shared) {
		fds[2] = fcntl(fds[1], F_DUPFD_CLOEXEC, 0);
		rc = fds[2] < 0 ? strata_fail(err, -errno, "no descriptor: %s", strerror(errno))
				: 0;
	} else if (rc == 0) {
		rc = open_file(cwd, order->error_output, flags, "error", &fds[2], err);
	}
	return rc;
}

/* Makes it, or finds it, and gives it to the user: by its descriptor, since a name may be
 * exchanged. 0 or an errno. */
static int make_place(const char *path, const struct launch_user *user)
{
	struct stat info;
	bool made = mkdir(path, 0700) == 0;

	if (!made && errno != EEXIST)
		return errno;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int code = fd < 0 || fstat(fd, &info) < 0 ? errno : 0;

	if (code == 0 && user->switches && made)
		code = fchown(fd, user->uid, user->gid) < 0 ? errno : 0;
	else if (code == 0 && user->switches && info.st_uid != user->uid)
		code = EEXIST;
	if (fd >= 0)
		close(fd);
	return code;
}

/* In a place of the service's the user cannot make it, anywhere else we must not do so with more
 * rights than theirs. */
int launch_make_checkpoint_dir(const struct exec_order *order, const struct launch_user *user,
			       struct strata_error *err)
{
	int code;

	if (order->checkpoint_place) {
		code = make_place(order->checkpoint_dir, user);
	} else {
		launch_as_user_begin(user);
		code = mkdir(order->checkpoint_dir, 0700) < 0 && errno != EEXIST ? errno : 0;
		launch_as_user_end(user);
	}
	if (code)
		return strata_fail(err, -code, "cannot make its checkpoint directory %.200s: %s",
				   order->checkpoint_dir,
				   code == EEXIST ? "there is one of another user's"
						  : strerror(code));
	return 0;
}

/* A file of the user's in our directory, which users cannot write to: the script, the token. */
int launch_write_beside(int jobs, const char *path, const struct launch_file *file,
			const struct launch_user *user, struct strata_error *err)
{
	char name[RECORD_NAME_BYTES + 16];
	const char *slash = strrchr(path, '/'), *bytes = file->bytes;
	size_t count = file->count;

	snprintf(name, sizeof(name), "%s%s", slash ? slash + 1 : path, file->ending);
	int fd = openat(jobs, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			file->mode);
	int code = fd < 0 ? errno : 0;

	for (ssize_t done; code == 0 && count; bytes += done, count -= (size_t)done) {
		done = write(fd, bytes, count);
		code = done < 0 ? errno : done == 0 ? EIO : 0;
	}
	if (code == 0 && (fchmod(fd, file->mode) < 0 ||
			  (user->switches && fchown(fd, user->uid, user->gid) < 0)))
		code = errno;
	if (fd >= 0)
		close(fd);
	return code ? strata_fail(err, -code, "cannot give it its %s: %s", file->ending + 1,
				  strerror(code))
		    : 0;
}

void launch_tidy_script(int jobs, const char *name)
{
	static const char *const endings[] = { JOURNAL_SCRIPT, JOURNAL_ENVIRONMENT };
	char path[RECORD_NAME_BYTES + 16];

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", name, endings[i]);
		unlinkat(jobs, path, 0);
	}
}

void launch_tidy(int jobs, const char *name)
{
	static const char *const endings[] = { JOURNAL_TOKEN, JOURNAL_SAMPLES };
	char path[RECORD_NAME_BYTES + 16];

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", name, endings[i]);
		unlinkat(jobs, path, 0);
	}
	launch_tidy_script(jobs, name);
}

/* ---- the process ---- */

/* Capabilities that a daemon was given to pass on are not for jobs. */
static void drop_inherited(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2];

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capget, &header, sets) < 0)
		return;
	sets[0].inheritable = sets[1].inheritable = 0;
	syscall(SYS_capset, &header, sets);
}

/* Where a program without a slash is looked for: on the job's own PATH, by the job's own
 * process. */
static const char *search_of(const struct exec_order *order)
{
	const char *path = environment_find(order->environment, "PATH");

	return path ? path : "/usr/local/bin:/usr/bin:/bin";
}

/* ---- resource limits ---- */

enum { LIMITS_MAX = 16 };

/* Those that the job takes over from where it was submitted. */
static size_t find_limits(const char *const *environment, struct env_limit limits[LIMITS_MAX])
{
	static const struct {
		const char *name;
		int resource;
	} all[] = {
		{ "AS", RLIMIT_AS },         { "CORE", RLIMIT_CORE },
		{ "CPU", RLIMIT_CPU },       { "DATA", RLIMIT_DATA },
		{ "FSIZE", RLIMIT_FSIZE },   { "MEMLOCK", RLIMIT_MEMLOCK },
		{ "NOFILE", RLIMIT_NOFILE }, { "NPROC", RLIMIT_NPROC },
		{ "RSS", RLIMIT_RSS },       { "STACK", RLIMIT_STACK },
	};
	size_t count = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char name[32];

		snprintf(name, sizeof(name), ENVIRONMENT_LIMIT "%s", all[i].name);
		const char *text = environment_find(environment, name);
		char *end;

		if (!text || !*text)
			continue;
		uint64_t value = strcmp(text, "unlimited") == 0 ? UINT64_MAX
								: strtoull(text, &end, 10);

		if (value == UINT64_MAX || !*end)
			limits[count++] = (struct env_limit){ all[i].resource, value };
	}
	return count;
}

/* What a job's first process is given. */
struct given {
	int fds[3]; /* its files */
	int cwd;    /* its directory */
};

static int spawn(const struct launch_conf *conf, const struct given *given, int cgroup,
		 struct env_process *ret_process, struct strata_error *err)
{
	const struct exec_order *order = conf->order;
	const struct launch_user *user = conf->user;
	char script[PATH_MAX + 16];
	const char *program = order->script ? script : order->program;
	const struct env_identity identity = { user->uid, user->gid, user->groups,
					       user->group_count };
	const char **argv = calloc(order->arguments.count + 2, sizeof(*argv));
	struct env_limit limits[LIMITS_MAX];

	if (!argv)
		return strata_fail_memory(err);
	snprintf(script, sizeof(script), "%s%s", conf->path, JOURNAL_SCRIPT);
	argv[0] = program;
	if (order->arguments.count)
		memcpy(argv + 1, order->arguments.items, order->arguments.count * sizeof(*argv));
	const struct env_command command = {
		.program = program,
		.search = strchr(program, '/') ? NULL : search_of(order),
		.argv = argv,
		.envp = order->environment,
		.cwd = order->directory,
		.cwd_fd = given->cwd,
		.fds = { given->fds[0], given->fds[1], given->fds[2] },
		.new_session = true,
		.die_with_parent = true,
		.identity = user->switches ? &identity : NULL,
		.limits = limits,
		.limit_count = find_limits(order->environment, limits),
		.cgroup = cgroup,
	};
	int rc = env_spawn(conf->env, &command, ret_process, err);

	free(argv);
	return rc;
}

/* Born in its group; or, where the kernel cannot do that, of a parent who goes there and comes
 * back. */
static int spawn_in(const struct launch_conf *conf, const struct given *given,
		    struct env_process *ret_process, struct strata_error *err)
{
	const struct cgroup *cgroup = conf->cgroup;
	int rc = spawn(conf, given, cgroup->dir > 0 ? cgroup->dir : 0, ret_process, err);

	if (rc != -ENOTSUP || cgroup->dir <= 0)
		return rc;
	rc = cgroup_enter(cgroup, err);
	if (rc == 0)
		rc = spawn(conf, given, 0, ret_process, err);
	cgroup_enter_supervisors(conf->order->cgroup, NULL);
	return rc;
}

static int prepare(const struct launch_conf *conf, struct given *given, struct strata_error *err)
{
	const struct exec_order *order = conf->order;
	const struct launch_user *user = conf->user;
	const char *directory = order->directory ? order->directory : "/";
	const struct launch_file token = { JOURNAL_TOKEN, order->token,
					   order->token ? strlen(order->token) : 0, 0600 };
	const struct launch_file script = { JOURNAL_SCRIPT, order->script, order->script_bytes,
					    0500 };
	struct strata_error why = { 0 };
	int rc = token.bytes ? launch_write_beside(conf->jobs, conf->path, &token, user, err) : 0;

	if (rc == 0 && script.bytes)
		rc = launch_write_beside(conf->jobs, conf->path, &script, user, err);
	if (rc == 0 && order->checkpoint_dir)
		rc = launch_make_checkpoint_dir(order, user, err);
	if (rc)
		return rc;
	launch_as_user_begin(user);
	given->cwd = env_path_open(AT_FDCWD, directory, ENV_PATH_DIR, O_PATH, 0, &why);
	rc = given->cwd < 0 ? strata_fail(err, given->cwd, "cannot enter its directory %.200s: %s",
					  directory, why.text)
			    : open_files(given->cwd, order, given->fds, err);
	launch_as_user_end(user);
	return rc;
}

int launch_start(const struct launch_conf *conf, struct launch *ret_launch,
		 struct strata_error *err)
{
	struct launch launch = { .message_fd = -1 };
	struct given given = { { -1, -1, -1 }, -1 };
	struct stat info;

	umask((mode_t)conf->order->umask);
	drop_inherited();
	int rc = prepare(conf, &given, err);

	if (rc == 0)
		rc = spawn_in(conf, &given, &launch.process, err);
	if (rc == 0 && fstat(given.fds[2], &info) == 0 && S_ISREG(info.st_mode)) {
		launch.message_fd = given.fds[2];
		given.fds[2] = -1;
	}
	for (int i = 0; i < 3; i++)
		if (given.fds[i] >= 0)
			close(given.fds[i]);
	if (given.cwd >= 0)
		close(given.cwd);
	umask(0077); /* our own files are nobody's business */
	if (rc == 0)
		*ret_launch = launch;
	return rc;
}
