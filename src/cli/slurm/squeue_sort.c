/* squeue --sort: "P,t,-p", letters of the columns, "-" for downwards; then by number. */
#include "cli/slurm/squeue.h"

#include <stdlib.h>
#include <string.h>

struct sorting {
	const char *keys;
	struct buf left, right; /* room for two cells */
};

static int64_t number_of(const struct slurm_job *job, char letter)
{
	switch (letter) {
	case 'A':
		return job->id;
	case 'F':
	case 'i':
		return job->array_id ? job->array_id : job->id;
	case 'K':
		return job->array_index;
	case 'p':
	case 'Q':
		return job->priority;
	case 'C':
		return job->cpus;
	case 'D':
		return job->nodes;
	case 'M':
		return job->run_s;
	case 'l':
		return job->limit_s;
	case 'L':
		return job->limit_s - job->run_s;
	case 'm':
		return job->memory_node_bytes;
	case 'S':
		return job->start_ns ? job->start_ns : INT64_MAX;
	case 'e':
		return job->end_ns ? job->end_ns : INT64_MAX;
	case 'V':
		return job->submit_ns;
	case 'U':
		return job->uid;
	}
	return 0;
}

/* What goes first has the higher priority, whatever the numbers say. */
static int compare_turn(const struct slurm_job *left, const struct slurm_job *right)
{
	int64_t a = left->position ? left->position : INT64_MAX,
		b = right->position ? right->position : INT64_MAX;

	return (a < b) - (a > b);
}

static int compare_key(struct sorting *sorting, char letter, const struct slurm_job *left,
		       const struct slurm_job *right)
{
	const struct slurm_field *field = slurm_field_find(squeue_fields, letter);
	int order = 0;

	if (strchr("AFiKpQCDMlLmSeVU", letter)) {
		int64_t a = number_of(left, letter), b = number_of(right, letter);

		if (strchr("pQ", letter))
			order = compare_turn(left, right);
		if (order == 0)
			order = (a > b) - (a < b);
		if (order == 0 && letter == 'i')
			order = (left->array_index > right->array_index) -
				(left->array_index < right->array_index);
	} else if (field) {
		buf_reset(&sorting->left);
		buf_reset(&sorting->right);
		field->write(&sorting->left, left);
		field->write(&sorting->right, right);
		order = strcmp(sorting->left.text, sorting->right.text);
	}
	return order;
}

static int compare(const void *left_any, const void *right_any, void *context)
{
	struct sorting *sorting = context;
	const struct slurm_job *left = left_any, *right = right_any;
	bool down = false;

	for (const char *at = sorting->keys; *at; at++) {
		if (*at == '-')
			down = true;
		if (strchr("+-, ", *at))
			continue;
		int order = compare_key(sorting, *at, left, right);

		if (order)
			return down ? -order : order;
		down = false;
	}
	if (left->array_id == right->array_id && left->array_id)
		return (left->array_index > right->array_index) -
		       (left->array_index < right->array_index);
	return (left->id > right->id) - (left->id < right->id);
}

void squeue_sort(struct cli *cli, struct slurm_jobs *jobs, const char *keys)
{
	struct sorting sorting = { .keys = keys };

	buf_init(&sorting.left, &cli->memory, 0);
	buf_init(&sorting.right, &cli->memory, 0);
	qsort_r(jobs->list, jobs->count, sizeof(*jobs->list), compare, &sorting);
	buf_fini(&sorting.left);
	buf_fini(&sorting.right);
}
