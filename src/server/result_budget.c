/* The sums of result_budget.h, by user and of all. They are read once, from the store, and kept
 * from then on. What is dropped is dropped in a transaction of its own, a few tasks at a time
 * from the oldest end on; then the files go. One that a crash left behind is found at the next
 * start. */
#include "server/result_budget.h"

#include "server/results.h"
#include "server/tasks.h"

#include <strata/text.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SECOND INT64_C(1000000000)

enum { AT_ONCE = 100 };

static bool is_over(const struct decider *decider)
{
	int64_t most = decider->conf->result_bytes_max;

	return most && decider->result_bytes > most;
}

static int64_t *sum_of(struct decider *decider, const char *user)
{
	int64_t *sum = map_text_get(&decider->result_users, user, strlen(user));

	if (sum || !(sum = calloc(1, sizeof(*sum))))
		return sum;
	if (map_text_put(&decider->result_users, user, strlen(user), sum, NULL)) {
		free(sum);
		return NULL;
	}
	return sum;
}

static int note_sum(void *context, const void *row_any, struct strata_error *err)
{
	struct decider *decider = context;
	const struct store_result_sum *row = row_any;
	int64_t *sum = sum_of(decider, row->user);

	if (!sum)
		return strata_fail_memory(err);
	*sum = row->size_bytes;
	decider->result_bytes += row->size_bytes;
	return 0;
}

int result_budget_load(struct decider *decider, struct strata_error *err)
{
	decider->result_from_ns = 0;
	return store_results_sum(decider->store, note_sum, decider, err);
}

void result_budget_free(struct decider *decider)
{
	const struct map_text_entry *entry = NULL;

	while ((entry = map_text_next(&decider->result_users, entry)))
		free(entry->value);
	map_text_fini(&decider->result_users);
	map_text_init(&decider->result_users, &decider->memory);
	decider->result_bytes = 0;
}

void result_budget_add(struct decider *decider, const char *user, int64_t size_bytes)
{
	int64_t *sum = sum_of(decider, user);

	if (sum) /* else it is counted at the next start */
		*sum += size_bytes;
	decider->result_bytes += size_bytes;
	if (is_over(decider))
		decider->retain_ns = 0; /* it need not wait for the next look */
}

void result_budget_take(struct decider *decider, const char *user, int64_t size_bytes)
{
	int64_t *sum = map_text_get(&decider->result_users, user, strlen(user));

	decider->result_bytes -= size_bytes;
	if (!sum)
		return;
	*sum -= size_bytes;
	if (*sum > 0)
		return;
	map_text_remove(&decider->result_users, user, strlen(user));
	free(sum);
}

struct dropping {
	struct decider *decider;
	const struct store_task *task;
};

static int drop_one(void *context, const void *row_any, struct strata_error *err)
{
	const struct dropping *dropping = context;
	const struct store_result *row = row_any;

	(void)err;
	batch_put(dropping->decider, STORE_DELETE(row));
	result_budget_take(dropping->decider, dropping->task->user, row->size_bytes);
	tasks_doom(dropping->decider, row->hash);
	return 0;
}

/* The store has the rights until the round is committed: which tasks' are gone by then is noted. */
int result_budget_drop(struct decider *decider, const struct store_task *task,
		       struct strata_error *err)
{
	struct dropping dropping = { decider, task };

	if (map_u64_get(&decider->dropped_tasks, (uint64_t)task->id))
		return 0;
	if (map_u64_put(&decider->dropped_tasks, (uint64_t)task->id, decider, NULL))
		return strata_fail_memory(err);
	return store_task_results(decider->store, task->id, drop_one, &dropping, err);
}

void result_budget_committed(struct decider *decider)
{
	if (!decider->dropped_tasks.count)
		return;
	map_u64_fini(&decider->dropped_tasks);
	map_u64_init(&decider->dropped_tasks, &decider->memory);
}

int result_budget_check(const struct decider *decider, const char *user, struct strata_error *err)
{
	const int64_t *sum = map_text_get(&decider->result_users, user, strlen(user));
	int64_t most = decider->conf->result_user_bytes_max;
	char has[STRATA_FORM_BYTES], may[STRATA_FORM_BYTES];

	if (!most || !sum || *sum < most)
		return 0;
	return strata_fail(err, -EDQUOT,
			   "%.60s has %s of pictures; at most %s are allowed (result_user_max); "
			   "DELETE /api/v1/tasks/ID/image removes one",
			   user, strata_size_print_short(*sum, has),
			   strata_size_print_short(most, may));
}

int result_budget_gone(void *context, const void *gone_any, struct strata_error *err)
{
	struct decider *decider = context;
	const struct store_gone *gone = gone_any;

	(void)err;
	result_budget_take(decider, gone->user, gone->result.size_bytes);
	if (!gone->used)
		results_remove(decider->conf->state_dir, gone->result.hash);
	return 0;
}

int64_t result_budget_pause_ns(const struct decider *decider)
{
	int64_t ns = decider->conf->result_keep_ns / 4, most_ns = 60 * SECOND;

	if (!decider->conf->result_keep_ns || ns > most_ns)
		ns = most_ns;
	if (is_over(decider))
		ns = SECOND;
	return ns < SECOND ? SECOND : ns;
}

int result_budget_sweep(struct decider *decider, size_t *ret_count, struct strata_error *err)
{
	const struct server_conf *conf = decider->conf;
	int64_t now_ns = decider_now_ns(decider);
	int64_t over = conf->result_bytes_max ? decider->result_bytes - conf->result_bytes_max : 0;
	struct store_drop drop = { .from_ns = decider->result_from_ns, .limit = AT_ONCE };
	size_t count = 0;
	int rc = 0;

	if (over > 0) {
		drop.before_ns = now_ns;
		drop.bytes = over;
	} else if (conf->result_keep_ns) {
		drop.before_ns = now_ns - conf->result_keep_ns;
		drop.bytes = INT64_MAX;
	}
	if (drop.before_ns > drop.from_ns)
		rc = store_drop_results(decider->store, &drop, decider->epoch, result_budget_gone,
					decider, &decider->result_from_ns, &count, err);
	if (rc == 0)
		*ret_count = count || drop.before_ns > decider->result_from_ns;
	return rc;
}
