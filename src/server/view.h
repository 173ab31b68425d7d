/*
 * Jobs as JSON, for those who ask: a table of fields, from a job of the cluster or a row of the
 * history to text. Taking what there is to say is quick and the decider's; writing it is an HTTP
 * thread's.
 */
#ifndef SERVER_VIEW_H
#define SERVER_VIEW_H

#include "core/buf.h"
#include "server/live.h"

#define VIEW_NULL INT64_MIN

/* What is said of one job. Texts are borrowed until view_copy. */
struct view {
	struct job job;
	const char *state, *reason, *priority; /* static */
	const char *reason_text;
	int64_t nice, time_limit_s;
	int64_t cpu_user_ms, cpu_system_ms, memory_peak_bytes; /* VIEW_NULL: not known */
	int64_t exit_code, exit_signal, array_id, array_index; /* VIEW_NULL: none */
	int64_t array_throttle;       /* elements at a time; 0: any number */
	int64_t elements, index_step; /* of several from array_index on; VIEW_NULL: it is one job */
	const char *output, *error;
	int64_t stopping;                           /* VIEW_NULL: not known of the history */
	int64_t expected_start_ns, expected_end_ns; /* 0: not known */
	const char *expected_node;
	bool promised;
	int64_t position; /* VIEW_NULL: not foreseen */
	/* of the last look at one that runs, where somebody asked; VIEW_NULL: not known */
	int64_t cpus_used_milli, memory_used_bytes, gpus_used_milli, gpu_memory_used_bytes;
	int64_t expected_node_count; /* with expected_node; VIEW_NULL: not foreseen, or only that */
};

#define VIEW_ALL UINT64_MAX
/* "id,name,state": a bit for each; -EINVAL for one that there is not. NULL: all. */
int view_fields(const char *names, uint64_t *ret_fields, struct strata_error *err);

/* Of one that is in the history only. */
struct view view_of_job(const struct job *job);
/* Of a live one. On the decider's thread. */
struct view view_of_live(struct decider *decider, const struct live *live);
void view_set_forecast(const struct decider *decider, struct view *view,
		       const struct strata_forecast *forecast, size_t position,
		       struct strata_arena *arena);
/* Gives it texts of its own, as far as these fields need them. False: no memory. */
bool view_copy(struct view *view, uint64_t fields, struct strata_arena *arena);

/* {"id":17,…}. When fields were chosen, those that are null or have nothing in them are left out.
 * Thread-safe. */
void view_write(const struct view *view, uint64_t fields, struct buf *buf);
/* The same as a tree; NULL: no memory. */
json_t *view_json(const struct view *view);
json_t *view_job(const struct job *job);
json_t *view_row(const struct store_job *row);
json_t *view_live(struct decider *decider, const struct live *live);
json_t *view_words(const char *text); /* the words of "a,b" as a list */
json_t *view_time(int64_t ns); /* to the second; null for 0 */
json_t *view_exact_time(int64_t ns);

#endif
