/*
 * What a job takes from where it is submitted, because its options say so: nodes and variables from
 * files, the variables of a login, resource limits, somebody else's name. It is done before the
 * service is asked for anything, since the service knows who asks by the socket.
 */
#include "cli/slurm/jobs.h"
#include "cli/slurm/slurm_batch.h"

#include "core/env.h"
#include "exec/environment.h"

#include <strata/limits.h>
#include <strata/slurm.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- --clusters ---- */

bool slurm_cluster_known(struct cli *cli, const char *command, const char *list)
{
	json_t *session = NULL;
	bool known = false;

	if (!list)
		return true;
	if (service_list(cli, "session", &session) == 0) {
		const char *own = grid_or(json_object_get(session, "cluster"), "");

		known = strcasecmp(list, "all") == 0 || slurm_listed(list, own);
	}
	json_decref(session);
	if (known)
		return true;
	slurm_error(cli, command, "No cluster '%s' known by database.", list);
	slurm_error(cli, command,
		    "'%s' can't be reached now, or it is an invalid entry for --cluster.  Use "
		    "'sacctmgr list clusters' to see available clusters.",
		    list);
	return false;
}

void slurm_print_cluster(struct cli *cli, const char *clusters)
{
	json_t *session = NULL;

	if (clusters && service_list(cli, "session", &session) == 0)
		cli_printf(cli, "CLUSTER: %s\n",
			   grid_or(json_object_get(session, "cluster"), "strata"));
	json_decref(session);
}

/* ---- files ---- */

static int read_whole(struct batch *batch, const char *path, char **ret_text, size_t *ret_length)
{
	return env_read_file(env_system(), AT_FDCWD, path, STRATA_SCRIPT_BYTES_MAX,
			     &batch->cli->arena, ret_text, ret_length, &batch->cli->err);
}

/* Names between blanks, commas and lines. */
static int take_nodefile(struct batch *batch)
{
	struct strata_sbatch *job = &batch->job;
	char *text;
	const char **names;
	size_t length, count;

	if (!job->nodefile)
		return 0;
	if (read_whole(batch, job->nodefile, &text, &length)) {
		slurm_error(batch->cli, batch->program,
			    "slurm_allocate_resources error opening file %s, %s", job->nodefile,
			    strerror(-batch->cli->err.code));
		slurm_error(batch->cli, batch->program, "Invalid --nodefile node file");
		return 255;
	}
	while (length && strchr(" \t\r\n,", text[length - 1]))
		text[--length] = '\0';
	for (size_t i = 0; i < length; i++)
		if (strchr(" \t\r\n", text[i]))
			text[i] = ',';
	if (strata_hostlist_expand(text, STRATA_TEXT_NUL, &batch->cli->arena, &names, &count, NULL))
		return slurm_batch_refuse(batch, "Invalid node name specified");
	job->nodelist = text;
	job->nodefile = NULL;
	if ((int64_t)count > job->nodes)
		job->nodes = (int64_t)count;
	if (!job->tasks_given && job->tasks < job->nodes)
		job->tasks = job->nodes;
	return 0;
}

/* NAME=value, a NUL behind each: then these are all that there are. */
static int take_export_file(struct batch *batch)
{
	struct strata_sbatch *job = &batch->job;
	char *text;
	size_t length, count = 0;

	if (!job->export_file)
		return 0;
	if (read_whole(batch, job->export_file, &text, &length)) {
		slurm_error(batch->cli, batch->program, "Unable to open file %s", job->export_file);
		return 1;
	}
	job->export_items =
		strata_arena_array(&batch->cli->arena, length + 1, sizeof(*job->export_items));
	for (char *at = text; job->export_items && at < text + length; at += strlen(at) + 1)
		if (strchr(at, '='))
			job->export_items[count++] = at;
	job->export_count = count;
	job->export_mode = STRATA_SBATCH_EXPORT_NONE;
	job->export_file = NULL;
	return 0;
}

/* ---- the login's variables ---- */

/* What a login shell has in its environment, NAME=value and a NUL each; NULL: it says nothing. */
static const char *ask_login(struct cli *cli, const struct passwd *user, size_t *ret_length)
{
	char home[4200], name[300], logname[300];
	struct buf buf;
	const char *const argv[] = { user->pw_shell, "-l", "-c", "exec env -0", NULL };
	const char *const envp[] = { home, name, logname, "PATH=/usr/local/bin:/usr/bin:/bin",
				     NULL };
	int ends[2];

	snprintf(home, sizeof(home), "HOME=%s", user->pw_dir);
	snprintf(name, sizeof(name), "USER=%s", user->pw_name);
	snprintf(logname, sizeof(logname), "LOGNAME=%s", user->pw_name);
	if (pipe2(ends, O_CLOEXEC))
		return NULL;
	const struct env_command command = {
		.program = user->pw_shell, .argv = argv, .envp = envp, .fds = { -1, ends[1], -1 }
	};
	struct env_process process;
	struct env_exit end;
	char part[65536];
	ssize_t got;
	int rc = env_spawn(env_system(), &command, &process, NULL);

	close(ends[1]);
	buf_init(&buf, &cli->memory, STRATA_SCRIPT_BYTES_MAX);
	while (rc == 0 && (got = read(ends[0], part, sizeof(part))) > 0)
		buf_add_bytes(&buf, part, (size_t)got);
	close(ends[0]);
	if (rc == 0) {
		env_wait(env_system(), &process, true, &end, NULL);
		env_process_close(env_system(), &process);
	}
	const char *text =
		buf_check(&buf, NULL) ? NULL : strata_arena_text(&cli->arena, buf.text, buf.length);

	*ret_length = buf.length;
	buf_fini(&buf);
	return text;
}

