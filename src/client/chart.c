/* The timeline of chart.h. A track holds one job at a time: jobs that share a GPU, or have none, lie on tracks beside each other. */
#include "client/chart.h"

#include "core/map.h"

#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLUSTER_PID = 1, FIRST_NODE_PID = 2, CURVES_TID = 0, SUBMISSIONS_TID = 1, PASSES_TID = 2 };
enum { NAME_BYTES = 160, NO_GPU = -1 };

void chart_init(struct chart *chart, struct strata_memory *memory, int64_t since_ns, int64_t now_ns)
{
	*chart = (struct chart){ .memory = memory, .since_ns = since_ns, .now_ns = now_ns };
	map_u64_init(&chart->places, memory);
	map_u64_init(&chart->exact, memory);
}

void chart_fini(struct chart *chart)
{
	for (size_t i = 0; i < chart->count; i++)
		json_decref(chart->jobs[i].json);
	for (const struct map_u64_entry *at = NULL; (at = map_u64_next(&chart->places, at));)
		json_decref(at->value);
	map_u64_fini(&chart->places);
	for (const struct map_u64_entry *at = NULL; (at = map_u64_next(&chart->exact, at));)
		strata_memory_put(chart->memory, at->value, sizeof(struct chart_exact));
	map_u64_fini(&chart->exact);
	strata_memory_put(chart->memory, chart->jobs, chart->room * sizeof(*chart->jobs));
}

static int64_t time_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	int64_t ns = 0;

	if (text)
		strata_time_parse(text, STRATA_TEXT_NUL, STRATA_TIME_NO_NOW, 0, &ns, NULL);
	return ns;
}

int chart_add(struct chart *chart, const json_t *job, struct strata_error *err)
{
	struct chart_job row = { .submitted_ns = time_of(job, "submitted_at"),
				 .started_ns = time_of(job, "started_at"),
				 .ended_ns = time_of(job, "ended_at") };

	if (row.ended_ns && row.ended_ns < chart->since_ns)
		return 0;
	if (chart->count == chart->room) {
		size_t room = chart->room ? 2 * chart->room : 256;
		struct chart_job *jobs = strata_memory_resize(chart->memory, chart->jobs,
							      chart->room * sizeof(*jobs),
							      room * sizeof(*jobs));

		if (!jobs)
			return strata_fail_memory(err);
		chart->jobs = jobs;
		chart->room = room;
	}
	row.json = json_incref((json_t *)(uintptr_t)job);
	chart->jobs[chart->count++] = row;
	return 0;
}

/* What is known exactly of a job, perhaps nothing yet. NULL: no memory. */
static struct chart_exact *exact_of(struct chart *chart, uint64_t job)
{
	struct chart_exact *exact = map_u64_get(&chart->exact, job);

	if (exact)
		return exact;
	exact = strata_memory_get(chart->memory, sizeof(*exact));
	if (exact && map_u64_put(&chart->exact, job, exact, NULL)) {
		strata_memory_put(chart->memory, exact, sizeof(*exact));
		return NULL;
	}
	return exact;
}

/* A submission tells of several jobs, numbered one after another; of a start and an end the executor's own time counts. */
static int note_times(struct chart *chart, const json_t *event, const char *kind, uint64_t job)
{
	const json_t *about = json_object_get(event, "about");
	bool submitted = strcmp(kind, "job.submitted") == 0,
	     started = strcmp(kind, "job.started") == 0;
	json_int_t jobs = submitted ? json_integer_value(json_object_get(about, "jobs")) : 1;

	if (!submitted && !started && strcmp(kind, "job.ended") != 0)
		return 0;
	for (json_int_t i = 0; i < jobs; i++) {
		struct chart_exact *exact = exact_of(chart, job + (uint64_t)i);

		if (!exact)
			return -ENOMEM;
		if (submitted)
			exact->submitted_ns = time_of(event, "at");
		else if (started)
			exact->started_ns = time_of(about, "started_at");
		else
			exact->ended_ns = time_of(about, "ended_at");
	}
	return 0;
}

