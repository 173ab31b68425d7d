/* What each family of models is usually sampled with: the solver that its authors ship, with what is particular to it. */
#include <strata/solver.h>

#include "core/class.h"
#include "core/text.h"

#include <errno.h>
#include <string.h>

/* clang-format off */
static const struct strata_model_family families[] = {
	{ "auraflow", "AuraFlow", "flow_euler:shift=1.73" },
	{ "cogvideox", "CogVideoX", "ddim_cogvideox:prediction_type=v_prediction:rescale_betas_zero_snr:timestep_spacing=trailing" },
	{ "consistency", "consistency model, CM", "consistency" },
	{ "deepfloyd_if", "DeepFloyd IF, IF", "ddpm:beta_start=0.0001:beta_end=0.02:beta_schedule=squaredcos_cap_v2:thresholding:dynamic_thresholding_ratio=0.95:sample_max_value=1.5:steps_offset=0" },
	{ "edm", "EDM, EDM2", "edm_euler" },
	{ "flux", "FLUX, FLUX.1, FLUX.1-dev, flux_dev", "flow_euler:shift=3:use_dynamic_shifting" },
	{ "flux_schnell", "FLUX.1-schnell", "flow_euler:shift=1" },
	{ "hunyuan_video", "HunyuanVideo", "flow_euler:shift=7" },
	{ "hyper_sd", "Hyper-SD, TCD", "tcd" },
	{ "kandinsky", "Kandinsky 2.2", "ddpm:beta_start=0.00085:beta_end=0.012:beta_schedule=linear:steps_offset=0" },
	{ "lcm", "LCM, LCM-LoRA", "lcm" },
	{ "ltx_video", "LTX-Video, LTX", "flow_euler:shift=1:use_dynamic_shifting:shift_terminal=0.1" },
	{ "lumina", "Lumina 2, Lumina-Image", "flow_euler:shift=6" },
	{ "mochi", "Mochi 1", "flow_euler:shift=1:invert_sigmas" },
	{ "pixart", "PixArt-alpha, PixArt-sigma", "dpmpp_2m:beta_start=0.0001:beta_end=0.02:beta_schedule=linear:steps_offset=0" },
	{ "playground", "Playground v2.5", "edm_dpmpp:sigma_data=0.5:sigma_max=80" },
	{ "qwen_image", "Qwen-Image", "flow_euler:shift=1:use_dynamic_shifting:shift_terminal=0.02" },
	{ "sana", "SANA", "dpmpp_2m:prediction_type=flow_prediction:use_flow_sigmas:flow_shift=3" },
	{ "sd15", "SD 1.5, SD1, SD 1.4, Stable Diffusion 1.5, stable-diffusion-v1-5", "ddim" },
	{ "sd2", "SD 2, SD 2.1, Stable Diffusion 2.1", "ddim:prediction_type=v_prediction" },
	{ "sd3", "SD 3, SD 3.5, Stable Diffusion 3, Stable Diffusion 3.5", "flow_euler:shift=3" },
	{ "sdxl", "SD XL, Stable Diffusion XL", "euler:timestep_spacing=leading" },
	{ "sdxl_lightning", "SDXL-Lightning", "euler:timestep_spacing=trailing" },
	{ "sdxl_turbo", "SDXL-Turbo, SD-Turbo", "euler_ancestral:timestep_spacing=trailing" },
	{ "svd", "Stable Video Diffusion", "euler:prediction_type=v_prediction:timestep_type=continuous:use_karras_sigmas:sigma_min=0.002:sigma_max=700:timestep_spacing=leading" },
	{ "wan", "Wan 2.1, Wan 2.2", "unipc:prediction_type=flow_prediction:use_flow_sigmas:flow_shift=3" },
};
/* clang-format on */

enum { FAMILIES = sizeof(families) / sizeof(families[0]) };

const struct strata_model_family *strata_model_family_at(size_t index)
{
	return index < FAMILIES ? &families[index] : NULL;
}

int strata_model_family_find(const char *name, size_t length,
			     const struct strata_model_family **ret_family,
			     struct strata_error *err)
{
	struct text_closest closest;
	char excerpt[TEXT_EXCERPT_BYTES];

	text_closest_init(&closest, name, length);
	for (size_t i = 0; i < FAMILIES; i++) {
		struct strata_class cls = { .name = families[i].name,
					    .aliases = families[i].aliases };

		if (class_is_called(&cls, name, length)) {
			*ret_family = &families[i];
			return 0;
		}
		text_closest_offer(&closest, families[i].name);
	}
	return strata_fail_at(err, -ENOENT, "family", "there is no model family '%s'%s%s%s",
			      text_excerpt(name, length, excerpt),
			      closest.best ? "; did you mean '" : "",
			      closest.best ? closest.best : "", closest.best ? "'?" : "");
}
