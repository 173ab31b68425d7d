/* strata doctor's look at this machine: disks, directories, devices, and the process that
 * serves. */
#include "cli/doctor.h"

#include "core/env.h"
#include "engine/ort_api.h"
#include "exec/cgroup.h"
#include "machine/inventory.h"
#include "server/load.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- the store ---- */

static const char *parent(struct doctor *doctor, const char *path)
{
	const char *slash = strrchr(path, '/');

	return !slash ? "."
	       : slash == path
		       ? "/"
		       : strata_arena_text(&doctor->cli->arena, path, (size_t)(slash - path));
}

static void check_space(struct doctor *doctor, const char *check, const char *dir)
{
	enum { LITTLE_MIB = 1024, HARDLY_MIB = 128 };
	struct statvfs disk;
	char text[STRATA_FORM_BYTES];

	if (statvfs(dir, &disk))
		return; /* there is no such directory yet; others say so */
	int64_t free_bytes = (int64_t)disk.f_bavail * (int64_t)disk.f_frsize;
	enum doctor_result result = free_bytes >> 20 < HARDLY_MIB   ? DOCTOR_BAD
				    : free_bytes >> 20 < LITTLE_MIB ? DOCTOR_WARN
								    : DOCTOR_OK;

	doctor_say(doctor, result, check,
		   result ? "make room: without any the service takes no jobs" : NULL,
		   "%s are free in %s", strata_size_print_short(free_bytes, text), dir);
}

/* SQLite says in its header whether it keeps a log in front of the file. */
static bool has_log(const char *path)
{
	unsigned char header[20] = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, header, sizeof(header));

	if (fd >= 0)
		close(fd);
	return got == (ssize_t)sizeof(header) && header[18] == 2 && header[19] == 2;
}

static void check_sqlite(struct doctor *doctor, const char *path)
{
	const char *dir = parent(doctor, path);

	if (!dir)
		return;
	if (access(path, F_OK) != 0)
		doctor_say(doctor, DOCTOR_OK, "store", NULL,
			   errno == EACCES ? "%s is not for us to see"
					   : "%s is not there yet: the service makes it",
			   path);
	else if (access(path, R_OK) != 0)
		doctor_say(doctor, DOCTOR_OK, "store", NULL, "%s is not for us to read", path);
	else if (!has_log(path))
		doctor_say(doctor, DOCTOR_WARN, "store",
			   "the service sets this when it opens it; is it another's database?",
			   "%s is not in WAL mode", path);
	else
		doctor_say(doctor, DOCTOR_OK, "store", NULL, "%s is in WAL mode", path);
	if (access(path, R_OK) == 0 && (access(path, W_OK) || access(dir, W_OK)))
		doctor_say(doctor, geteuid() == 0 ? DOCTOR_BAD : DOCTOR_WARN, "store",
			   "only matters if the service runs as you", "%s cannot be written by us",
			   path);
	check_space(doctor, "disk", dir);
}

void doctor_store(struct doctor *doctor)
{
	const char *store = doctor->serve.store;

	if (strncmp(store, "postgres", 8) == 0) {
		const char *shown = conf_hide_password(store, &doctor->cli->arena);

		doctor_say(doctor, DOCTOR_OK, "store", NULL,
			   "PostgreSQL at %s; whether it is there the service knows",
			   shown ? shown : "?");
		return;
	}
	check_sqlite(doctor, strncmp(store, "sqlite:", 7) == 0 ? store + 7 : store);
}

/* ---- directories ---- */

static const char *owner_name(uid_t uid, char ret_text[32])
{
	const struct passwd *row = getpwuid(uid);

	snprintf(ret_text, 32, "%u", (unsigned)uid);
	return row ? row->pw_name : ret_text;
}

static void check_directory(struct doctor *doctor, const char *check, const char *path)
{
	struct stat status;
	char text[32];

	if (stat(path, &status)) {
		doctor_say(doctor, errno == ENOENT ? DOCTOR_OK : DOCTOR_WARN, check,
			   errno == ENOENT ? NULL : "run this as the user of the service",
			   errno == ENOENT ? "%s is not there yet: the service makes it"
					   : "%s cannot be looked at",
			   path);
		return;
	}
	if (!S_ISDIR(status.st_mode))
		doctor_say(doctor, DOCTOR_BAD, check, "name another, or move it away",
			   "%s is not a directory", path);
	else if (status.st_mode & 022)
		doctor_say(doctor, DOCTOR_BAD, check, "`chmod go-w` it", "others can write to %s",
			   path);
	else
		doctor_say(doctor, DOCTOR_OK, check, NULL, "%s belongs to %s, mode %03o", path,
			   owner_name(status.st_uid, text), (unsigned)(status.st_mode & 0777));
}

