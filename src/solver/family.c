/* What each family of models is usually sampled with: the solver that its authors ship, with what is particular to it, and the steps,
 * size and guidance that their pipelines begin with. */
#include <strata/solver.h>

#include "core/class.h"
#include "core/text.h"

#include <errno.h>
#include <string.h>

/* clang-format off */
static const struct strata_model_family families[] = {
	{ "auraflow", "AuraFlow, AuraFlowPipeline", "flow_euler:shift=1.73", 50, 1024, 3.5 },
	{ "cogvideox", "CogVideoX, CogVideoXPipeline", "ddim_cogvideox:prediction_type=v_prediction:rescale_betas_zero_snr:timestep_spacing=trailing", 50, 0, 6 },
	{ "consistency", "consistency model, CM, ConsistencyModelPipeline", "consistency", 1, 64, 0 },
	{ "deepfloyd_if", "DeepFloyd IF, IF, IFPipeline", "ddpm:beta_start=0.0001:beta_end=0.02:beta_schedule=squaredcos_cap_v2:thresholding:dynamic_thresholding_ratio=0.95:sample_max_value=1.5:steps_offset=0", 50, 64, 7 },
	{ "edm", "EDM, EDM2", "edm_euler", 18, 64, 0 },
	{ "flux", "FLUX, FLUX.1, FLUX.1-dev, flux_dev, FluxPipeline", "flow_euler:shift=3:use_dynamic_shifting", 28, 1024, 3.5 },
	{ "flux_schnell", "FLUX.1-schnell", "flow_euler:shift=1", 4, 1024, 0 },
	{ "hunyuan_video", "HunyuanVideo, HunyuanVideoPipeline", "flow_euler:shift=7", 50, 0, 6 },
	{ "hyper_sd", "Hyper-SD, TCD", "tcd", 4, 0, 0 },
	{ "kandinsky", "Kandinsky 2.2, KandinskyV22Pipeline", "ddpm:beta_start=0.00085:beta_end=0.012:beta_schedule=linear:steps_offset=0", 50, 512, 4 },
	{ "lcm", "LCM, LCM-LoRA, LatentConsistencyModelPipeline", "lcm", 4, 512, 8.5 },
	{ "ltx_video", "LTX-Video, LTX, LTXPipeline", "flow_euler:shift=1:use_dynamic_shifting:shift_terminal=0.1", 50, 0, 3 },
	{ "lumina", "Lumina 2, Lumina-Image, Lumina2Pipeline", "flow_euler:shift=6", 30, 1024, 4 },
	{ "mochi", "Mochi 1, MochiPipeline", "flow_euler:shift=1:invert_sigmas", 64, 0, 4.5 },
	{ "pixart", "PixArt-alpha, PixArt-sigma, PixArtAlphaPipeline, PixArtSigmaPipeline", "dpmpp_2m:beta_start=0.0001:beta_end=0.02:beta_schedule=linear:steps_offset=0", 20, 1024, 4.5 },
	{ "playground", "Playground v2.5", "edm_dpmpp:sigma_data=0.5:sigma_max=80", 50, 1024, 3 },
	{ "qwen_image", "Qwen-Image, QwenImagePipeline", "flow_euler:shift=1:use_dynamic_shifting:shift_terminal=0.02", 50, 1024, 4 },
	{ "sana", "SANA, SanaPipeline", "dpmpp_2m:prediction_type=flow_prediction:use_flow_sigmas:flow_shift=3", 20, 1024, 4.5 },
	{ "sd15", "SD 1.5, SD1, SD 1.4, Stable Diffusion 1.5, stable-diffusion-v1-5, StableDiffusionPipeline", "ddim", 50, 512, 7.5 },
	{ "sd2", "SD 2, SD 2.1, Stable Diffusion 2.1", "ddim:prediction_type=v_prediction", 50, 768, 7.5 },
	{ "sd3", "SD 3, SD 3.5, Stable Diffusion 3, Stable Diffusion 3.5, StableDiffusion3Pipeline", "flow_euler:shift=3", 28, 1024, 7 },
	{ "sdxl", "SD XL, Stable Diffusion XL, StableDiffusionXLPipeline", "euler:timestep_spacing=leading", 50, 1024, 5 },
	{ "sdxl_lightning", "SDXL-Lightning", "euler:timestep_spacing=trailing", 4, 1024, 0 },
	{ "sdxl_turbo", "SDXL-Turbo, SD-Turbo", "euler_ancestral:timestep_spacing=trailing", 1, 512, 0 },
	{ "svd", "Stable Video Diffusion, StableVideoDiffusionPipeline", "euler:prediction_type=v_prediction:timestep_type=continuous:use_karras_sigmas:sigma_min=0.002:sigma_max=700:timestep_spacing=leading", 25, 0, -1 },
	{ "wan", "Wan 2.1, Wan 2.2, WanPipeline", "unipc:prediction_type=flow_prediction:use_flow_sigmas:flow_shift=3", 50, 0, 5 },
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
