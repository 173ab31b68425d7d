/* The making and taking away of load.h: classes, cluster, nodes, executor, what the store has; in
 * this order. */
#include "server/advances.h"
#include "server/load.h"

#include "server/descriptors.h"
#include "server/live.h"
#include "server/nodes.h"
#include "server/parked.h"
#include "server/entities.h"
#include "server/figures.h"
#include "server/recorder.h"
#include "server/recover.h"
#include "server/remote.h"
#include "server/reservation.h"
#include "server/tasks.h"
#include "server/webhooks.h"
#include "server/workers.h"

#include <strata/limits.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

static int read_spec(struct decider *decider, size_t index, const struct strata_kind *kind,
		     const char *text, struct strata_spec *ret_spec, struct strata_error *err)
{
	int rc = conf_registry(decider->conf, kind, &decider->memory, &decider->registries[index],
			       err);

	return rc ? rc
		  : strata_spec_read(decider->registries[index], text, strlen(text),
				     &decider->confs, ret_spec, err);
}

/* Jobs that give way are frozen only where they can be. */
static int check_preempt(const struct decider *decider, const struct strata_spec *victims,
			 struct strata_error *err)
{
	const struct exec_class *exec = (const struct exec_class *)decider->exec_spec.cls;
	const struct strata_option *at = victims->cls ? victims->cls->options : NULL;
	int mode;

	for (; exec->only_stops && at && at->name; at++) {
		if (strcmp(at->name, "mode") != 0 || at->type != STRATA_ENUM)
			continue;
		memcpy(&mode, (const char *)victims->conf + at->offset, sizeof(mode));
		if (mode == STRATA_STOP_SUSPEND)
			return strata_fail_at(
				err, -EINVAL, "preempt",
				"preempt: mode=suspend freezes jobs, which executor = "
				"%s cannot do; use mode=requeue or mode=cancel",
				exec->base.name);
	}
	return 0;
}

static int open_cluster(struct decider *decider, bool lead, struct strata_error *err)
{
	const struct server_conf *conf = decider->conf;
	struct strata_cluster_conf cluster = { .half_life_ns = conf->half_life_ns,
					       .checkpoint_bytes_max = conf->checkpoint_bytes_max };
	int rc = read_spec(decider, 0, &strata_order_kind, conf->order, &cluster.order, err);

	if (rc == 0)
		rc = read_spec(decider, 1, &strata_placement_kind, conf->placement,
			       &cluster.placement, err);
	if (rc == 0)
		rc = read_spec(decider, 2, &strata_backfill_kind, conf->backfill, &cluster.backfill,
			       err);
	if (rc == 0)
		rc = read_spec(decider, 3, &strata_prediction_kind, conf->predict,
			       &cluster.prediction, err);
	if (rc == 0 && strcmp(conf->preempt, "none") != 0)
		rc = read_spec(decider, 4, &strata_victims_kind, conf->preempt, &cluster.victims,
			       err);
	decider->victims = cluster.victims.conf;
	if (rc == 0)
		rc = read_spec(decider, 5, &exec_kind, conf->executor, &decider->exec_spec, err);
	if (rc == 0)
		rc = check_preempt(decider, &cluster.victims, err);
	if (rc == 0 && lead)
		rc = recorder_open(decider, &cluster, err);
	if (rc == 0)
		rc = strata_cluster_new(&cluster, &decider->memory, &decider->cluster, err);
	if (rc == 0 && ((const struct exec_class *)decider->exec_spec.cls)->keeps_descriptors)
		strata_cluster_set_jobs_max(decider->cluster, descriptors_own().jobs);
	if (rc == 0)
		rc = conf_registry(conf, &strata_policy_kind, &decider->memory, &decider->policies,
				   err);
	if (rc == 0)
		rc = strata_spec_read(decider->policies, conf->pool_policy,
				      strlen(conf->pool_policy), &decider->confs, &decider->policy,
				      err);
	decider->rules.time_limit_ns = conf->time_limit_ns;
	decider->rules.time_limit_ns_max = conf->time_limit_ns_max;
	return rc ? rc : nodes_open(decider, err);
}

const char *load_find_program(struct strata_arena *arena, const char *const *places)
{
	char self[STRATA_PATH_BYTES_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (length <= 0)
		return NULL;
	self[length] = '\0';
	char *slash = strrchr(self, '/');

	for (; slash && *places; places++) {
		const char *path =
			strata_arena_printf(arena, "%.*s/%s", (int)(slash - self), self, *places);

		if (path && access(path, X_OK) == 0)
			return path;
	}
	return strata_arena_text(arena, self, (size_t)length);
}

const char *load_find_supervisor(struct strata_arena *arena)
{
	static const char *const places[] = { "strata-supervisor",
					      "../libexec/strata/strata-supervisor", NULL };

	return load_find_program(arena, places);
}

static int open_exec(struct decider *decider, struct strata_error *err)
{
	struct exec_open open = { .env = decider->env,
				  .memory = &decider->memory,
				  .state_dir = decider->conf->state_dir,
				  .epoch = (int64_t)decider->epoch,
				  .supervisor = load_find_supervisor(&decider->confs) };

	const struct exec_class *cls = (const struct exec_class *)decider->exec_spec.cls;

	if (!open.supervisor)
		return strata_fail(err, -EIO,
				   "the program cannot find its own path in /proc/self/exe");
	int rc = cls->open(decider->exec_spec.conf, &open, &decider->exec, err);

	if (rc == 0)
		cls->describe_limits(decider->exec, decider->common->limits,
				     sizeof(decider->common->limits));
	return rc;
}

int decider_load(struct decider *decider, bool lead, struct strata_error *err)
{
	int rc = open_cluster(decider, lead, err);

	if (rc == 0 && lead)
		rc = open_exec(decider, err);
	if (rc == 0 && lead)
		rc = remote_open(decider, err);
	if (rc == 0)
		rc = recover(decider, err);
	return rc || !lead ? rc : remote_start(decider, err);
}

void decider_unload(struct decider *decider)
{
	struct live *live;

	remote_close(decider);
	if (decider->exec)
		decider->exec->cls->close(decider->exec);
	decider->exec = NULL;
	batch_drop(decider, "another server leads now");
	parked_end(decider, "another server leads now");
	workers_free(decider);
	tasks_free(decider);
	webhooks_free(decider);
	figures_free(decider);
	strata_registry_free(decider->policies);
	decider->policies = NULL;
	while ((live = live_first(decider)))
		live_free(decider, live);
	live_spec_unref(decider->last_spec);
	decider->last_spec = NULL;
	decider->ended_first = decider->ended_last = NULL;
	recorder_close(decider);
	strata_cluster_free(decider->cluster);
	decider->cluster = NULL;
	entities_free(decider);
	reservations_free(decider);
	advances_close(decider);
	for (size_t i = 0; i < DECIDER_CLASSES; i++) {
		strata_registry_free(decider->registries[i]);
		decider->registries[i] = NULL;
	}
	nodes_close(decider);
	decider->rules = (struct spec_rules){ 0 };
	decider->effects = NULL;
	decider->effect_count = decider->forget_count = 0;
	map_text_fini(&decider->gangs);
	map_text_init(&decider->gangs, &decider->memory);
	strata_arena_reset(&decider->pass);
	strata_arena_reset(&decider->scratch);
	strata_arena_reset(&decider->confs);
}
