/*
 * The names that users know. Most are aliases of a class; the others are in the table below: a class with some of its options set. A name may end in a schedule, as A1111 writes it: "DPM++ 2M Karras".
 */
#include <strata/solver.h>

#include "core/class.h"
#include "core/text.h"

#include <errno.h>
#include <string.h>

struct known {
	const char *name;
	const char *aliases;
	const char *solver;
	const char *options;   /* set by the name; may be NULL */
	const char *automatic; /* the schedule that A1111's "Automatic" means; NULL: none */
	bool exact;            /* its '_' counts: without it the name is another's */
	bool drops;            /* the schedule has one more level, and the last is left out */
};

/* clang-format off */
static const struct known table[] = {
	{ "ddim_trailing", NULL, "ddim", "timestep_spacing=trailing" },
	{ "dpm++2m_sde_bt", "dpm++ 2m sde gpu", "dpmpp_2m", "algorithm_type=sde-dpmsolver++", "exponential" },
	{ "dpm2", "DPM2, dpm_2, k_dpm_2", "dpm2", NULL, "karras", .drops = true },
	{ "dpm2_ancestral", "DPM2 a, dpm_2_ancestral, k_dpm_2_a", "dpm2_ancestral", NULL, "karras", .drops = true },
	{ "dpmpp_2m", "DPM++ 2M, dpm++2m, k_dpmpp_2m", "dpmpp_2m", NULL, "karras" },
	{ "dpmpp_2m_sde", "DPM++ 2M SDE, k_dpmpp_2m_sde, dpmpp_2m_sde_gpu, sample_dpmpp_2m_sde, dpm++2m_sde", "dpmpp_2m",
	  "algorithm_type=sde-dpmsolver++", "exponential" },
	{ "dpmpp_2m_sde_heun", "DPM++ 2M SDE Heun, k_dpmpp_2m_sde_heun, dpmpp_2m_sde_heun_gpu", "dpmpp_2m",
	  "algorithm_type=sde-dpmsolver++:solver_type=heun", "exponential" },
	{ "dpmpp_2s_ancestral", "DPM++ 2S a, k_dpmpp_2s_a", "dpmpp_2s_ancestral", NULL, "karras" },
	{ "dpmpp_3m_sde", "DPM++ 3M SDE, k_dpmpp_3m_sde, dpmpp_3m_sde_gpu", "dpmpp_3m_sde", NULL, "exponential", .drops = true },
	{ "dpmpp_sde", "DPM++ SDE, k_dpmpp_sde, dpmpp_sde_gpu", "dpmpp_sde", NULL, "karras" },
	{ "exp_heun_2_x0", "sample_exp_heun_2_x0", "seeds", "stages=2:r=1:solver_type=phi_2:eta=0" },
	{ "plms", NULL, "pndm", "skip_prk_steps=true" },
	{ "res_2s", "res_2s (RES4LYF)", "seeds", "stages=2:r=0.5:solver_type=phi_2:eta=0" },
	{ "seeds_2", "sample_seeds_2", "seeds", "stages=2" },
	{ "seeds_3", "sample_seeds_3", "seeds", "stages=3" },
	{ "uni_pc", NULL, "unipc", "solver_type=bh1", .exact = true, .drops = true },
	{ "uni_pc_bh2", NULL, "unipc", "solver_type=bh2", .drops = true },
};
/* clang-format on */

enum { KNOWN = sizeof(table) / sizeof(table[0]) };

static bool is_called(const struct known *known, const char *name, size_t length)
{
	struct strata_class cls = { .name = known->name, .aliases = known->aliases };
	size_t gaps = 0, own_gaps = 0;

	for (size_t i = 0; i < length; i++)
		gaps += strchr(" _-", name[i]) != NULL;
	for (const char *at = known->name; *at; at++)
		own_gaps += *at == '_';
	return class_is_called(&cls, name, length) && (!known->exact || gaps == own_gaps);
}

/* A class by name or alias, quietly. */
static const struct strata_class *class_called(const struct strata_registry *registry,
					       const char *name, size_t length)
{
	const struct strata_class *cls;

	for (size_t i = 0; registry && (cls = strata_registry_at(registry, i)); i++)
		if (class_is_called(cls, name, length))
			return cls;
	return NULL;
}

