/* Waits and waste of a history: see history_report.h. */
#include "server/history_report.h"

#include <strata/cluster.h>
#include <strata/limits.h>
#include <strata/text.h>

#include <stdio.h>
#include <string.h>

#define HOUR 3.6e12 /* nanoseconds */
#define GIB ((double)(1 << 30))

struct report_class {
	struct day_sketch waits;
	double longest_s;
};

void report_init(struct report *report, struct strata_memory *memory, int64_t now_ns)
{
	*report = (struct report){ .memory = memory, .now_ns = now_ns };
	map_text_init(&report->classes, memory);
	map_text_init(&report->users, memory);
}

static void free_all(struct report *report, struct map_text *map, size_t bytes)
{
	const struct map_text_entry *entry = NULL;

	while ((entry = map_text_next(map, entry)))
		strata_memory_put(report->memory, entry->value, bytes);
	map_text_fini(map);
}

void report_fini(struct report *report)
{
	free_all(report, &report->classes, sizeof(struct report_class));
	free_all(report, &report->users, sizeof(struct report_waste));
}

static void *get(struct report *report, struct map_text *map, const char *key, size_t bytes)
{
	void *value = map_text_get(map, key, strlen(key));

	if (value)
		return value;
	value = strata_memory_get(report->memory, bytes);
	if (value && map_text_put(map, key, strlen(key), value, NULL)) {
		strata_memory_put(report->memory, value, bytes);
		value = NULL;
	}
	return value;
}

/* ---- one job ---- */

static int add_wait(struct report *report, const struct store_job *job, struct strata_error *err)
{
	int64_t since_ns = job->eligible_ns > job->created_ns ? job->eligible_ns : job->created_ns;
	double wait_s = job->started_ns > since_ns ? (double)(job->started_ns - since_ns) / 1e9 : 0;
	char name[STRATA_NAME_BYTES_MAX + 16];

	snprintf(name, sizeof(name), "%s %s", job->partition ? "partition" : "band",
		 job->partition ? job->partition
		 : job->band >= 0 && job->band < STRATA_BAND_COUNT
			 ? strata_band_name((enum strata_band)job->band)
			 : "?");
	struct report_class *class = get(report, &report->classes, name, sizeof(*class));

	if (!class)
		return strata_fail_memory(err);
	day_sketch_add(&class->waits, wait_s);
	if (wait_s > class->longest_s)
		class->longest_s = wait_s;
	return 0;
}

static void add_part(struct report_part *part, double asked, double used)
{
	part->jobs++;
	part->asked += asked;
	part->used += used;
}

static void add_waste(struct report_waste *waste, const struct store_job *job)
{
	double hours = (double)(job->completed_ns - job->started_ns) / HOUR;
	bool by_itself = strcmp(job->state, "completed") == 0;

	if (job->user_ns + job->system_ns > 0 && job->cpu_cores > 0)
		add_part(&waste->cpu, hours * (double)job->cpu_cores,
			 (double)(job->user_ns + job->system_ns) / HOUR);
	if (job->memory_peak_bytes > 0 && job->memory_bytes > 0)
		add_part(&waste->memory, hours * (double)job->memory_bytes / GIB,
			 hours * (double)job->memory_peak_bytes / GIB);
	if (by_itself && job->time_limit_ns > 0)
		add_part(&waste->time, (double)job->time_limit_ns / HOUR, hours);
}

int report_add(struct report *report, const struct store_job *job, struct strata_error *err)
{
	int rc = job->started_ns ? add_wait(report, job, err) : 0;

	report->preempted += (uint64_t)(job->preempted > 0 ? job->preempted : 0);
	if (rc || !job->completed_ns)
		return rc;
	report->jobs++;
	report->failed += strcmp(job->state, "failed") == 0;
	if (!job->started_ns || job->completed_ns <= job->started_ns)
		return 0;
	struct report_waste *user = get(report, &report->users, job->user, sizeof(*user));

	if (!user)
		return strata_fail_memory(err);
	add_waste(user, job);
	add_waste(&report->all, job);
	return 0;
}

void report_add_waiting(struct report *report, const struct store_job *job)
{
	double hours = (double)job->time_limit_ns / HOUR;

	report->waiting++;
	report->waiting_gpu_hours += hours * (double)job->gpu_count;
	report->waiting_cpu_hours += hours * (double)job->cpu_cores;
}

/* ---- as JSON ---- */

static json_t *view_part(const struct report_part *part)
{
	return json_pack("{s:I,s:f,s:f}", "jobs", (json_int_t)part->jobs, "asked_hours",
			 part->asked, "used_hours", part->used);
}

static json_t *view_waste(const struct report_waste *waste, const char *user)
{
	return json_pack("{s:s*,s:o,s:o,s:o}", "user", user, "cpu", view_part(&waste->cpu),
			 "memory", view_part(&waste->memory), "time", view_part(&waste->time));
}

static json_t *view_class(const char *name, const struct report_class *class)
{
	const struct day_sketch *waits = &class->waits;

	return json_pack("{s:s,s:I,s:f,s:f,s:f,s:f}", "class", name, "jobs",
			 (json_int_t)waits->count, "median_s", day_sketch_quantile(waits, 0.5),
			 "p90_s", day_sketch_quantile(waits, 0.9), "p99_s",
			 day_sketch_quantile(waits, 0.99), "longest_s", class->longest_s);
}

json_t *report_view(const struct report *report)
{
	json_t *classes = json_array(), *users = json_array();
	const struct map_text_entry *entry = NULL;
	struct report_class all = { 0 };

	while ((entry = map_text_next(&report->classes, entry))) {
		const struct report_class *class = entry->value;

		json_array_append_new(classes, view_class(entry->key, class));
		for (size_t i = 0; i < DAY_SKETCH_BUCKETS; i++)
			all.waits.buckets[i] += class->waits.buckets[i];
		all.waits.count += class->waits.count;
		all.longest_s = class->longest_s > all.longest_s ? class->longest_s : all.longest_s;
	}
	while ((entry = map_text_next(&report->users, entry)))
		json_array_append_new(users, view_waste(entry->value, entry->key));
	return json_pack("{s:I,s:I,s:I,s:o,s:o,s:o,s:o,s:{s:I,s:f,s:f}}", "jobs",
			 (json_int_t)report->jobs, "failed", (json_int_t)report->failed,
			 "preempted", (json_int_t)report->preempted, "all_waits",
			 view_class("all", &all), "waits", classes, "waste",
			 view_waste(&report->all, NULL), "users", users, "waiting", "jobs",
			 (json_int_t)report->waiting, "gpu_hours", report->waiting_gpu_hours,
			 "cpu_hours", report->waiting_cpu_hours);
}
