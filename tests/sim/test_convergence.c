/*
 * Orders of convergence. On data whose score is known exactly the error of a deterministic solver falls as a power of the number of
 * steps, and the power is its order: whatever is wrong with a coefficient shows here, also where no other program's figures are
 * at hand. A solver of the registry that is not in the table must at least converge, unless it draws noise.
 */
#include "unit/table_sample.h"

#include "bench/mixture.h"

#include <math.h>
#include <stdlib.h>

enum { LEVELS_MAX = 512 };

/* Where the noise levels come from. */
enum levels {
	EVEN, /* evenly in their logarithm from 300 to 0.2, which hides the first steps of lower order: there is nothing to see yet */
	OWN,  /* the solver's, down to 0.2 */
	OWN_UP, /* the solver's, up to 10 */
};

#define FINE "num_train_timesteps=16000:beta_start=0.000053125:beta_end=0.00075"

static const struct expected {
	const char *solver;
	double order;
	enum levels levels;
	int from, to; /* steps between which the error's fall is measured */
} expected[] = {
	{ "ddim:" FINE, 1, OWN, 96, 384 },
	{ "ddim_cogvideox:" FINE, 1, OWN, 96, 384 },
	{ "ddim_inverse:" FINE, 1, OWN_UP, 48, 384 },
	{ "deis:solver_order=1", 1, EVEN, 24, 96 },
	{ "deis", 2, EVEN, 24, 96 },
	{ "deis:solver_order=3", 3, EVEN, 48, 96 },
	{ "dpm2", 2, EVEN, 24, 96 },
	{ "dpm2_ancestral:eta=0", 2, EVEN, 24, 96 },
	{ "dpm_fast", 3, OWN, 48, 192 },
	{ "dpmpp_2m:solver_order=1", 1, EVEN, 24, 96 },
	{ "dpmpp_2m", 2, EVEN, 48, 192 },
	{ "dpmpp_2m:solver_type=heun", 2, EVEN, 48, 192 },
	{ "dpmpp_2m:algorithm_type=dpmsolver:k_diffusion", 2, EVEN, 48, 192 },
	{ "dpmpp_2m:algorithm_type=sde-dpmsolver++:eta=0", 2, EVEN, 48, 192 },
	/* As published it has half of the second difference that third order takes; so have its relatives below. */
	{ "dpmpp_2m:solver_order=3", 2, EVEN, 96, 384 },
	{ "dpmpp_2m_v2", 2, EVEN, 48, 192 },
	{ "dpmpp_2s_ancestral:eta=0", 2, EVEN, 24, 96 },
	{ "dpmpp_3m_sde:eta=0", 2, EVEN, 96, 384 },
	{ "dpmpp_inverse:use_karras_sigmas=true", 2, OWN_UP, 24, 192 },
	{ "dpmpp_sde:eta=0", 2, EVEN, 24, 96 },
	{ "dpmpp_single:solver_order=1", 1, EVEN, 24, 96 },
	{ "dpmpp_single", 2, EVEN, 24, 96 },
	{ "dpmpp_single:solver_order=3", 3, EVEN, 24, 96 },
	{ "edm_dpmpp", 2, EVEN, 48, 192 },
	{ "edm_euler", 1, EVEN, 24, 96 },
	{ "euler", 1, EVEN, 24, 96 },
	{ "euler_ancestral:eta=0", 1, EVEN, 24, 96 },
	{ "flow_euler", 1, OWN, 48, 384 },
	{ "flow_heun", 2, OWN, 48, 384 },
	{ "dpmpp_2m_cfg_pp", 2, EVEN, 96, 384 },
	{ "euler_cfg_pp", 1, EVEN, 96, 384 },
	{ "gradient_estimation", 1, EVEN, 96, 384 },
	{ "heun", 2, EVEN, 24, 96 },
	{ "heunpp2", 1, EVEN, 24, 96 }, /* three calls, but weights that change with the noise */
	/* Its schedule starts without any signal, and what the first step then takes for 0 remains. */
	{ "ipndm", 1, OWN, 192, 384 },
	{ "ipndm_v:max_order=1", 1, EVEN, 24, 96 },
	{ "ipndm_v:max_order=2", 2, EVEN, 48, 192 },
	{ "ipndm_v:max_order=3", 3, EVEN, 96, 192 },
	/* Its weight of the second difference is right for even steps only. */
	{ "ipndm_v", 3, EVEN, 128, 384 },
	{ "lms:order=1", 1, EVEN, 24, 96 },
	{ "lms:order=2", 2, EVEN, 48, 192 },
	{ "lms:order=3", 3, EVEN, 48, 192 },
	{ "lms", 4, EVEN, 48, 192 },
	{ "ltx_euler_ancestral_rf:eta=0", 1, OWN, 48, 384 },
	/* Fourth-order weights for even timesteps, on a path that is not even: second order, says the paper too. */
	{ "pndm:" FINE, 2, OWN, 96, 384 },
	{ "res_multistep", 2, EVEN, 48, 192 },
	/* Of fourth order but for its last steps, which are of first. */
	{ "sa_solver_pece:eta=0", 2, EVEN, 24, 96 },
	{ "seeds:eta=0", 2, EVEN, 24, 96 },
	{ "seeds:eta=0:solver_type=phi_2", 2, EVEN, 24, 96 },
	{ "seeds:eta=0:solver_type=phi_2:r=1", 2, EVEN, 24, 96 },
	{ "seeds:eta=0:stages=3", 3, EVEN, 12, 48 },
	/* The correction is of one order more than the prediction. */
	{ "unipc:solver_order=1:k_diffusion", 2, EVEN, 24, 96 },
	{ "unipc:k_diffusion", 3, EVEN, 24, 96 },
	{ "unipc:solver_order=3:k_diffusion", 4, EVEN, 12, 48 },
	{ "unipc:predict_x0=false:k_diffusion", 3, EVEN, 24, 96 },
	{ "unipc:solver_type=bh1:k_diffusion", 3, EVEN, 24, 96 },
};

