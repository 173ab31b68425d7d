/* The rows of model_caps.h. */
#include "server/model_caps.h"

#include <strata/limits.h>

#include <string.h>

/* So long what a worker found counts more than that another has not found it. */
#define TRUSTED_NS INT64_C(3600000000000)

static struct model_cap *find(const struct model_caps *caps, uint64_t shape)
{
	for (size_t i = 0; i < caps->count; i++)
		if (caps->rows[i].shape == shape)
			return (struct model_cap *)(uintptr_t)&caps->rows[i]; /* the caller's */
	return NULL;
}

/* Room for one more. */
static struct model_cap *add(struct model_caps *caps)
{
	struct model_cap *row = &caps->rows[0];

	if (caps->count < MODEL_CAPS_MAX)
		return &caps->rows[caps->count++];
	for (size_t i = 1; i < caps->count; i++)
		if (caps->rows[i].told_ns < row->told_ns)
			row = &caps->rows[i];
	return row;
}

uint32_t model_caps_get(const struct model_caps *caps, uint64_t shape)
{
	const struct model_cap *row = find(caps, shape);

	return row ? row->cap : 0;
}

bool model_caps_tell(struct model_caps *caps, uint64_t shape, uint32_t cap, int64_t job,
		     int64_t now_ns)
{
	struct model_cap *row = find(caps, shape);
	uint32_t before = row ? row->cap : 0;

	if (cap == 0) {
		if (!row || (row->job != job && now_ns - row->told_ns < TRUSTED_NS))
			return false;
		*row = caps->rows[--caps->count];
	} else {
		row = row ? row : add(caps);
		*row = (struct model_cap){
			.shape = shape, .cap = cap, .job = job, .told_ns = now_ns
		};
	}
	caps->changed |= cap != before;
	return cap != before;
}

json_t *model_caps_keep(const struct model_caps *caps)
{
	json_t *list = json_array();

	for (size_t i = 0; i < caps->count; i++)
		json_array_append_new(list, json_pack("[I,I]", (json_int_t)caps->rows[i].shape,
						      (json_int_t)caps->rows[i].cap));
	return list;
}

void model_caps_restore(struct model_caps *caps, const json_t *kept, int64_t now_ns)
{
	memset(caps, 0, sizeof(*caps));
	for (size_t i = 0; i < json_array_size(kept) && caps->count < MODEL_CAPS_MAX; i++) {
		json_int_t shape, cap;

		if (json_unpack(json_array_get(kept, i), "[I,I!]", &shape, &cap) == 0 && shape >= 0 &&
		    cap >= 1 && cap <= STRATA_BATCH_MAX && !find(caps, (uint64_t)shape))
			*add(caps) = (struct model_cap){ .shape = (uint64_t)shape,
							 .cap = (uint32_t)cap,
							 .told_ns = now_ns };
	}
}
