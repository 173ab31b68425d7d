/* The names of element_name.h: the jobs of an array have numbers one behind the other, from the
 * array's own on, in the order of their places. */
#include "server/element_name.h"

#include "server/front.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <string.h>

#define READER_WAIT_NS INT64_C(5000000000)

/* Is it one: "35_2"? */
static bool read_name(const char *text, int64_t *ret_array, int64_t *ret_index)
{
	const char *line = strchr(text, '_');

	return line &&
	       strata_int_parse(text, (size_t)(line - text), 1, INT64_MAX, ret_array, NULL) == 0 &&
	       strata_int_parse(line + 1, STRATA_TEXT_NUL, 0, INT32_MAX, ret_index, NULL) == 0;
}

/* One search, over a store that was taken. */
struct search {
	struct store *store;
	struct request *request;
	int64_t array, index;
	int rc; /* the store is away */
	struct strata_error *err;
};

/* Does the job behind the array's number by so many come before the one searched for? ret_is: it is
 * that one. */
static bool is_before(struct search *search, int64_t behind, bool *ret_is)
{
	struct store_job job;
	int rc = store_job_get(search->store, search->array + behind, &search->request->arena, &job,
			       search->err);

	*ret_is = rc == 0 && job.array_id == search->array && job.array_index == search->index;
	if (rc && rc != -ENOENT)
		search->rc = rc;
	return rc == 0 && job.array_id == search->array && job.array_index < search->index;
}

/* The first that does not come before it is it, or there is none. */
static int64_t search_job(struct search *search)
{
	int64_t low = -1, high = 0; /* low comes before it, high does not */
	bool is = false;

	while (high < STRATA_ARRAY_INDEX_MAX && is_before(search, high, &is)) {
		low = high;
		high = 2 * high + 1;
	}
	while (high - low > 1) {
		int64_t middle = low + (high - low) / 2;

		if (is_before(search, middle, &is))
			low = middle;
		else
			high = middle;
	}
	is_before(search, high, &is);
	return is ? search->array + high : 0;
}

static int find(struct request *request, int64_t array, int64_t index, int64_t *ret_job,
		struct strata_error *err)
{
	struct search search = {
		.request = request, .array = array, .index = index, .err = err
	};
	int rc = store_readers_take(request->front->readers, READER_WAIT_NS, &search.store, err);

	if (rc)
		return rc;
	*ret_job = search_job(&search);
	store_readers_give(request->front->readers, search.store);
	if (search.rc == 0 && *ret_job == 0)
		return strata_fail(err, -ENOENT, "array %lld has no element %lld", (long long)array,
				   (long long)index);
	return search.rc;
}

bool element_name_resolve(struct request *request)
{
	struct strata_error err = { 0 };
	int64_t array, index, job;

	if (!read_name(request->segments[0], &array, &index))
		return true;
	int rc = find(request, array, index, &job, &err);

	if (rc == 0) {
		request->segments[0] =
			strata_arena_printf(&request->arena, "%lld", (long long)job);
		rc = request->segments[0] ? 0 : strata_fail_memory(&err);
	}
	if (rc)
		request_fail(request, rc, &err);
	return rc == 0;
}