int chart_add_event(struct chart *chart, const json_t *event, struct strata_error *err)
{
	const char *kind = json_string_value(json_object_get(event, "kind"));
	json_t *place = json_object_get(json_object_get(event, "about"), "gpu_ids");
	json_int_t job = json_integer_value(json_object_get(event, "job"));
	void *old = NULL;

	if (!kind || job < 1)
		return 0;
	if (note_times(chart, event, kind, (uint64_t)job))
		return strata_fail_memory(err);
	if (strcmp(kind, "job.scheduled") != 0 || !json_is_object(place))
		return 0;
	if (map_u64_put(&chart->places, (uint64_t)job, json_incref(place), &old)) {
		json_decref(place);
		return strata_fail_memory(err);
	}
	json_decref(old);
	return 0;
}

/* ---- tracks ---- */

struct track {
	int64_t gpu; /* NO_GPU: of jobs without */
	int64_t end_ns;
	struct strata_trace_lane *lane;
};

struct place {
	uint32_t pid;
	struct track *tracks;
	size_t count;
};

struct drawing {
	struct chart *chart;
	struct map_text places; /* struct place *, by the node's name */
	uint32_t next_pid;
	struct strata_trace *trace;
	struct strata_trace_lane *curves, *submissions, *passes;
};

static struct place *find_place(struct drawing *drawing, const char *node)
{
	struct strata_memory *memory = drawing->chart->memory;
	struct place *place = map_text_get(&drawing->places, node, strlen(node));

	if (place)
		return place;
	place = strata_memory_get(memory, sizeof(*place));
	if (place && map_text_put(&drawing->places, node, strlen(node), place, NULL)) {
		strata_memory_put(memory, place, sizeof(*place));
		return NULL;
	}
	if (place)
		place->pid = drawing->next_pid++;
	return place;
}

/* One more track, which is the same-th of the GPU; the first of a node has its name with it. */
static int add_track(struct drawing *drawing, struct place *place, const char *node, int64_t gpu,
		     size_t same)
{
	char name[NAME_BYTES], more[24] = "";
	size_t count = place->count;
	struct track *tracks = strata_memory_resize(drawing->chart->memory, place->tracks,
						    count * sizeof(*tracks),
						    (count + 1) * sizeof(*tracks));

	if (!tracks)
		return -ENOMEM;
	place->tracks = tracks;
	place->tracks[place->count++].gpu = gpu;
	if (same > 1)
		snprintf(more, sizeof(more), " (%zu)", same);
	if (gpu == NO_GPU)
		snprintf(name, sizeof(name), "CPUs%s", more);
	else
		snprintf(name, sizeof(name), "GPU %" PRId64 "%s", gpu, more);
	return strata_trace_add_lane(
		drawing->trace,
		&(struct strata_trace_lane_conf){ .pid = place->pid,
						  .tid = (uint32_t)count + 1,
						  .name = name,
						  .process_name = count ? NULL : node },
		&tracks[count].lane, NULL);
}

/* A track of the GPU that is free from start_ns on, perhaps a new one. NULL: no memory. */
static struct strata_trace_lane *take_track(struct drawing *drawing, struct place *place,
					    const char *node, int64_t gpu, int64_t start_ns,
					    int64_t end_ns)
{
	size_t i, same = 1;

	for (i = 0; i < place->count; i++) {
		if (place->tracks[i].gpu != gpu)
			continue;
		if (place->tracks[i].end_ns <= start_ns)
			break;
		same++;
	}
	if (i == place->count && add_track(drawing, place, node, gpu, same))
		return NULL;
	place->tracks[i].end_ns = end_ns;
	return place->tracks[i].lane;
}

static void free_places(struct drawing *drawing)
{
	struct strata_memory *memory = drawing->chart->memory;

	for (const struct map_text_entry *at = NULL; (at = map_text_next(&drawing->places, at));) {
		struct place *place = at->value;

		strata_memory_put(memory, place->tracks, place->count * sizeof(*place->tracks));
		strata_memory_put(memory, place, sizeof(*place));
	}
	map_text_fini(&drawing->places);
}

/* ---- jobs ---- */

