/*
 * What many solvers have in common to set, under the keys of a diffusers scheduler_config.json. A class's own struct
 * starts with a struct solver_conf; its option table takes the groups of rows it understands from the macros below and
 * adds its own. Defaults are those of Stable Diffusion; where a file was read, the class's file_defaults stand in for
 * keys it lacks.
 */
#ifndef SOLVER_SOLVER_CONF_H
#define SOLVER_SOLVER_CONF_H

#include <strata/solver.h>

#include <math.h>

enum beta_schedule {
	BETAS_LINEAR,
	BETAS_SCALED_LINEAR,
	BETAS_SQUAREDCOS_CAP_V2,
	BETAS_SIGMOID,
	BETAS_LAPLACE,
	BETAS_EXP,
};
enum prediction_type { PREDICTION_EPSILON, PREDICTION_V, PREDICTION_SAMPLE, PREDICTION_FLOW };
enum final_sigmas { FINAL_ZERO, FINAL_SIGMA_MIN };
enum time_shift { TIME_SHIFT_EXPONENTIAL, TIME_SHIFT_LINEAR };
enum timestep_spacing { SPACING_LEADING, SPACING_TRAILING, SPACING_LINSPACE };

struct solver_conf {
	/* how the model was trained */
	int64_t num_train_timesteps;
	double beta_start, beta_end;
	struct strata_list trained_betas; /* doubles; count 0: by beta_schedule */
	int beta_schedule;
	/* what it predicts */
	int prediction_type;
	/* how that is limited */
	double dynamic_thresholding_ratio, sample_max_value, clip_sample_range;
	bool thresholding, clip_sample;
	bool rescale_betas_zero_snr;
	/* which noise levels: by schedule … */
	bool use_karras_sigmas, use_exponential_sigmas, use_beta_sigmas, use_lu_lambdas;
	bool use_flow_sigmas, use_dynamic_shifting;
	bool k_diffusion; /* noise is drawn, and the sample scaled, as there */
	/* … by timesteps … */
	int timestep_spacing;
	int final_sigmas_type;
	int64_t steps_offset;
	double sigma_min, sigma_max; /* 0: the training's */
	/* … and of flows */
	double flow_shift;
	double shift_terminal; /* 0: none */
	int time_shift_type;
	/* noise along the way */
	double eta, s_noise, s_churn, s_tmin, s_tmax;
};

extern const struct strata_choice conf_beta_schedules[];
extern const struct strata_choice conf_beta_schedules_ddpm[]; /* and sigmoid, laplace */
extern const struct strata_choice conf_beta_schedules_heun[]; /* and exp */
extern const struct strata_choice conf_predictions[];         /* epsilon, v_prediction, sample */
extern const struct strata_choice conf_predictions_flow[];    /* and flow_prediction */
extern const struct strata_choice conf_spacings[];
extern const struct strata_choice conf_finals[];
extern const struct strata_choice conf_time_shifts[];
extern const struct strata_option conf_beta_item;

#define CONF_AT(field) offsetof(struct solver_conf, field)

/* clang-format off */
#define CONF_TRAINING CONF_TRAINING_BY(conf_beta_schedules)
#define CONF_TRAINING_BY(schedules)                                                                                      \
	{ "num_train_timesteps", STRATA_INT, CONF_AT(num_train_timesteps),                                               \
	  .integer = { 1000, 1, STRATA_TRAIN_STEPS_MAX }, .aliases = "train_timesteps",                                  \
	  .help = "timesteps the model was trained with" },                                                              \
	{ "beta_start", STRATA_REAL, CONF_AT(beta_start), .real = { 0.00085, 0, 0.999 },                                 \
	  .help = "variance added by the first timestep" },                                                              \
	{ "beta_end", STRATA_REAL, CONF_AT(beta_end), .real = { 0.012, 0, 0.999 },                                       \
	  .help = "variance added by the last timestep" },                                                               \
	{ "beta_schedule", STRATA_ENUM, CONF_AT(beta_schedule),                                                          \
	  .choice = { schedules, BETAS_SCALED_LINEAR }, .help = "how it grows in between" },                             \
	{ "trained_betas", STRATA_LIST, CONF_AT(trained_betas),                                                          \
	  .list = { &conf_beta_item, STRATA_TRAIN_STEPS_MAX, NULL }, .help = "all of them, in place of these" }
#define CONF_ZERO_SNR                                                                                                    \
	{ "rescale_betas_zero_snr", STRATA_BOOL, CONF_AT(rescale_betas_zero_snr),                                        \
	  .help = "the last timestep is pure noise" }
#define CONF_PREDICTION(choices)                                                                                         \
	{ "prediction_type", STRATA_ENUM, CONF_AT(prediction_type), .choice = { choices, PREDICTION_EPSILON },           \
	  .help = "what the model predicts" }