static struct strata_solver_table *compile(const struct expected *one, int steps,
					   struct strata_memory *memory, struct strata_arena *arena)
{
	double sigmas[LEVELS_MAX];

	if (one->levels != EVEN)
		return sample_table(one->solver, steps, memory, arena);
	for (int i = 0; i <= steps; i++)
		sigmas[i] = exp(log(300) + (log(0.2) - log(300)) * i / steps);
	return sample_table_at(one->solver, sigmas, (size_t)steps + 1, memory, arena);
}

static double error_of(const struct expected *one, int steps)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct strata_error err;
	struct mixture_run run;

	strata_arena_init(&arena, &memory, 0);
	struct strata_solver_table *table = compile(one, steps, &memory, &arena);

	CHECK_OK(mixture_denoise(table, one->levels == OWN_UP ? 10 : 0.2 * (1 + 1e-6),
				 strata_isa_best(), &memory, &run, &err));
	strata_solver_table_free(table, &memory);
	strata_arena_fini(&arena);
	return run.error;
}

TEST(every_solver_has_the_order_it_should_have)
{
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		const struct expected *one = &expected[i];
		double first = error_of(one, one->from), last = error_of(one, one->to);
		double order = log(first / last) / log((double)one->to / one->from);

		if (!(fabs(order - one->order) <= 0.35))
			test_fail(__FILE__, __LINE__,
				  "%s: the error falls from %.2g to %.2g between %d and %d steps, "
				  "order %.2f; expected %g",
				  one->solver, first, last, one->from, one->to, order, one->order);
	}
}

static bool is_in_the_table(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		if (strncmp(expected[i].solver, name, length) == 0 &&
		    (expected[i].solver[length] == ':' || !expected[i].solver[length]))
			return true;
	return false;
}

/* Its error at the end, with so many steps of its own; negative when there is none to measure. */
static double error_at_end(const struct strata_class *cls, int steps)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct strata_error err;
	struct mixture_run run = { .error = -1 };

	strata_arena_init(&arena, &memory, 0);
	struct strata_solver_table *table = sample_table(cls->name, steps, &memory, &arena);

	if (!table->cls->next_row) /* else it chooses its steps: see below */
		mixture_denoise(table, 0.2, strata_isa_best(), &memory, &run, &err);
	strata_solver_table_free(table, &memory);
	strata_arena_fini(&arena);
	return run.error;
}

TEST(every_other_solver_converges_or_draws_noise)
{
	for (size_t i = 0; strata_solver_kind.classes[i]; i++) {
		const struct strata_class *cls = strata_solver_kind.classes[i];

		if (is_in_the_table(cls->name))
			continue;
		double first = error_at_end(cls, 10), last = error_at_end(cls, 40);

		if (first >= 0 && !(last < first / 2))
			test_fail(__FILE__, __LINE__,
				  "%s: the error is %.2g with 10 steps and %.2g with 40", cls->name,
				  first, last);
	}
}

TEST(the_adaptive_solver_gives_what_its_tolerance_asks_for)
{
	static const char *const specs[] = { "dpm_adaptive", "dpm_adaptive:rtol=0.005:atol=0.001",
					     "dpm_adaptive:rtol=0.0005:atol=0.0001" };
	struct mixture_run runs[3];

	for (size_t i = 0; i < 3; i++) {
		struct strata_memory memory = { 0 };
		struct strata_arena arena;
		struct strata_error err;

		strata_arena_init(&arena, &memory, 0);
		struct strata_solver_table *table = sample_table(specs[i], 1, &memory, &arena);

		CHECK_OK(mixture_denoise(table, 0, strata_isa_best(), &memory, &runs[i], &err));
		strata_solver_table_free(table, &memory);
		strata_arena_fini(&arena);
	}
	CHECK(runs[0].calls < runs[1].calls && runs[1].calls < runs[2].calls);
	/* It stops at the least noise that the model knows, 0.03, and of that some 0.0006 remain. */
	CHECK(runs[1].error < runs[0].error / 10 && runs[2].error < 0.001);
}
