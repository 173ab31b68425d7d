/* What every executor must keep. */
#include "test.h"

#include "exec/exec_kubernetes.h"
#include "exec/exec_slurm.h"

#include <strata/text.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

/* Slurm is one of a few lines here: tests/fake_slurm. */
static void prepare_slurm(struct slurm_conf *conf)
{
	static const char *const names[] = { "sacct",    "sbatch", "scancel",
					     "scontrol", "sinfo",  "squeue" };
	const char *source = getenv("STRATA_SOURCE") ? getenv("STRATA_SOURCE") : ".";
	char from[PATH_MAX], to[PATH_MAX], path[PATH_MAX];

	snprintf(from, sizeof(from), "%s/tests/fake_slurm", source);
	CHECK(realpath(from, path));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(to, sizeof(to), "%s/%s", test_temp_dir(), names[i]);
		unlink(to);
		CHECK_INT(symlink(path, to), 0);
	}
	conf->bin = test_temp_dir();
	conf->poll_ns = 50 * STRATA_MS_NS;
}

static FILE *cluster;

/* A Kubernetes cluster of one node, whose kubelet runs processes: tests/fake_kubernetes. No child of
 * ours, since the test waits for all of those; it ends when its input does. */
static void prepare_kubernetes(struct kubernetes_conf *conf)
{
	const char *source = getenv("STRATA_SOURCE") ? getenv("STRATA_SOURCE") : ".";
	char command[2 * PATH_MAX];
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/kubeconfig", test_temp_dir());
	unlink(path);
	snprintf(command, sizeof(command), "exec 3<&0; %s/tests/fake_kubernetes %s <&3 3<&- &",
		 source, test_temp_dir());
	cluster = popen(command, "w");
	CHECK(cluster);
	for (int i = 0; i < 1000 && access(path, F_OK) < 0; i++)
		usleep(20000);
	CHECK_INT(access(path, F_OK), 0);
	conf->kubeconfig = path;
	conf->image = "none";
}

static void each_class(void (*check)(const struct exec_class *cls, const void *conf))
{
	for (const struct strata_class *const *at = exec_kind.classes; *at; at++) {
		strata_arena_init(&arena, &memory, 0);
		const struct strata_schema schema = { .name = (*at)->name,
						      .conf_size = (*at)->conf_size,
						      .options = (*at)->options };
		void *conf = strata_arena_get(&arena, (*at)->conf_size);

		CHECK_OK(strata_schema_defaults(&schema, &arena, conf, &err));
		if (*at == &exec_slurm.base)
			prepare_slurm(conf);
		if (*at == &exec_kubernetes.base)
			prepare_kubernetes(conf);
		check((const struct exec_class *)*at, conf);
		if (*at == &exec_kubernetes.base)
			pclose(cluster);
		strata_arena_fini(&arena);
		CHECK_INT(memory.used_bytes, 0);
	}
}

static void well_formed(const struct exec_class *cls, const void *conf)
{
	(void)conf;
	CHECK_OK(strata_class_check(&cls->base, &err));
	CHECK(cls->base.summary[0] && cls->base.summary[strlen(cls->base.summary) - 1] != '.');
	CHECK(cls->open && cls->close && cls->fd && cls->next && cls->start && cls->control &&
	      cls->scan && cls->adopt && cls->forget);
	cls->close(NULL);
}

TEST(executors_are_well_formed)
{
	each_class(well_formed);
}

static struct exec *open_one(const struct exec_class *cls, const void *conf, int64_t epoch)
{
	char program[600], state[600];
	struct exec *exec;

	snprintf(program, sizeof(program), "%s/strata",
		 getenv("STRATA_BUILD") ? getenv("STRATA_BUILD") : "build");
	snprintf(state, sizeof(state), "%s/%s", test_temp_dir(), cls->base.name);
	CHECK_OK(cls->open(conf,
			   &(struct exec_open){ .env = env_system(),
						.memory = &memory,
						.state_dir = state,
						.epoch = epoch,
						.supervisor = program },
			   &exec, &err));
	CHECK(exec->cls == cls);
	return exec;
}

static struct exec_order small_order(int64_t job)
{
	static const char *const environment[] = { "PATH=/bin", NULL };

	return (struct exec_order){ .job = job,
				    .attempt = 1,
				    .user = geteuid() ? "" : "root",
				    .uid = geteuid(),
				    .gid = getegid(),
				    .directory = "/",
				    .script = "#!/bin/sh\nexit 3\n",
				    .script_bytes = 17,
				    .environment = environment,
				    .time_limit_ns = STRATA_MINUTE_NS };
}

static struct exec_status await_end(struct exec *exec, uint64_t job)
{
	for (;;) {
		struct pollfd waiting = { exec->cls->fd(exec), POLLIN, 0 };
		struct exec_event event;
		int rc = exec->cls->next(exec, &event, &err);

		CHECK(rc >= 0);
		if (rc == 1 && event.type == EXEC_ENDED) {
			CHECK_INT(event.key.job, job);
			return event.status;
		}
		if (rc == 0)
			CHECK_INT(poll(&waiting, 1, 20000), 1);
	}
}

/* Started, ended, found by a later leader, reported again until forgotten. */
static void lives_to_be_forgotten(const struct exec_class *cls, const void *conf)
{
	struct exec *exec = open_one(cls, conf, 1);
	struct exec_order order = small_order(4);
	struct exec_found *found;
	size_t count;

	CHECK_OK(cls->start(exec, &order, &err));
	CHECK_INT(cls->start(exec, &order, &err), -EEXIST);
	CHECK_INT(await_end(exec, 4).exit_code, 3);
	cls->close(exec);
	exec = open_one(cls, conf, 2);
	CHECK_OK(cls->scan(exec, &arena, &found, &count, &err));
	CHECK_INT(count, 1);
	CHECK(found[0].key.job == 4 && found[0].key.attempt == 1 && found[0].ended);
	CHECK_OK(cls->adopt(exec, found[0].key, &err));
	CHECK_INT(await_end(exec, 4).exit_code, 3);
	CHECK_OK(cls->control(exec, found[0].key, &(struct exec_control){ .type = EXEC_FREEZE },
			      &err));
	CHECK_OK(cls->forget(exec, found[0].key, &err));
	CHECK_INT(cls->adopt(exec, found[0].key, &err), -ENOENT);
	CHECK_OK(cls->scan(exec, &arena, &found, &count, &err));
	CHECK_INT(count, 0);
	cls->close(exec);
	while (waitpid(-1, NULL, 0) > 0) /* supervisors of the first leader */
		;
}

TEST(an_attempt_lives_on_disk_until_it_is_forgotten)
{
	each_class(lives_to_be_forgotten);
}
