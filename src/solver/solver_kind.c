/* The solvers, one line each, sorted. */
#include <strata/solver.h>

extern const struct strata_solver_class strata_solver_consistency;
extern const struct strata_solver_class strata_solver_ddim;
extern const struct strata_solver_class strata_solver_ddim_cogvideox;
extern const struct strata_solver_class strata_solver_ddim_inverse;
extern const struct strata_solver_class strata_solver_ddpm;
extern const struct strata_solver_class strata_solver_deis;
extern const struct strata_solver_class strata_solver_dpm2;
extern const struct strata_solver_class strata_solver_dpm2_ancestral;
extern const struct strata_solver_class strata_solver_dpm_adaptive;
extern const struct strata_solver_class strata_solver_dpm_fast;
extern const struct strata_solver_class strata_solver_dpmpp_2m;
extern const struct strata_solver_class strata_solver_dpmpp_2s_ancestral;
extern const struct strata_solver_class strata_solver_dpmpp_3m_sde;
extern const struct strata_solver_class strata_solver_dpmpp_inverse;
extern const struct strata_solver_class strata_solver_dpmpp_sde;
extern const struct strata_solver_class strata_solver_dpmpp_single;
extern const struct strata_solver_class strata_solver_edm_dpmpp;
extern const struct strata_solver_class strata_solver_edm_euler;
extern const struct strata_solver_class strata_solver_euler;
extern const struct strata_solver_class strata_solver_euler_ancestral;
extern const struct strata_solver_class strata_solver_flow_euler;
extern const struct strata_solver_class strata_solver_flow_heun;
extern const struct strata_solver_class strata_solver_flow_lcm;
extern const struct strata_solver_class strata_solver_heun;
extern const struct strata_solver_class strata_solver_ipndm;
extern const struct strata_solver_class strata_solver_lcm;
extern const struct strata_solver_class strata_solver_lms;
extern const struct strata_solver_class strata_solver_ltx_euler_ancestral_rf;
extern const struct strata_solver_class strata_solver_pndm;
extern const struct strata_solver_class strata_solver_sa_solver;
extern const struct strata_solver_class strata_solver_tcd;
extern const struct strata_solver_class strata_solver_unipc;

/* clang-format off */
static const struct strata_class *const classes[] = {
	&strata_solver_consistency.base,
	&strata_solver_ddim.base,
	&strata_solver_ddim_cogvideox.base,
	&strata_solver_ddim_inverse.base,
	&strata_solver_ddpm.base,
	&strata_solver_deis.base,
	&strata_solver_dpm2.base,
	&strata_solver_dpm2_ancestral.base,
	&strata_solver_dpm_adaptive.base,
	&strata_solver_dpm_fast.base,
	&strata_solver_dpmpp_2m.base,
	&strata_solver_dpmpp_2s_ancestral.base,
	&strata_solver_dpmpp_3m_sde.base,
	&strata_solver_dpmpp_inverse.base,
	&strata_solver_dpmpp_sde.base,
	&strata_solver_dpmpp_single.base,
	&strata_solver_edm_dpmpp.base,
	&strata_solver_edm_euler.base,
	&strata_solver_euler.base,
	&strata_solver_euler_ancestral.base,
	&strata_solver_flow_euler.base,
	&strata_solver_flow_heun.base,
	&strata_solver_flow_lcm.base,
	&strata_solver_heun.base,
	&strata_solver_ipndm.base,
	&strata_solver_lcm.base,
	&strata_solver_lms.base,
	&strata_solver_ltx_euler_ancestral_rf.base,
	&strata_solver_pndm.base,
	&strata_solver_sa_solver.base,
	&strata_solver_tcd.base,
	&strata_solver_unipc.base,
	NULL,
};
/* clang-format on */

const struct strata_kind strata_solver_kind = {
	.name = "solver",
	.summary = "how a denoising trajectory is stepped",
	.classes = classes,
};