/* A job while it is drawn. */
struct pen {
	char name[NAME_BYTES];
	struct strata_trace_arg args[8];
	size_t arg_count;
	uint64_t flow;
	bool first; /* no slice of it was drawn yet */
};

static void add_text(struct pen *pen, const json_t *job, const char *key)
{
	const char *text = json_string_value(json_object_get(job, key));

	if (text)
		pen->args[pen->arg_count++] = strata_trace_text(key, text);
}

static void describe(const struct chart_job *row, struct pen *pen)
{
	const char *name = json_string_value(json_object_get(row->json, "name"));
	json_int_t id = json_integer_value(json_object_get(row->json, "id"));

	snprintf(pen->name, sizeof(pen->name), "%" JSON_INTEGER_FORMAT " %.120s", id,
		 name ? name : "");
	pen->flow = id > 0 ? (uint64_t)id : 0;
	pen->first = true;
	add_text(pen, row->json, "user");
	add_text(pen, row->json, "state");
	pen->args[pen->arg_count++] =
		strata_trace_int("cpus", json_integer_value(json_object_get(row->json, "cpus")));
	pen->args[pen->arg_count++] =
		strata_trace_int("gpus", json_integer_value(json_object_get(row->json, "gpus")));
	if (row->started_ns)
		pen->args[pen->arg_count++] = strata_trace_real(
			"wait_s", (double)(row->started_ns - row->submitted_ns) / 1e9);
}

static void draw_slice(struct pen *pen, struct strata_trace_lane *lane, int64_t start_ns,
		       int64_t end_ns)
{
	strata_trace_slice(lane, (struct strata_trace_event){ .time_ns = start_ns,
							      .end_ns = end_ns,
							      .name = pen->name,
							      .copy_name = true,
							      .flow = pen->flow,
							      .flow_first = pen->first,
							      .args = pen->args,
							      .arg_count = pen->arg_count });
	pen->first = false;
}

static int draw_on_node(struct drawing *drawing, const struct chart_job *row, struct pen *pen,
			const char *node, const json_t *gpus)
{
	int64_t end_ns = row->ended_ns ? row->ended_ns : drawing->chart->now_ns;
	size_t count = json_array_size(gpus);
	struct place *place = find_place(drawing, node);

	for (size_t i = 0; place && i < (count ? count : 1); i++) {
		int64_t gpu = count ? json_integer_value(json_array_get(gpus, i)) : NO_GPU;
		struct strata_trace_lane *lane =
			take_track(drawing, place, node, gpu, row->started_ns, end_ns);

		if (!lane)
			return -ENOMEM;
		draw_slice(pen, lane, row->started_ns, end_ns);
		pen->flow = 0; /* one arrow is enough */
	}
	return place ? 0 : -ENOMEM;
}

/* {"n1": [0, 3]}: as the job says it, while it runs; else as its events did. NULL: nobody knows. */
static json_t *place_of(const struct drawing *drawing, const struct chart_job *row)
{
	json_t *own = json_object_get(row->json, "gpu_ids");
	json_int_t id = json_integer_value(json_object_get(row->json, "id"));

	return json_object_size(own) ? own : map_u64_get(&drawing->chart->places, (uint64_t)id);
}

static int draw_job(struct drawing *drawing, const struct chart_job *row)
{
	const json_t *nodes = json_object_get(row->json, "node_names");
	json_t *place = place_of(drawing, row), *gpus;
	struct pen pen = { .arg_count = 0 };
	const char *name;
	int rc = 0;

	describe(row, &pen);
	if (row->submitted_ns >= drawing->chart->since_ns)
		draw_slice(&pen, drawing->submissions, row->submitted_ns, row->submitted_ns);
	if (!row->started_ns)
		return 0;
	json_object_foreach(place, name, gpus) if (rc == 0)
		rc = draw_on_node(drawing, row, &pen, name, gpus);
	for (size_t i = 0; rc == 0 && i < json_array_size(nodes); i++) {
		name = json_string_value(json_array_get(nodes, i));
		if (name && !json_object_get(place, name)) /* of a node without GPUs */
			rc = draw_on_node(drawing, row, &pen, name, NULL);
	}
	return rc;
}

/* ---- curves and passes ---- */