#define CONF_THRESHOLDING                                                                                                \
	{ "thresholding", STRATA_BOOL, CONF_AT(thresholding),                                                            \
	  .help = "hold the clean sample within a quantile of its own magnitude" },                                      \
	{ "dynamic_thresholding_ratio", STRATA_REAL, CONF_AT(dynamic_thresholding_ratio), .real = { 0.995, 0, 1 },       \
	  .help = "that quantile" },                                                                                     \
	{ "sample_max_value", STRATA_REAL, CONF_AT(sample_max_value), .real = { 1, 1, 1e6 },                             \
	  .help = "the most it may be" }
#define CONF_CLIP                                                                                                        \
	{ "clip_sample", STRATA_BOOL, CONF_AT(clip_sample), .help = "hold the clean sample within a range" },            \
	{ "clip_sample_range", STRATA_REAL, CONF_AT(clip_sample_range), .real = { 1, 1e-6, 1e6 },                        \
	  .help = "that range" }
#define CONF_SPACING(def_spacing, def_offset)                                                                            \
	{ "timestep_spacing", STRATA_ENUM, CONF_AT(timestep_spacing), .choice = { conf_spacings, def_spacing },          \
	  .help = "where the timesteps lie" },                                                                           \
	{ "steps_offset", STRATA_INT, CONF_AT(steps_offset), .integer = { def_offset, 0, STRATA_TRAIN_STEPS_MAX },       \
	  .help = "added to leading timesteps" }
#define CONF_SIGMAS                                                                                                      \
	{ "use_karras_sigmas", STRATA_BOOL, CONF_AT(use_karras_sigmas), .help = "the schedule karras" },                 \
	{ "use_exponential_sigmas", STRATA_BOOL, CONF_AT(use_exponential_sigmas),                                        \
	  .help = "the schedule exponential" },                                                                          \
	{ "use_beta_sigmas", STRATA_BOOL, CONF_AT(use_beta_sigmas), .help = "the schedule beta" }
/* What most solvers on sigmas take. */
#define CONF_ON_SIGMAS                                                                                                   \
	CONF_TRAINING, CONF_ZERO_SNR, CONF_PREDICTION(conf_predictions), CONF_SPACING(SPACING_LINSPACE, 1), CONF_SIGMAS
#define CONF_SIGMA_RANGE                                                                                                 \
	{ "sigma_min", STRATA_REAL, CONF_AT(sigma_min), .real = { 0, 0, 1e6 },                                           \
	  .help = "the schedule's last noise level (0: the training's)" },                                               \
	{ "sigma_max", STRATA_REAL, CONF_AT(sigma_max), .real = { 0, 0, 1e6 },                                           \
	  .help = "the schedule's first noise level (0: the training's)" }
#define CONF_FINAL(def_final)                                                                                            \
	{ "final_sigmas_type", STRATA_ENUM, CONF_AT(final_sigmas_type), .choice = { conf_finals, def_final },            \
	  .help = "what the last step ends at" }
#define CONF_FLOW_SIGMAS                                                                                                 \
	{ "use_flow_sigmas", STRATA_BOOL, CONF_AT(use_flow_sigmas), .help = "the noise levels of a flow" },              \
	{ "flow_shift", STRATA_REAL, CONF_AT(flow_shift), .real = { 1, 1e-3, 1e3 }, .aliases = "shift",                  \
	  .help = "how far they are shifted towards noise" },                                                            \
	CONF_DYNAMIC_SHIFT
#define CONF_DYNAMIC_SHIFT                                                                                               \
	{ "use_dynamic_shifting", STRATA_BOOL, CONF_AT(use_dynamic_shifting),                                            \
	  .help = "the shift goes by the picture's size (mu)" },                                                         \
	{ "time_shift_type", STRATA_ENUM, CONF_AT(time_shift_type),                                                      \
	  .choice = { conf_time_shifts, TIME_SHIFT_EXPONENTIAL }, .help = "how mu shifts" }
#define CONF_K_DIFFUSION                                                                                                 \
	{ "k_diffusion", STRATA_BOOL, CONF_AT(k_diffusion),                                                              \
	  .help = "noise is drawn when k-diffusion draws it, and the sample is clean + sigma * noise" }
#define CONF_ETA(def_eta, max_eta)                                                                                            \
	{ "eta", STRATA_REAL, CONF_AT(eta), .real = { def_eta, 0, max_eta }, .help = "how much of the noise is new" },        \
	{ "s_noise", STRATA_REAL, CONF_AT(s_noise), .real = { 1, 0, 10 }, .help = "scale of that noise" }
#define CONF_CHURN                                                                                                       \
	{ "s_churn", STRATA_REAL, CONF_AT(s_churn), .real = { 0, 0, 1e6 },                                               \
	  .help = "noise added before each step (0: none)" },                                                            \
	{ "s_tmin", STRATA_REAL, CONF_AT(s_tmin), .real = { 0, 0, INFINITY }, .help = "only above this sigma" },         \
	{ "s_tmax", STRATA_REAL, CONF_AT(s_tmax), .real = { INFINITY, 0, INFINITY },                                     \
	  .help = "only below this sigma" },                                                                             \
	{ "s_noise", STRATA_REAL, CONF_AT(s_noise), .real = { 1, 0, 10 }, .help = "scale of that noise" }
/* clang-format on */

#endif
