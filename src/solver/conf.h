/*
 * What many solvers have in common to set, under the keys of a diffusers scheduler_config.json. A class's own struct
 * starts with a struct solver_conf; its option table takes the groups of rows it understands from the macros below and
 * adds its own. Defaults are those of Stable Diffusion; where a file was read, the class's file_defaults stand in for
 * keys it lacks.
 */
#ifndef SOLVER_CONF_H
#define SOLVER_CONF_H

#include <strata/solver.h>

enum beta_schedule { BETAS_LINEAR, BETAS_SCALED_LINEAR, BETAS_SQUAREDCOS_CAP_V2, BETAS_SIGMOID };
enum prediction_type { PREDICTION_EPSILON, PREDICTION_V, PREDICTION_SAMPLE, PREDICTION_FLOW };
enum timestep_spacing { SPACING_LEADING, SPACING_TRAILING, SPACING_LINSPACE };

struct solver_conf {
	/* how the model was trained */
	int64_t num_train_timesteps;
	double beta_start, beta_end;
	int beta_schedule;
	struct strata_list trained_betas; /* doubles; count 0: by beta_schedule */
	bool rescale_betas_zero_snr;
	/* what it predicts, and how that is limited */
	int prediction_type;
	bool thresholding;
	double dynamic_thresholding_ratio, sample_max_value;
	bool clip_sample;
	double clip_sample_range;
	/* which timesteps */
	int timestep_spacing;
	int64_t steps_offset;
};

extern const struct strata_choice conf_beta_schedules[];
extern const struct strata_choice conf_predictions[];      /* epsilon, v_prediction, sample */
extern const struct strata_choice conf_predictions_flow[]; /* and flow_prediction */
extern const struct strata_choice conf_spacings[];
extern const struct strata_option conf_beta_item;

#define CONF_AT(field) offsetof(struct solver_conf, field)

/* clang-format off */
#define CONF_TRAINING                                                                                                    \
	{ "num_train_timesteps", STRATA_INT, CONF_AT(num_train_timesteps),                                               \
	  .integer = { 1000, 1, STRATA_TRAIN_STEPS_MAX }, .aliases = "train_timesteps",                                  \
	  .help = "timesteps the model was trained with" },                                                              \
	{ "beta_start", STRATA_REAL, CONF_AT(beta_start), .real = { 0.00085, 0, 0.999 },                                 \
	  .help = "variance added by the first timestep" },                                                              \
	{ "beta_end", STRATA_REAL, CONF_AT(beta_end), .real = { 0.012, 0, 0.999 },                                       \
	  .help = "variance added by the last timestep" },                                                               \
	{ "beta_schedule", STRATA_ENUM, CONF_AT(beta_schedule),                                                          \
	  .choice = { conf_beta_schedules, BETAS_SCALED_LINEAR }, .help = "how it grows in between" },                   \
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
/* clang-format on */

#endif