/* They are put over the caller's own. */
static int take_login(struct batch *batch)
{
	struct strata_arena *arena = &batch->cli->arena;
	const struct passwd *user = getpwuid(geteuid());
	size_t length = 0, count = 0, used = 0;

	if (!batch->job.get_user_env)
		return 0;
	batch->job.get_user_env = false;
	const char *text = user ? ask_login(batch->cli, user, &length) : NULL;

	for (const char *at = text; at && at < text + length; at += strlen(at) + 1)
		count++;
	if (!count) {
		slurm_error(batch->cli, batch->program,
			    "Unable to get user's local environment, running only with passed "
			    "environment");
		return 0;
	}
	for (const char *const *env = batch->caller.env; env && *env; env++)
		count++;
	const char **all = strata_arena_array(arena, count + 1, sizeof(*all));

	if (!all)
		return slurm_batch_refuse(batch, "out of memory");
	for (const char *const *env = batch->caller.env; env && *env; env++)
		all[used++] = *env; /* of two of one name the last counts */
	for (const char *at = text; at < text + length; at += strlen(at) + 1)
		all[used++] = at;
	batch->caller.env = all;
	return 0;
}

/* ---- resource limits ---- */

static const struct {
	const char *name;
	int resource;
} limits[] = {
	{ "AS", RLIMIT_AS },         { "CORE", RLIMIT_CORE },   { "CPU", RLIMIT_CPU },
	{ "DATA", RLIMIT_DATA },     { "FSIZE", RLIMIT_FSIZE }, { "MEMLOCK", RLIMIT_MEMLOCK },
	{ "NOFILE", RLIMIT_NOFILE }, { "NPROC", RLIMIT_NPROC }, { "RSS", RLIMIT_RSS },
	{ "STACK", RLIMIT_STACK },
};

static bool is_named(const char *list, const char *name)
{
	for (const char *at = list; *at;) {
		size_t span = strcspn(at, ",");

		if (strlen(name) == span && strncasecmp(at, name, span) == 0)
			return true;
		at += span + (at[span] == ',');
	}
	return false;
}

bool slurm_batch_add_limits(const struct batch *batch, json_t *map)
{
	const char *list = batch->limits;

	for (size_t i = 0; list && i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct rlimit limit;
		char name[64];

		if ((!is_named(list, "ALL") && !is_named(list, limits[i].name)) ||
		    is_named(list, "NONE") ||
		    getrlimit((__rlimit_resource_t)limits[i].resource, &limit))
			continue;
		snprintf(name, sizeof(name), ENVIRONMENT_LIMIT "%s", limits[i].name);
		json_t *value = limit.rlim_cur == RLIM_INFINITY
					? json_string("unlimited")
					: json_sprintf("%llu", (unsigned long long)limit.rlim_cur);

		if (json_object_set_new(map, name, value))
			return false;
	}
	return true;
}

/* ---- somebody else ---- */

static int refuse_user(struct batch *batch, const char *option, const char *value)
{
	slurm_error(batch->cli, batch->program, "Invalid --%s specification", option);
	slurm_batch_note(batch, "there is no %s '%.60s' here",
			 strcmp(option, "uid") ? "group" : "user", value);
	return 255;
}

/* Only root may: the service takes the word of the socket for who it is. */
static int become(struct batch *batch)
{
	const struct strata_sbatch *job = &batch->job;
	const struct passwd *user = NULL;
	const struct group *group = NULL;
	int64_t number;

	if (job->uid)
		user = strata_int_parse(job->uid, STRATA_TEXT_NUL, 0, UINT32_MAX, &number, NULL)
			       ? getpwnam(job->uid)
			       : getpwuid((uid_t)number);
	if (job->gid)
		group = strata_int_parse(job->gid, STRATA_TEXT_NUL, 0, UINT32_MAX, &number, NULL)
				? getgrnam(job->gid)
				: getgrgid((gid_t)number);
	if (job->uid && !user)
		return refuse_user(batch, "uid", job->uid);
	if (job->gid && !group)
		return refuse_user(batch, "gid", job->gid);
	uid_t uid = user ? user->pw_uid : geteuid();
	gid_t gid = group ? group->gr_gid : user ? user->pw_gid : getegid();

	if (uid == geteuid() && gid == getegid())
		return 0;
	if (geteuid() != 0) {
		slurm_error(batch->cli, batch->program, "%s only permitted by root user",
			    job->uid ? "--uid" : "--gid");
		return 255;
	}
	if ((user && initgroups(user->pw_name, gid)) || setresgid(gid, gid, gid) ||
	    setresuid(uid, uid, uid)) {
		slurm_error(batch->cli, batch->program, "cannot become %s: %s",
			    job->uid ? job->uid : job->gid, strerror(errno));
		return 1;
	}
	return 0;
}

int slurm_batch_take_own(struct batch *batch)
{
	int code = take_nodefile(batch);

	if (code == 0)
		code = take_export_file(batch);
	if (code == 0)
		code = become(batch);
	batch->job.uid = batch->job.gid = NULL;
	if (code == 0)
		code = take_login(batch);
	batch->limits = batch->job.propagate;
	batch->job.propagate = NULL;
	if (code == 0 && !slurm_cluster_known(batch->cli, batch->program, batch->job.clusters))
		code = 1;
	return code;
}
