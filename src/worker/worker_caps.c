/* The measuring of worker_caps.h. */
#include "worker/worker_caps.h"

#include <string.h>

enum { SLACK_PERCENT = 5 }; /* by which a size may be slower than the best and still pays */

static const struct worker_cap *find(const struct worker_caps *caps, uint64_t key)
{
	for (size_t i = 0; i < caps->count; i++)
		if (caps->shapes[i].key == key)
			return &caps->shapes[i];
	return NULL;
}

static struct worker_cap *get(struct worker_caps *caps, uint64_t key)
{
	struct worker_cap *cap = (struct worker_cap *)(uintptr_t)find(caps, key); /* of our own */

	if (cap)
		return cap;
	if (caps->count < WORKER_CAPS_SHAPES) {
		cap = &caps->shapes[caps->count++];
	} else {
		cap = &caps->shapes[caps->oldest];
		caps->oldest = (caps->oldest + 1) % WORKER_CAPS_SHAPES;
	}
	*cap = (struct worker_cap){ .key = key };
	return cap;
}

void worker_caps_note(struct worker_caps *caps, uint64_t key, size_t together, int64_t ns)
{
	struct worker_cap *cap = get(caps, key);

	if (together < 1 || together > STRATA_BATCH_MAX)
		return;
	if (++cap->calls > WORKER_CAPS_CALLS_MAX) {
		memset(cap->samples, 0, sizeof(cap->samples));
		cap->calls = 1;
	}
	if (cap->samples[together]++ == 0 || ns < cap->best_ns[together])
		cap->best_ns[together] = ns;
}

void worker_caps_misfit(struct worker_caps *caps, uint64_t key, size_t together)
{
	struct worker_cap *cap = get(caps, key);

	if (together > 1 && (!cap->fits || together <= cap->fits))
		cap->fits = (uint32_t)together - 1;
}

uint32_t worker_caps_most(const struct worker_caps *caps, uint64_t key)
{
	const struct worker_cap *cap = find(caps, key);
	double each_ns[STRATA_BATCH_MAX + 1], best_ns = 0;
	uint32_t most = 0, largest = 0;

	for (uint32_t i = 1; cap && i <= STRATA_BATCH_MAX; i++) {
		if (cap->samples[i] < WORKER_CAPS_SAMPLES_MIN)
			continue;
		each_ns[i] = (double)cap->best_ns[i] / i;
		best_ns = !largest || each_ns[i] < best_ns ? each_ns[i] : best_ns;
		largest = i;
	}
	for (uint32_t i = 1; i <= largest; i++)
		if (cap->samples[i] >= WORKER_CAPS_SAMPLES_MIN &&
		    each_ns[i] * 100 <= best_ns * (100 + SLACK_PERCENT))
			most = i;
	if (most == largest)
		most = 0; /* larger ones were not tried, or are as good */
	return cap && cap->fits && (!most || cap->fits < most) ? cap->fits : most;
}