/* A name without a schedule behind it. */
static bool find_sampler(const struct strata_registry *solvers, const char *name, size_t length,
			 struct strata_solver_name *ret_name, const struct known **ret_known)
{
	*ret_known = NULL;
	for (size_t i = 0; i < KNOWN; i++)
		if (is_called(&table[i], name, length)) {
			const char *solver = table[i].solver;

			*ret_known = &table[i];
			*ret_name = (struct strata_solver_name){
				.cls = class_called(solvers, solver, strlen(solver)),
				.options = table[i].options,
				.drop_penultimate = table[i].drops,
			};
			return true;
		}
	*ret_name = (struct strata_solver_name){ .cls = class_called(solvers, name, length) };
	return ret_name->cls != NULL;
}

static bool find_schedule(const struct strata_registry *schedules, const char *name, size_t length,
			  const struct known *known, struct strata_solver_name *ret_name)
{
	if (text_same(name, length, "automatic")) {
		name = known ? known->automatic : NULL;
		length = name ? strlen(name) : 0;
		if (!name)
			return true;
	}
	ret_name->schedule = class_called(schedules, name, length);
	return ret_name->schedule != NULL;
}

/* The whole name, or one that a schedule follows. */
static bool find(const struct strata_registry *solvers, const struct strata_registry *schedules,
		 const char *name, size_t length, struct strata_solver_name *ret_name,
		 const struct known **ret_known)
{
	if (find_sampler(solvers, name, length, ret_name, ret_known))
		return true;
	for (size_t i = 1; schedules && i + 1 < length; i++)
		if (strchr(" _-", name[i]) && find_sampler(solvers, name, i, ret_name, ret_known) &&
		    find_schedule(schedules, name + i + 1, length - i - 1, *ret_known, ret_name))
			return true;
	return false;
}

static int unknown(const struct strata_registry *solvers, const char *name, size_t length,
		   struct strata_error *err)
{
	const struct strata_class *cls;
	struct text_closest closest;
	char excerpt[TEXT_EXCERPT_BYTES];

	text_closest_init(&closest, name, length);
	for (size_t i = 0; i < KNOWN; i++)
		text_closest_offer(&closest, table[i].name);
	for (size_t i = 0; (cls = strata_registry_at(solvers, i)); i++) {
		const char *at = cls->aliases, *alias;
		size_t alias_length;

		text_closest_offer(&closest, cls->name);
		while (class_next_alias(&at, &alias, &alias_length))
			text_closest_offer_as(&closest, alias, alias_length, cls->name);
	}
	return strata_fail_at(err, -ENOENT, "solver", "there is no solver '%s'; %s%s%s",
			      text_excerpt(name, length, excerpt),
			      closest.best ? "did you mean '" : "`strata solver list` has them",
			      closest.best ? closest.best : "", closest.best ? "'?" : "");
}

/* What a family of models is usually sampled with: a class and its options. */
static bool find_family(const struct strata_registry *solvers, const char *name, size_t length,
			struct strata_solver_name *ret_name)
{
	const struct strata_model_family *family;

	if (strata_model_family_find(name, length, &family, NULL))
		return false;
	const char *colon = strchr(family->solver, ':');

	*ret_name = (struct strata_solver_name){
		.cls = class_called(solvers, family->solver, strcspn(family->solver, ":")),
		.options = colon ? colon + 1 : NULL,
	};
	return ret_name->cls != NULL;
}

int strata_solver_find(const struct strata_registry *solvers,
		       const struct strata_registry *schedules, const char *name, size_t length,
		       struct strata_solver_name *ret_name, struct strata_error *err)
{
	char plain[STRATA_NAME_BYTES_MAX + 1];
	struct strata_solver_name found;
	const struct known *known;
	size_t skip = length > 2 && text_same(name, 2, "k_") ? 2 : 0;
	char *pp;

	if (length > STRATA_NAME_BYTES_MAX || memchr(name, 0, length))
		return unknown(solvers, name, length, err);
	memcpy(plain, name, length);
	plain[length] = 0;
	while ((pp = strstr(plain, "++")))
		memcpy(pp, "pp", 2);
	if (!find(solvers, schedules, name, length, &found, &known) &&
	    !find(solvers, schedules, plain, length, &found, &known) &&
	    !find(solvers, schedules, plain + skip, length - skip, &found, &known) &&
	    !find_family(solvers, name, length, &found))
		return unknown(solvers, name, length, err);
	if (!found.cls)
		return strata_fail_at(err, -ENOENT, "solver", "%s is %s, which was left out",
				      known->name, known->solver);
	*ret_name = found;
	return 0;
}

const char *strata_solver_other_name(size_t index)
{
	return index < KNOWN ? table[index].name : NULL;
}
