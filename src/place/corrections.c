/*
 * What was observed. For each (kind of op, device) the logarithm of observed over predicted is averaged, the newest counting most once there are
 * many; noise that is log-normal so averages out. Two averages of different memory that come apart by more than the noise explains are a
 * drift: the slow one is given up for the fast one, and the pair is uncertain again. The factor is bounded, and while a pair is uncertain a
 * price is raised by what it might still be wrong: a choice is not made for a gain that nobody has seen.
 */
#include <strata/place.h>

#include "core/map.h"
#include "core/real.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define LOG2_MAX 4.0     /* a factor is 1/16 to 16 */
#define SLOW_WEIGHT 0.05 /* least weight of the newest in the slow average */
#define FAST_WEIGHT 0.34
#define DRIFT_LOG2 0.9 /* apart by so much, time after time: a drift */
#define DRIFT_TIMES 3
#define SURE_COUNT 8      /* observations that make it as sure as it gets */
#define CAUTION_LOG2 0.25 /* how much dearer an uncertain pair counts: 1.19 times */

struct pair {
	double slow, fast; /* averages of log2(observed / predicted) */
	uint32_t count;    /* observations since the last drift */
	uint32_t apart;    /* of them, the last so many drifting */
};

struct strata_corrections {
	struct strata_memory *memory; /* borrowed until _free */
	size_t device_count;
	struct map_text kinds; /* → struct pair[device_count]; owned */
	uint64_t drifts;
};

int strata_corrections_new(size_t device_count, struct strata_memory *memory,
			   struct strata_corrections **ret_corrections, struct strata_error *err)
{
	struct strata_corrections *corrections;

	if (device_count < 1 || device_count > STRATA_PLACE_DEVICES_MAX)
		return strata_fail(err, -EINVAL, "there are %zu devices; expected 1 to %d",
				   device_count, STRATA_PLACE_DEVICES_MAX);
	corrections = strata_memory_get(memory, sizeof(*corrections));
	if (!corrections)
		return strata_fail_memory(err);
	corrections->memory = memory;
	corrections->device_count = device_count;
	map_text_init(&corrections->kinds, memory);
	*ret_corrections = corrections;
	return 0;
}

void strata_corrections_free(struct strata_corrections *corrections)
{
	const struct map_text_entry *entry = NULL;

	if (!corrections)
		return;
	while ((entry = map_text_next(&corrections->kinds, entry)))
		strata_memory_put(corrections->memory, entry->value,
				  corrections->device_count * sizeof(struct pair));
	map_text_fini(&corrections->kinds);
	strata_memory_put(corrections->memory, corrections, sizeof(*corrections));
}

static const struct pair *find(const struct strata_corrections *corrections, const char *kind,
			       uint32_t device)
{
	const struct pair *pairs = map_text_get(&corrections->kinds, kind, strlen(kind));

	return pairs && device < corrections->device_count ? &pairs[device] : NULL;
}

static int make(struct strata_corrections *corrections, const char *kind, struct pair **ret_pairs,
		struct strata_error *err)
{
	size_t bytes = corrections->device_count * sizeof(struct pair);
	struct pair *pairs = map_text_get(&corrections->kinds, kind, strlen(kind));

	if (!pairs) {
		if (corrections->kinds.count >= STRATA_PLACE_KINDS_MAX)
			return strata_fail(err, -E2BIG, "more than %d kinds of ops were observed",
					   STRATA_PLACE_KINDS_MAX);
		pairs = strata_memory_get(corrections->memory, bytes);
		if (!pairs || map_text_put(&corrections->kinds, kind, strlen(kind), pairs, NULL)) {
			strata_memory_put(corrections->memory, pairs, bytes);
			return strata_fail_memory(err);
		}
	}
	*ret_pairs = pairs;
	return 0;
}

static double bound(double log2_factor)
{
	return log2_factor > LOG2_MAX    ? LOG2_MAX
	       : log2_factor < -LOG2_MAX ? -LOG2_MAX
					 : log2_factor;
}

/* The same direction, time after time, and further than noise goes. */
static bool has_drifted(struct pair *pair)
{
	double apart = pair->fast - pair->slow;

	pair->apart = fabs(apart) > DRIFT_LOG2 / 2 ? pair->apart + 1 : 0;
	return pair->count > SURE_COUNT && pair->apart >= DRIFT_TIMES;
}

int strata_corrections_observe(struct strata_corrections *corrections, const char *kind,
			       uint32_t device, double predicted_ns, double observed_ns,
			       struct strata_error *err)
{
	struct pair *pairs = NULL;