struct change {
	int64_t at_ns;
	int waiting, running; /* one more or less of them */
};

static int by_time(const void *a_any, const void *b_any)
{
	const struct change *a = a_any, *b = b_any;

	return a->at_ns < b->at_ns ? -1 : a->at_ns > b->at_ns;
}

static int draw_curves(struct drawing *drawing)
{
	const struct chart *chart = drawing->chart;
	size_t room = 3 * chart->count, count = 0;
	struct change *changes = strata_memory_get(chart->memory, room * sizeof(*changes));
	int64_t waiting = 0, running = 0;

	if (room && !changes)
		return -ENOMEM;
	for (size_t i = 0; i < chart->count; i++) {
		const struct chart_job *job = &chart->jobs[i];
		bool begun = job->started_ns != 0;

		changes[count++] = (struct change){ job->submitted_ns, 1, 0 };
		if (begun)
			changes[count++] = (struct change){ job->started_ns, -1, 1 };
		if (job->ended_ns)
			changes[count++] = (struct change){ job->ended_ns, begun ? 0 : -1, -begun };
	}
	if (count)
		qsort(changes, count, sizeof(*changes), by_time);
	for (size_t i = 0; i < count; i++) {
		waiting += changes[i].waiting;
		running += changes[i].running;
		const struct strata_trace_arg values[] = { strata_trace_int("waiting", waiting),
							   strata_trace_int("running", running) };

		if (changes[i].at_ns >= chart->since_ns &&
		    (i + 1 == count || changes[i + 1].at_ns != changes[i].at_ns))
			strata_trace_counters(drawing->curves, changes[i].at_ns, "jobs", values, 2);
	}
	strata_memory_put(chart->memory, changes, room * sizeof(*changes));
	return 0;
}

static void draw_passes(struct drawing *drawing, const json_t *passes)
{
	size_t count = json_array_size(passes);

	for (size_t i = 0; i < count; i++) {
		const json_t *pass = json_array_get(passes, i);
		int64_t at_ns = time_of(pass, "at");
		double took_s = json_number_value(json_object_get(pass, "took_s"));
		const struct strata_trace_arg args[] = {
			strata_trace_int("started",
					 json_integer_value(json_object_get(pass, "started"))),
			strata_trace_int("waiting",
					 json_integer_value(json_object_get(pass, "waiting"))),
		};

		if (at_ns < drawing->chart->since_ns)
			continue;
		strata_trace_slice(
			drawing->passes,
			(struct strata_trace_event){ .time_ns = at_ns,
						     .end_ns = at_ns + (int64_t)(took_s * 1e9),
						     .name = "pass",
						     .args = args,
						     .arg_count = 2 });
	}
}

/* The event is the job's when it is of the same second. */
static void take_exact(int64_t *ns, int64_t exact_ns)
{
	if (exact_ns / STRATA_SECOND_NS == *ns / STRATA_SECOND_NS)
		*ns = exact_ns;
}

static void make_exact(struct chart *chart)
{
	for (size_t i = 0; i < chart->count; i++) {
		struct chart_job *job = &chart->jobs[i];
		json_int_t id = json_integer_value(json_object_get(job->json, "id"));
		const struct chart_exact *exact = map_u64_get(&chart->exact, (uint64_t)id);

		if (!exact)
			continue;
		take_exact(&job->submitted_ns, exact->submitted_ns);
		take_exact(&job->started_ns, exact->started_ns);
		take_exact(&job->ended_ns, exact->ended_ns);
	}
}

static int by_start(const void *a_any, const void *b_any)
{
	const struct chart_job *a = a_any, *b = b_any;

	return a->started_ns != b->started_ns       ? (a->started_ns < b->started_ns ? -1 : 1)
	       : a->submitted_ns != b->submitted_ns ? (a->submitted_ns < b->submitted_ns ? -1 : 1)
						    : 0;
}

static int add_lane(struct drawing *drawing, uint32_t tid, const char *name,
		    struct strata_trace_lane **ret_lane, struct strata_error *err)
{
	const struct strata_trace_lane_conf conf = { .tid = tid, .name = name };

