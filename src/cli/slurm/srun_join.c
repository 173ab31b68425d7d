/*
 * --jobid: a step of a job that srun was not called in. All nodes are on this machine, so a process
 * of the job is too: srun takes over its variables, and with them what the job is known by, so that
 * the step ends with the job; and its control group where it may.
 */
#include "cli/slurm/srun.h"

#include "cli/slurm/chosen.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENVIRON_BYTES = 4 << 20 };

static char *read_file(const char *pid, const char *name, size_t *ret_length)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%.20s/%s", pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = fd < 0 ? NULL : malloc(ENVIRON_BYTES);
	ssize_t got = text ? read(fd, text, ENVIRON_BYTES - 1) : -1;

	if (fd >= 0)
		close(fd);
	if (got <= 0) {
		free(text);
		return NULL;
	}
	text[got] = '\0';
	*ret_length = (size_t)got;
	return text;
}

static const char *find_variable(const char *text, size_t length, const char *name)
{
	size_t span = strlen(name);

	for (const char *at = text; at < text + length; at += strlen(at) + 1)
		if (strncmp(at, name, span) == 0 && at[span] == '=')
			return at + span + 1;
	return NULL;
}

/* Which job: several services on a machine have one with this number. */
struct wanted {
	const char *job;
	int64_t attempt;
	const char *socket; /* of its service; NULL: that is asked by a URL */
};

static bool is_same_file(const char *a, const char *b)
{
	struct stat left, right;

	return stat(a, &left) == 0 && stat(b, &right) == 0 && left.st_dev == right.st_dev &&
	       left.st_ino == right.st_ino;
}

static bool is_of_job(const char *text, size_t length, const struct wanted *wanted)
{
	const char *slurm = find_variable(text, length, "SLURM_JOB_ID");
	const char *own = find_variable(text, length, "STRATA_JOB_ID");
	const char *attempt = find_variable(text, length, "STRATA_ATTEMPT");
	const char *socket = find_variable(text, length, "STRATA_SOCKET");

	if (!slurm || !own || !attempt || strcmp(slurm, wanted->job) != 0 ||
	    strcmp(own, wanted->job) != 0 || strtoll(attempt, NULL, 10) != wanted->attempt ||
	    find_variable(text, length, "SLURM_STEP_ID"))
		return false;
	return !wanted->socket ||
	       (socket && (*socket != '/' || is_same_file(socket, wanted->socket)));
}

/* What tells a step of its job. */
static void take_over(const char *text, size_t length)
{
	for (const char *at = text; at < text + length; at += strlen(at) + 1) {
		size_t span = strcspn(at, "=");
		char name[128];
		bool ours = strncmp(at, "SLURM", 5) == 0 || strncmp(at, "STRATA_", 7) == 0 ||
			    strncmp(at, "CUDA_", 5) == 0;

		if (!ours || !at[span] || span >= sizeof(name))
			continue;
		memcpy(name, at, span);
		name[span] = '\0';
		setenv(name, at + span + 1, 1);
	}
}

/* Its limits count for the step then; who may not, does without. */
static void join_group(const char *pid)
{
	size_t length;
	char *text = read_file(pid, "cgroup", &length), path[4200];
	char *group = text ? strstr(text, "0::") : NULL;

	if (group) {
		group[strcspn(group, "\n")] = '\0';
		snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cgroup.procs", group + 3);
		int fd = open(path, O_WRONLY | O_CLOEXEC);

		if (fd >= 0) {
			dprintf(fd, "%d", getpid());
			close(fd);
		}
	}
	free(text);
}

static bool find_process(const struct wanted *wanted)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	bool found = false;

	while (dir && !found && (entry = readdir(dir))) {
		size_t length;
		bool number = strspn(entry->d_name, "0123456789") == strlen(entry->d_name);
		char *text = number ? read_file(entry->d_name, "environ", &length) : NULL;

		found = text && is_of_job(text, length, wanted);
		if (found) {
			take_over(text, length);
			join_group(entry->d_name);
		}
		free(text);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Does it run, and is a process of it here? */
static bool find_running(struct srun *srun, const char *job, const json_t *json)
{
	struct wanted wanted = { .job = job, .attempt = grid_int(json, "attempt") };
	struct client_place place;

	if (json_array_size(json_object_get(json, "node_names")) == 0 ||
	    service_find(srun->cli, &place))
		return false;
	wanted.socket = place.socket;
	return find_process(&wanted);
}

int srun_join(struct srun *srun)
{
	const char *job = srun->batch.job.job_id;
	struct chosen chosen;
	json_t *json = NULL;
	bool known = chosen_parse(job, &srun->cli->arena, &chosen) &&
		     slurm_batch_job(srun->cli, chosen.job, &json) == 0;
	const char *why = !known              ? "Invalid job id specified"
			  : job_ended(json)   ? "Job/step already completing or completed"
			  : find_running(srun, job, json) ? NULL
					      : "Job is pending execution";

	json_decref(json);
	if (!why) {
		srun->job_id = getenv("SLURM_JOB_ID");
		return 0;
	}
	slurm_error(srun->cli, "srun", "Unable to confirm allocation for job %s: %s", job, why);
	slurm_say(srun->cli,
		  "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job %s", job);
	return 1;
}