	if (device >= corrections->device_count || !(predicted_ns > 0) || !(observed_ns > 0) ||
	    !isfinite(predicted_ns) || !isfinite(observed_ns))
		return strata_fail(err, -EINVAL,
				   "device %u: %g ns measured where %g were estimated; expected two "
				   "finite times above 0",
				   device, observed_ns, predicted_ns);
	int rc = make(corrections, kind, &pairs, err);

	if (rc)
		return rc;
	struct pair *pair = &pairs[device];
	double seen = bound(real_log2(observed_ns / predicted_ns));
	double weight = 1.0 / (pair->count + 1);

	pair->slow += (seen - pair->slow) * fmax(weight, SLOW_WEIGHT);
	pair->fast += (seen - pair->fast) * fmax(weight, FAST_WEIGHT);
	if (pair->count < UINT32_MAX)
		pair->count++;
	if (has_drifted(pair)) {
		*pair = (struct pair){ .slow = pair->fast,
				       .fast = pair->fast,
				       .count = DRIFT_TIMES };
		corrections->drifts++;
	}
	return 0;
}

double strata_corrections_sure(const struct strata_corrections *corrections, const char *kind,
			       uint32_t device)
{
	const struct pair *pair = find(corrections, kind, device);

	if (!pair)
		return 0;
	return pair->count >= SURE_COUNT ? 1 : (double)pair->count / SURE_COUNT;
}

double strata_corrections_factor(const struct strata_corrections *corrections, const char *kind,
				 uint32_t device)
{
	const struct pair *pair = find(corrections, kind, device);

	if (!pair || !pair->count)
		return 1;
	double caution = CAUTION_LOG2 * (1 - strata_corrections_sure(corrections, kind, device));

	return real_exp2(bound(pair->slow) + caution);
}

/* "MatMul@decode": what is seen of an op in a phase is filed under. False: the phase says nothing, or the name would be too long. */
static bool phase_key(const struct strata_op *op, char key[STRATA_NAME_BYTES_MAX])
{
	return op->phase != STRATA_PHASE_FORWARD &&
	       snprintf(key, STRATA_NAME_BYTES_MAX, "%s@%s", op->kind,
			strata_phase_name(op->phase)) < STRATA_NAME_BYTES_MAX;
}

int strata_corrections_observe_op(struct strata_corrections *corrections,
				  const struct strata_op *op, uint32_t device, double predicted_ns,
				  double observed_ns, struct strata_error *err)
{
	char key[STRATA_NAME_BYTES_MAX];
	int rc = strata_corrections_observe(corrections, op->kind, device, predicted_ns, observed_ns,
					    err);

	if (rc == 0 && phase_key(op, key))
		rc = strata_corrections_observe(corrections, key, device, predicted_ns, observed_ns,
						err);
	return rc;
}

double strata_corrections_factor_op(const struct strata_corrections *corrections,
				    const struct strata_op *op, uint32_t device)
{
	char key[STRATA_NAME_BYTES_MAX];

	if (phase_key(op, key) && strata_corrections_sure(corrections, key, device) > 0)
		return strata_corrections_factor(corrections, key, device);
	return strata_corrections_factor(corrections, op->kind, device);
}

bool strata_corrections_at(const struct strata_corrections *corrections, size_t index,
			   struct strata_correction *ret_correction)
{
	const struct map_text_entry *entry = NULL;
	size_t kind = index / corrections->device_count;

	while ((entry = map_text_next(&corrections->kinds, entry)) && kind > 0)
		kind--;
	if (!entry)
		return false;
	uint32_t device = (uint32_t)(index % corrections->device_count);
	const struct pair *pair = (const struct pair *)entry->value + device;

	*ret_correction = (struct strata_correction){ .kind = entry->key,
						      .device = device,
						      .slow = pair->slow,
						      .fast = pair->fast,
						      .count = pair->count };
	return true;
}

int strata_corrections_restore(struct strata_corrections *corrections,
			       const struct strata_correction *correction, struct strata_error *err)
{
	struct pair *pairs = NULL;

	if (correction->device >= corrections->device_count || correction->count == 0 ||
	    !(fabs(correction->slow) <= LOG2_MAX) || !(fabs(correction->fast) <= LOG2_MAX))
		return strata_fail(err, -EINVAL,
				   "2^%g (%g) from %u observations on device %u is not a correction",
				   correction->slow, correction->fast, correction->count,
				   correction->device);
	int rc = make(corrections, correction->kind, &pairs, err);

	if (rc == 0)
		pairs[correction->device] = (struct pair){ .slow = correction->slow,
							   .fast = correction->fast,
							   .count = correction->count };
	return rc;
}

uint64_t strata_corrections_drifts(const struct strata_corrections *corrections)
{
	return corrections->drifts;
}
