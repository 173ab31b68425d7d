/*
 * WfCommons workflows (WfFormat 1.5): tasks with parents, files with sizes, recorded run times. An edge carries the files that the parent writes and
 * the child reads. Run times are in seconds.
 */
#include "formats/graph_reader.h"

#include "core/map.h"

#include <errno.h>
#include <string.h>

struct workflow {
	struct graph_reader *reader;
	struct map_text sizes; /* file → the JSON of its entry */
	struct map_text times; /* task → the JSON of its run */
	struct map_text tasks; /* task → op + 1 */
	struct map_text made;  /* scratch of one task: its files */
};

/* Entries of a list by their id; the first counts. */
static int index_by_id(struct workflow *workflow, const json_t *list, struct map_text *map)
{
	size_t i;
	const json_t *item;
	int rc = 0;

	json_array_foreach(list, i, item)
	{
		const char *id = NULL;

		rc = graph_take_text(workflow->reader, item, "id", &id);
		if (rc)
			return rc;
		if (!map_text_get(map, id, strlen(id)) &&
		    map_text_put(map, id, strlen(id), (void *)item, NULL))
			return strata_fail_memory(workflow->reader->err);
	}
	return 0;
}

static int add_tasks(struct workflow *workflow, const json_t *tasks)
{
	size_t i;
	const json_t *task;

	json_array_foreach(tasks, i, task)
	{
		const char *id = NULL;
		double seconds = 0;
		uint32_t op = 0;
		int rc = graph_take_text(workflow->reader, task, "id", &id);

		if (rc)
			return rc;
		const json_t *run = map_text_get(&workflow->times, id, strlen(id));

		if (!run)
			return strata_fail_at(workflow->reader->err, -EINVAL, "execution",
					      "task \"%.64s\" has no run time", id);
		rc = graph_take_number(workflow->reader, run, "runtimeInSeconds", -1, 1e9,
				       &seconds);
		if (rc == 0)
			rc = graph_add_task(workflow->reader, id, seconds * 1e9, &op);
		if (rc)
			return rc;
		void *before = NULL;

		if (map_text_put(&workflow->tasks, id, strlen(id), (void *)((size_t)op + 1),
				 &before))
			return strata_fail_memory(workflow->reader->err);
		if (before)
			return strata_fail_at(workflow->reader->err, -EINVAL, "tasks",
					      "there are two tasks \"%.64s\"", id);
	}
	return 0;
}

/* Of a list of file names, those that are in `made`, with their sizes. */
static int sum_files(struct workflow *workflow, const json_t *names, double *ret_bytes)
{
	size_t i;
	const json_t *name;
	double sum = 0;

	json_array_foreach(names, i, name)
	{
		const char *id = json_string_value(name);
		double bytes = 0;

		if (!id || !map_text_get(&workflow->made, id, strlen(id)))
			continue;
		const json_t *file = map_text_get(&workflow->sizes, id, strlen(id));

		if (!file)
			continue;
		int rc = graph_take_number(workflow->reader, file, "sizeInBytes", 0,
					   GRAPH_AMOUNT_MAX, &bytes);

		if (rc)
			return rc;
		sum += bytes;
	}
	*ret_bytes = sum < GRAPH_AMOUNT_MAX ? sum : GRAPH_AMOUNT_MAX;
	return 0;
}

static int add_edge(struct workflow *workflow, const json_t *child, const json_t *parent_task,
		    uint32_t from, uint32_t to)
{
	const json_t *files = json_object_get(parent_task, "outputFiles");
	size_t i;
	const json_t *file;
	double bytes = 0;
	int rc = 0;

	map_text_fini(&workflow->made);
	map_text_init(&workflow->made, workflow->reader->arena->memory);
	json_array_foreach(files, i, file)
	{
		const char *id = json_string_value(file);

		if (id && map_text_put(&workflow->made, id, strlen(id), (void *)file, NULL))
			return strata_fail_memory(workflow->reader->err);
	}
	rc = sum_files(workflow, json_object_get(child, "inputFiles"), &bytes);
	return rc ? rc
		  : strata_graph_add_edge(workflow->reader->into->graph, from, to, (int64_t)bytes,
					  -1, workflow->reader->err);
}

static int add_edges(struct workflow *workflow, const json_t *tasks)
{
	size_t i, j;
	const json_t *task, *parent;

	json_array_foreach(tasks, i, task)
	{
		json_array_foreach(json_object_get(task, "parents"), j, parent)
		{
			const char *id = json_string_value(parent);
			size_t from = id ? (size_t)map_text_get(&workflow->tasks, id, strlen(id))
					 : 0;

			if (!from)
				return strata_fail_at(workflow->reader->err, -EINVAL, "parents",
						      "task %zu has a parent that is no task", i);
			int rc = add_edge(workflow, task, json_array_get(tasks, from - 1),
					  (uint32_t)(from - 1), (uint32_t)i);

			if (rc)
				return rc;
		}
	}
	return 0;
}

static int read_workflow(struct workflow *workflow, const json_t *root)
{
	const json_t *body = json_object_get(root, "workflow");
	const json_t *plan = json_object_get(body, "specification");
	const json_t *tasks = NULL, *runs = NULL;
	int rc = graph_take_array(workflow->reader, plan, "tasks", &tasks);

	if (rc == 0)
		rc = graph_take_array(workflow->reader, json_object_get(body, "execution"), "tasks",
				      &runs);
	if (rc == 0)
		rc = index_by_id(workflow, json_object_get(plan, "files"), &workflow->sizes);
	if (rc == 0)
		rc = index_by_id(workflow, runs, &workflow->times);
	if (rc == 0)
		rc = add_tasks(workflow, tasks);
	return rc ? rc : add_edges(workflow, tasks);
}

int graph_read_wfcommons(struct graph_reader *reader, const json_t *root)
{
	struct workflow workflow = { .reader = reader };
	struct strata_memory *memory = reader->arena->memory;
	int rc;

	reader->into->form = GRAPH_WFCOMMONS;
	reader->into->unit_ns = 1e9;
	map_text_init(&workflow.sizes, memory);
	map_text_init(&workflow.times, memory);
	map_text_init(&workflow.tasks, memory);
	map_text_init(&workflow.made, memory);
	rc = read_workflow(&workflow, root);
	map_text_fini(&workflow.made);
	map_text_fini(&workflow.tasks);
	map_text_fini(&workflow.times);
	map_text_fini(&workflow.sizes);
	return rc;
}