void doctor_directories(struct doctor *doctor)
{
	struct stat status;
	char text[32];

	check_directory(doctor, "state", doctor->serve.state_dir);
	check_directory(doctor, "checkpoints", doctor->serve.checkpoint_dir);
	if (stat(doctor->place.socket, &status))
		return; /* the server is not there, which was said */
	if (status.st_uid == 0)
		doctor_say(doctor, DOCTOR_OK, "users", NULL,
			   "the service is root's: everybody's jobs run as who submitted them");
	else
		doctor_say(doctor, DOCTOR_OK, "users", NULL,
			   "the service is %s's: it runs jobs of no one else",
			   owner_name(status.st_uid, text));
}

/* ---- devices ---- */

static void check_declared(struct doctor *doctor, const struct inventory *here)
{
	const struct inventory_node *machine = &here->nodes[0];
	const char *const *texts = doctor->serve.nodes.items;
	struct strata_arena *arena = &doctor->cli->arena;
	int64_t cpus = 0, memory_bytes = 0, gpus = 0, nodes = 0;
	char text[STRATA_FORM_BYTES];

	for (size_t i = 0; i < doctor->serve.nodes.count; i++) {
		const char *whole = strata_arena_printf(arena, "name=%s", texts[i]);
		struct inventory_declared node;

		if (!whole ||
		    strata_schema_defaults(&inventory_declared_schema, arena, &node, NULL) ||
		    strata_schema_read_text(&inventory_declared_schema, whole, strlen(whole), arena,
					    &node, NULL))
			return; /* the configuration is bad, which was said */
		nodes += node.count;
		cpus += node.count * (node.cpus ? node.cpus : machine->cpus);
		gpus += node.count * (node.gpus < 0 ? machine->gpu_count : node.gpus);
		memory_bytes += node.count *
				(node.memory_bytes ? node.memory_bytes : machine->memory_bytes);
	}
	bool more = cpus > machine->cpus || gpus > machine->gpu_count ||
		    memory_bytes > machine->memory_bytes;

	doctor_say(doctor, more ? DOCTOR_WARN : DOCTOR_OK, "nodes",
		   more ? "they all run here: fine to try things out, but jobs will share what "
			  "they think is theirs"
			: NULL,
		   "%" PRId64 " declared, with %" PRId64 " CPUs, %s and %" PRId64 " GPUs%s", nodes,
		   cpus, strata_size_print_short(memory_bytes, text), gpus,
		   more ? ": more than this machine has" : "");
}

void doctor_devices(struct doctor *doctor)
{
	struct inventory here;
	struct strata_error note = { 0 };
	char text[STRATA_FORM_BYTES];

	if (inventory_detect(&doctor->cli->arena, &here, &note, &doctor->cli->err)) {
		doctor_say(doctor, DOCTOR_BAD, "devices", "declare nodes in the configuration",
			   "this machine cannot be looked at: %s", doctor->cli->err.text);
		return;
	}
	const struct inventory_node *machine = &here.nodes[0];
	bool driver = access("/proc/driver/nvidia", F_OK) == 0;

	doctor_say(doctor, DOCTOR_OK, "devices", NULL, "%s has %u CPUs, %s and %u GPUs",
		   machine->name, machine->cpus,
		   strata_size_print_short(machine->memory_bytes, text), machine->gpu_count);
	if (machine->gpu_count == 0)
		doctor_say(doctor, driver ? DOCTOR_BAD : DOCTOR_OK, "GPUs",
			   driver ? "install NVIDIA's libnvidia-ml of the driver's version" : NULL,
			   "none%s%s", note.text[0] ? ": " : "", note.text);
	if (doctor->serve.nodes.count)
		check_declared(doctor, &here);
}

/* Models run without it, by the backend native; so it is a fault only where somebody has named
 * it. */
