/* The log of study_history.h, read from the store by a thread of its own, a page at a time. */
#include "server/study_history.h"

#include "client/job_log.h"
#include "formats/swf.h"
#include "server/view.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 1000 };
#define READER_WAIT_NS (5 * STRATA_SECOND_NS)

struct reading {
	struct history history;
	int64_t last;
	size_t seen;
};

static int add_row(void *context, const void *row_any, struct strata_error *err)
{
	struct reading *reading = context;
	const struct store_job *row = row_any;

	reading->last = row->id;
	reading->seen++;
	if (!row->completed_ns || !row->started_ns) {
		reading->history.left_out++;
		return 0;
	}
	json_t *json = view_row(row);
	int rc = json ? history_add(&reading->history, json, err) : strata_fail_memory(err);

	json_decref(json);
	return rc;
}

static int read_jobs(struct front *front, int64_t since_ns, struct reading *reading,
		     struct strata_error *err)
{
	struct store_query query = { .since_ns = since_ns, .limit = PAGE, .descending = true };
	size_t before;
	int rc;

	do { /* a reader for each page: others wait for one, too */
		struct store *store;

		before = reading->seen;
		query.after = reading->last;
		rc = store_readers_take(front->readers, READER_WAIT_NS, &store, err);
		if (rc)
			return rc;
		rc = store_jobs_page(store, &query, add_row, reading, err);
		store_readers_give(front->readers, store);
	} while (rc == 0 && reading->seen - before == PAGE &&
		 reading->seen < STRATA_STUDY_JOBS_MAX);
	return rc;
}

static char *print_nodes(const struct openb_node *nodes, size_t count, struct strata_memory *memory)
{
	struct buf buf;

	buf_init(&buf, memory, 0);
	buf_add(&buf, "sn,cpu_milli,memory_mib,gpu,model\n");
	for (size_t i = 0; i < count; i++)
		buf_printf(&buf, "%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%s\n", nodes[i].name,
			   nodes[i].cpu_milli, nodes[i].memory_mib, nodes[i].gpu_count,
			   nodes[i].gpu_model);
	char *text = buf_check(&buf, NULL) ? NULL : strdup(buf.text);

	buf_fini(&buf);
	return text;
}

static char *print_log(const struct strata_swf *swf, struct strata_memory *memory)
{
	struct buf buf;

	buf_init(&buf, memory, 0);
	swf_add(&buf, swf);
	char *text = buf_check(&buf, NULL) ? NULL : strdup(buf.text);

	buf_fini(&buf);
	return text;
}

static json_t *names_of(const struct map_text *names)
{
	const struct map_text_entry *entry = NULL;
	json_t *list = json_array();

	for (size_t i = 0; i < names->count; i++)
		json_array_append_new(list, json_null());
	while ((entry = map_text_next(names, entry)))
		json_array_set_new(list, (uintptr_t)entry->value - 1, json_string(entry->key));
	return list;
}

static int finish(struct reading *reading, const char *nodes_json, struct strata_arena *arena,
		  struct strata_memory *memory, struct study_history *ret_history,
		  struct strata_error *err)
{
	json_t *json = json_loads(nodes_json, 0, NULL);
	struct openb_node *nodes = NULL;
	size_t count = 0;
	struct strata_swf swf;
	int rc = json ? history_nodes(json, arena, &nodes, &count, err) : strata_fail_memory(err);

	json_decref(json);
	for (size_t i = 0; rc == 0 && i < count; i++)
		if (nodes[i].gpu_count > reading->history.gpus_max)
			reading->history.gpus_max = nodes[i].gpu_count;
	if (rc == 0 && !reading->history.count)
		rc = strata_fail(err, -ENOENT, "no job of that time has run to its end");
	if (rc == 0)
		rc = history_finish(&reading->history, nodes, count, &swf, err);
	if (rc)
		return rc;
	*ret_history = (struct study_history){ .log = print_log(&swf, memory),
					       .nodes = print_nodes(nodes, count, memory),
					       .users = names_of(&reading->history.users),
					       .jobs = reading->history.count,
					       .left_out = reading->history.left_out,
					       .cut = reading->seen >= STRATA_STUDY_JOBS_MAX };
	if (ret_history->log && ret_history->nodes && ret_history->users)
		return 0;
	study_history_fini(ret_history);
	return strata_fail_memory(err);
}

int study_history_read(struct front *front, int64_t since_ns, const char *nodes_json,
		       struct study_history *ret_history, struct strata_error *err)
{
	struct strata_memory memory = { .limit_bytes = STRATA_STUDY_MEMORY_MAX / 4 };
	struct strata_arena arena;
	struct reading reading = { .last = 0 };

	strata_arena_init(&arena, &memory, 0);
	history_init(&reading.history, &memory, &arena);
	int rc = read_jobs(front, since_ns, &reading, err);

	if (rc == 0)
		rc = finish(&reading, nodes_json, &arena, &memory, ret_history, err);
	history_fini(&reading.history);
	strata_arena_fini(&arena);
	return rc;
}

void study_history_fini(struct study_history *history)
{
	free(history->log);
	free(history->nodes);
	json_decref(history->users);
	*history = (struct study_history){ 0 };
}
