/* The histogram of pool_int.h. Sums are kept by adding and taking away; a bucket that empties is
 * set to nothing, so errors do not pile up. */
#include "pool/pool_int.h"

/* The bucket of members that are done after so much service: 2^n up to 2^(n + 1). */
static unsigned bucket_of(double service)
{
	if (service < 1)
		return 0;
	if (service >= 0x1p63)
		return FLUID_BUCKETS - 1;
	return 63 - (unsigned)__builtin_clzll((uint64_t)service);
}

static void count(struct fluid *fluid, const struct fluid_member *member, int sign)
{
	if (member->tasks <= 0)
		return;
	/* Tasks that are expected to cost nothing are done at once. */
	double work = member->work > 0 ? member->work : 0, service = work / member->weight;
	struct fluid_bucket *bucket = &fluid->buckets[bucket_of(service)];

	fluid->members += (uint64_t)sign;
	bucket->members += (uint64_t)sign;
	if (bucket->members == 0) {
		*bucket = (struct fluid_bucket){ 0 };
		return;
	}
	bucket->tasks += sign * member->tasks;
	bucket->work += sign * work;
	bucket->weight += sign * member->weight;
	bucket->rate += sign * member->tasks / (service > 1 ? service : 1);
}

void fluid_change(struct fluid *fluid, struct fluid_member *member, struct fluid_member now)
{
	count(fluid, member, -1);
	*member = now;
	count(fluid, member, 1);
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

struct fluid_sum fluid_served(const struct fluid *fluid, double service,
			      const struct fluid_member *without)
{
	unsigned at = bucket_of(service);
	struct fluid_sum sum = { 0 };

	for (unsigned i = 0; i < FLUID_BUCKETS; i++) {
		const struct fluid_bucket *bucket = &fluid->buckets[i];

		if (bucket->members == 0)
			continue;
		double tasks = i < at ? bucket->tasks
				      : least(bucket->tasks, service * bucket->rate);
		double work = i < at ? bucket->work : least(bucket->work, service * bucket->weight);

		sum.tasks += tasks;
		sum.work += work;
		if (i == at) /* some of its members are done, which ones is not known */
			sum.error = bucket->tasks / 2;
	}
	if (without->tasks > 0) {
		double own = without->work / without->weight;
		double part = own > service ? service / own : 1;

		sum.tasks -= part * without->tasks;
		sum.work -= part * without->work;
	}
	sum.tasks = sum.tasks > 0 ? sum.tasks : 0;
	sum.work = sum.work > 0 ? sum.work : 0;
	return sum;
}
