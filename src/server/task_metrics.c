/* The figures of task_metrics.h: a table of what there is, printed for each model. */
#include "server/task_metrics.h"

#include "server/models.h"

#include <stddef.h>

struct model_figures {
	struct strata_pool_metrics pool;
	const struct model *model;
};

static double pending(const struct model_figures *of)
{
	return (double)of->pool.tasks[STRATA_TASK_PENDING];
}

static double running(const struct model_figures *of)
{
	return (double)(of->pool.tasks[STRATA_TASK_ENCODING] +
			of->pool.tasks[STRATA_TASK_DENOISING] +
			of->pool.tasks[STRATA_TASK_DECODING]);
}

static double pending_seconds(const struct model_figures *of)
{
	return (double)of->pool.pending_cost_ns / 1e9;
}

static double workers(const struct model_figures *of)
{
	return (double)of->model->worker_count;
}

static double trouble(const struct model_figures *of)
{
	return of->model->trouble[0] != '\0';
}

static double steps(const struct model_figures *of)
{
	return (double)of->model->metrics.steps;
}

static double batches(const struct model_figures *of)
{
	return (double)of->model->metrics.batches;
}

static double members(const struct model_figures *of)
{
	return (double)of->model->metrics.members;
}

static double images(const struct model_figures *of)
{
	return (double)of->model->metrics.images;
}

static double image_seconds(const struct model_figures *of)
{
	return (double)of->model->metrics.image_cost_ns / 1e9;
}

static double expected_seconds(const struct model_figures *of)
{
	return (double)of->model->metrics.expected_ns / 1e9;
}

static double expected_cost_seconds(const struct model_figures *of)
{
	return (double)of->model->metrics.expected_cost_ns / 1e9;
}

static double expected_error_seconds(const struct model_figures *of)
{
	return (double)of->model->metrics.expected_error_ns / 1e9;
}

static double leases_lost(const struct model_figures *of)
{
	return (double)of->model->metrics.leases_lost;
}

static double preemptions(const struct model_figures *of)
{
	return (double)of->pool.preemptions;
}

static const struct {
	const char *name, *type, *help;
	double (*value)(const struct model_figures *of);
} rows[] = {
	{ "tasks_pending", "gauge", "generation tasks in line", pending },
	{ "tasks_running", "gauge", "generation tasks that workers have", running },
	{ "tasks_pending_seconds", "gauge", "what those in line are expected to need of a worker",
	  pending_seconds },
	{ "task_workers", "gauge", "jobs of workers that have not ended", workers },
	{ "task_trouble", "gauge", "1 while workers cannot be started", trouble },
	{ "task_steps_total", "counter", "steps of tasks", steps },
	{ "task_batches_total", "counter", "batches that workers were given", batches },
	{ "task_batch_members_total", "counter", "tasks in these batches", members },
	{ "task_images_total", "counter", "pictures", images },
	{ "task_image_seconds_total", "counter", "what these pictures needed of a worker",
	  image_seconds },
	{ "task_expected_seconds_total", "counter",
	  "what pictures were expected to need, where steps had been measured", expected_seconds },
	{ "task_expected_cost_seconds_total", "counter", "what these needed",
	  expected_cost_seconds },
	{ "task_expected_error_seconds_total", "counter", "by how much the two differed",
	  expected_error_seconds },
	{ "task_leases_lost_total", "counter", "workers that lost their tasks", leases_lost },
	{ "task_preemptions_total", "counter", "tasks that gave way between two steps",
	  preemptions },
};

void task_metrics_print(const struct decider *decider, struct buf *buf)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		buf_printf(buf, "# HELP strata_%s %s\n# TYPE strata_%s %s\n", rows[i].name,
			   rows[i].help, rows[i].name, rows[i].type);
		for (const struct model *model = model_next(decider, NULL); model;
		     model = model_next(decider, model)) {
			struct model_figures of = { .model = model };

			strata_pool_metrics(model->pool, &of.pool);
			buf_printf(buf, "strata_%s{model=\"%s\"} %.17g\n", rows[i].name,
				   model->name, rows[i].value(&of));
		}
	}
}
