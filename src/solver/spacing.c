/* Timestep spacings, as table 2 of "Common diffusion noise schedules are flawed" names them. */
#include "solver/spacing.h"

#include <errno.h>
#include <math.h>

/* More steps than fit all lie at the offset, as in the reference. */
static void leading(const struct solver_conf *conf, size_t train_count, unsigned rules,
		    struct timesteps *timesteps)
{
	size_t n = timesteps->count, more = rules & SPACING_ONE_MORE ? 1 : 0;
	size_t stride = train_count / (n + more);

	for (size_t i = 0; i < n; i++)
		timesteps->at[i] = (double)((n - 1 - i + more) * stride) +
				   (double)conf->steps_offset;
}

/* The strides are those of the whole training: leaving out its end leaves out steps. The reference
 * counts them with numpy.arange, whose stride is the difference of its first two numbers: in its last
 * bits it is another, by which halves are rounded up or down. How many there are is a quotient that
 * is rounded up, which of 61 steps of 1000 makes 62. */
static size_t trailing_count(size_t train_count, size_t top, size_t steps)
{
	return (size_t)ceil((double)top / ((double)train_count / (double)steps));
}

static void trailing(size_t train_count, size_t top, struct timesteps *timesteps)
{
	double start = (double)top, stride = (double)train_count / (double)timesteps->count;
	double second = start - stride, delta = second - start;

	timesteps->count = trailing_count(train_count, top, timesteps->count);
	for (size_t i = 0; i < timesteps->count; i++)
		timesteps->at[i] = rint(start + (double)i * delta) - 1;
}

static void linspace(size_t train_count, unsigned rules, struct timesteps *timesteps)
{
	size_t n = timesteps->count, intervals = rules & SPACING_ONE_MORE ? n : n - 1;
	double stride = intervals ? (double)(train_count - 1) / (double)intervals : 0;

	for (size_t i = 0; i < n; i++) {
		size_t k = intervals - i; /* n points down from the top; 0 is the lowest */
		double t = intervals && k == intervals ? (double)(train_count - 1)
						       : (double)k * stride;

		timesteps->at[i] = rules & SPACING_FRACTIONS ? t : rint(t);
	}
}

/* The noise of timestep −1 is that of the last timestep of the training where it is found by its index, as in the reference:
 * a nearly clean sample would be read as pure noise. */
static int check_end(const struct timesteps *timesteps, int64_t steps, size_t train_count,
		     struct strata_error *err)
{
	size_t fewer = (size_t)steps < train_count ? (size_t)steps : train_count;

	if (timesteps->count == 0 || timesteps->at[timesteps->count - 1] >= 0)
		return 0;
	while (trailing_count(train_count, train_count, fewer) > fewer)
		fewer--; /* one always is */
	return strata_fail_at(err, -EINVAL, "steps",
			      "%lld trailing steps of %zu timesteps end at timestep -1, which has "
			      "no noise level; expected another number of steps (such as %zu), or "
			      "timestep_spacing = leading",
			      (long long)steps, train_count, fewer);
}

static int check(const struct timesteps *timesteps, size_t train_count, struct strata_error *err)
{
	double top = (double)train_count - 1;

	for (size_t i = 0; i < timesteps->count; i++)
		if (!(timesteps->at[i] >= 0 && timesteps->at[i] <= top))
			return strata_fail_at(
				err, -EINVAL, "steps",
				"timestep %g is outside the training's 0 to %g; use a smaller "
				"steps_offset or fewer steps",
				timesteps->at[i], top);
	return 0;
}

int spacing_timesteps(const struct solver_conf *conf, const struct strata_solver_request *request,
		      size_t train_count, size_t top, unsigned rules, struct strata_arena *arena,
		      struct timesteps *ret_timesteps, struct strata_error *err)
{
	struct timesteps timesteps = { .count = request->timestep_count ? request->timestep_count
									: (size_t)request->steps };
	bool is_trailing = !request->timestep_count && conf->timestep_spacing == SPACING_TRAILING;
	bool beyond = !request->timestep_count && rules & SPACING_BEYOND;
	int rc = 0;

	timesteps.at = strata_arena_array(arena, timesteps.count + 1, sizeof(double));
	if (!timesteps.at)
		return strata_fail_memory(err);
	if (request->timestep_count)
		for (size_t i = 0; i < timesteps.count; i++)
			timesteps.at[i] = request->timesteps[i];
	else if (conf->timestep_spacing == SPACING_LEADING)
		leading(conf, top, rules, &timesteps);
	else if (is_trailing)
		trailing(train_count, top, &timesteps);
	else
		linspace(top, rules, &timesteps);
	if (is_trailing && !beyond)
		rc = check_end(&timesteps, request->steps, train_count, err);
	if (rc == 0 && !beyond)
		rc = check(&timesteps, train_count, err);
	if (rc == 0)
		*ret_timesteps = timesteps;
	return rc;
}

int spacing_first(const struct strata_solver_request *request, size_t count, size_t *ret_first,
		  struct strata_error *err)
{
	/* those that were asked for: there may be fewer, where the end of the training is left out */
	size_t asked = request->timestep_count || request->steps < 1 ? count
								     : (size_t)request->steps;
	size_t first = 0;

	if (request->has_strength)
		first = asked - (size_t)((double)asked * request->strength);
	if (first >= count)
		return strata_fail_at(err, -EINVAL, "strength",
				      "strength %g leaves none of %zu steps; expected at least %g",
				      request->strength, count,
				      (double)(asked - count + 1) / (double)asked);
	*ret_first = first;
	return 0;
}