	return strata_trace_add_lane(drawing->trace, &conf, ret_lane, err);
}

static int open_trace(struct drawing *drawing, const struct strata_trace_sink *sink,
		      struct strata_error *err)
{
	static const struct strata_trace_conf conf = { .pid = CLUSTER_PID,
						       .process_name = "cluster",
						       .clock_name = "realtime" };
	int rc = strata_trace_open(drawing->chart->memory, &conf, sink, &drawing->trace, err);

	if (rc == 0)
		rc = add_lane(drawing, CURVES_TID, NULL, &drawing->curves, err);
	if (rc == 0)
		rc = add_lane(drawing, SUBMISSIONS_TID, "submissions", &drawing->submissions, err);
	if (rc == 0)
		rc = add_lane(drawing, PASSES_TID, "passes", &drawing->passes, err);
	return rc;
}

static int draw(struct drawing *drawing, const json_t *passes, struct strata_error *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < drawing->chart->count; i++)
		rc = draw_job(drawing, &drawing->chart->jobs[i]);
	if (rc == 0)
		rc = draw_curves(drawing);
	draw_passes(drawing, passes);
	return rc ? strata_fail_memory(err) : 0;
}

int chart_write(struct chart *chart, const json_t *passes, const struct strata_trace_sink *sink,
		struct strata_error *err)
{
	struct drawing drawing = { .chart = chart, .next_pid = FIRST_NODE_PID };

	make_exact(chart);
	if (chart->count)
		qsort(chart->jobs, chart->count, sizeof(*chart->jobs), by_start);
	map_text_init(&drawing.places, chart->memory);
	int rc = open_trace(&drawing, sink, err);

	if (rc == 0)
		rc = draw(&drawing, passes, err);
	int ended = strata_trace_close(drawing.trace, rc ? NULL : err);

	free_places(&drawing);
	return rc ? rc : ended;
}

/* ---- with other traces ---- */

static int write_file(void *file, const char *bytes, size_t count)
{
	return fwrite(bytes, 1, count, file) == count ? 0 : -EIO;
}

static ssize_t read_file(void *file, char *bytes, size_t room)
{
	size_t count = fread(bytes, 1, room, file);

	return count == 0 && ferror(file) ? -EIO : (ssize_t)count;
}

static ssize_t read_text(void *context, char *bytes, size_t room)
{
	const char **text = context;
	size_t count = strnlen(*text, room);

	memcpy(bytes, *text, count);
	*text += count;
	return (ssize_t)count;
}

/* Flows begin where jobs are submitted, so the jobs come first. */
static int merge(struct chart *chart, FILE *jobs, const struct chart_trace *traces, size_t count,
		 const struct strata_trace_sink *sink, struct strata_error *err)
{
	struct strata_trace_input inputs[1 + CHART_TRACES_MAX] = { { "jobs", read_file, jobs } };
	char *texts[CHART_TRACES_MAX] = { 0 };
	const char *left[CHART_TRACES_MAX];
	struct strata_trace_merged merged;
	int rc = 0;

	for (size_t i = 0; i < count; i++) {
		left[i] = texts[i] = json_dumps(traces[i].json, JSON_COMPACT);
		inputs[1 + i] =
			(struct strata_trace_input){ traces[i].name, read_text, &left[i] };
		if (!texts[i])
			rc = strata_fail_memory(err);
	}
	if (rc == 0)
		rc = strata_trace_merge(inputs, 1 + count, chart->memory, sink, &merged, err);
	for (size_t i = 0; i < count; i++)
		free(texts[i]);
	return rc;
}

int chart_write_with(struct chart *chart, const json_t *passes, const struct chart_trace *traces,
		     size_t count, const struct strata_trace_sink *sink, struct strata_error *err)
{
	FILE *jobs = tmpfile();

	if (!jobs)
		return strata_fail(err, -errno, "there is no room for a temporary file");
	int rc = chart_write(chart, passes, &(struct strata_trace_sink){ write_file, jobs }, err);

	if (rc == 0) {
		rewind(jobs);
		rc = merge(chart, jobs, traces, count, sink, err);
	}
	fclose(jobs);
	return rc;
}