void doctor_engine(struct doctor *doctor)
{
	const struct ort *ort;
	const char *path;

	if (ort_get(&ort, &path, &doctor->cli->err) == 0)
		doctor_say(doctor, DOCTOR_OK, "onnxruntime", NULL, "ONNX Runtime %s is at %s",
			   ort->version, path);
	else
		doctor_say(doctor, getenv("STRATA_ONNXRUNTIME") ? DOCTOR_WARN : DOCTOR_OK,
			   "onnxruntime", NULL, "models run by the backend native: %s",
			   doctor->cli->err.text);
}

/* ---- the process that serves ---- */

static const char *read_proc(struct doctor *doctor, const char *name)
{
	char path[64];
	char *text;
	size_t length;

	if (doctor->pid)
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)doctor->pid, name);
	else
		snprintf(path, sizeof(path), "/proc/self/%s", name);
	return env_read_file(env_system(), AT_FDCWD, path, 1 << 16, &doctor->cli->arena, &text,
			     &length, NULL)
		       ? NULL
		       : text;
}

static void check_limits(struct doctor *doctor)
{
	enum { FEW = 4096 };
	const char *text = read_proc(doctor, "limits");
	const char *line = text ? strstr(text, "Max open files") : NULL;
	long soft = line ? strtol(line + strlen("Max open files"), NULL, 10) : -1;

	if (soft < 0)
		return;
	doctor_say(doctor, soft < FEW ? DOCTOR_WARN : DOCTOR_OK, "open files",
		   soft < FEW ? "raise it (LimitNOFILE= of the unit, ulimit -n): connections and "
				"jobs need some each"
			      : NULL,
		   "%s may have %ld", doctor->pid ? "the service" : "a service started from here",
		   soft);
}

/* The directory of the control group that jobs' groups would be made in; NULL: none of the second
 * version, or not ours to write. */
static const char *own_group(struct doctor *doctor)
{
	static const char *const mounts[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	const char *text = read_proc(doctor, "cgroup");
	const char *line = text ? strstr(text, "0::") : NULL;

	for (size_t i = 0; line && i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		const char *dir = strata_arena_printf(&doctor->cli->arena, "%s%.*s", mounts[i],
						      (int)strcspn(line + 3, "\n"), line + 3);
		const char *procs =
			dir ? strata_arena_printf(&doctor->cli->arena, "%s/cgroup.procs", dir)
			    : NULL;

		if (procs && access(procs, W_OK) == 0)
			return dir;
	}
	return NULL;
}

/* What is kept is what matters; that there are control groups is not the same. */
static void check_job_limits(struct doctor *doctor)
{
	struct cgroup_support support = cgroup_support(NULL);
	char text[256];
	const char *limits = doctor->limits;

	/* as a service started from here would have it, without a setting of its own */
	if (!limits) {
		support.groups = own_group(doctor) != NULL;
		cgroup_support_print(&support, text, sizeof(text));
		limits = text;
	}
	bool kept = strstr(limits, "memory: kept") || strstr(limits, "Slurm");

	doctor_say(doctor, kept ? DOCTOR_OK : DOCTOR_WARN, "job limits",
		   kept ? NULL
			: "for limits that the kernel keeps, give it a cgroup v2 directory with "
			  "controllers: executor = local:cgroup=/sys/fs/cgroup/strata",
		   "%s", limits);
}

/* After an upgrade the old program runs on until the service is restarted. */
static void check_program(struct doctor *doctor)
{
	char link[64], path[PATH_MAX];

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)doctor->pid);
	ssize_t length = doctor->pid ? readlink(link, path, sizeof(path) - 1) : -1;

	if (length < 0)
		return;
	path[length] = '\0';
	if (strstr(path, " (deleted)"))
		doctor_say(doctor, DOCTOR_WARN, "program",
			   "restart it when it suits: jobs go on meanwhile",
			   "the service runs a file that was replaced since");
}

void doctor_process(struct doctor *doctor)
{
	const char *supervisor = load_find_supervisor(&doctor->cli->arena);
	bool small = supervisor && strstr(supervisor, "strata-supervisor");

	doctor_say(doctor, small ? DOCTOR_OK : DOCTOR_WARN, "supervisor",
		   small ? NULL
			 : "install strata-supervisor beside the program or in libexec/strata: it "
			   "is smaller",
		   "jobs are started by %s", supervisor ? supervisor : "nothing");
	check_limits(doctor);
	check_job_limits(doctor);
	check_program(doctor);
}
