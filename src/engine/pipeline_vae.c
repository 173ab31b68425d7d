/* The two ends of a latent pipeline: from latents to a picture and, for image to image, the other way. */
#include "engine/pipeline.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* One call of a model with one float input and one output that counts. */
static int call(struct strata_pipeline *pipeline, struct strata_engine_model *model,
		const char *part, struct strata_array *input, struct strata_array *ret_output,
		struct strata_error *err)
{
	const struct strata_engine_port *port = strata_engine_input_at(model, 0);
	struct strata_array cast = { 0 }, outputs[4] = { { 0 } };
	size_t count = strata_engine_output_count(model);
	int rc = 0;

	if (strata_engine_input_count(model) != 1 || count < 1 || count > 4)
		return strata_fail(err, -ENOTSUP,
				   "%.200s/%s/model.onnx has %zu inputs; expected one",
				   pipeline->folder, part, strata_engine_input_count(model));
	rc = strata_array_cast(pipeline->engine, input, port->dtype, &cast, err);
	if (rc == 0)
		rc = strata_engine_run(model, &cast, outputs, err);
	if (rc == 0)
		rc = strata_array_cast(pipeline->engine, &outputs[0], STRATA_DTYPE_F32, ret_output,
				       err);
	strata_array_drop(&cast);
	for (size_t i = 0; i < count; i++)
		strata_array_drop(&outputs[i]);
	return rc;
}

static bool is_picture(const struct strata_array *array, int64_t channels)
{
	return array->rank == 4 && array->dims[0] == 1 && array->dims[1] == channels;
}

int pipeline_vae_decode(struct strata_pipeline *pipeline, const struct pipeline_geometry *geometry,
			const float *latents, struct strata_array *ret_image,
			struct strata_error *err)
{
	const int64_t dims[] = { 1, geometry->channels, geometry->rows, geometry->columns };
	float scaling = (float)pipeline->scaling_factor, shift = (float)pipeline->shift_factor;
	struct strata_array input, image;
	int rc = pipeline->cls->has_vae
			 ? pipeline_model(pipeline, "vae_decoder", &pipeline->vae_decoder, err)
			 : 0;

	if (rc == 0)
		rc = strata_array_make(pipeline->engine, STRATA_DTYPE_F32, 4, dims, &input, err);
	if (rc)
		return rc;
	float *values = input.data;

	if (pipeline->cls->packed)
		pipeline_pack(geometry, 1, latents, values, true);
	else
		memcpy(values, latents, geometry->element_count * sizeof(*values));
	if (!pipeline->cls->has_vae) {
		*ret_image = input;
		return 0;
	}
	for (size_t i = 0; i < geometry->element_count; i++)
		values[i] = values[i] / scaling + shift;
	rc = call(pipeline, pipeline->vae_decoder, "vae_decoder", &input, &image, err);
	strata_array_drop(&input);
	if (rc == 0 && !is_picture(&image, 3) && !is_picture(&image, 1)) {
		strata_array_drop(&image);
		rc = strata_fail(err, -EBADMSG, "%.200s/vae_decoder/model.onnx gives no picture",
				 pipeline->folder);
	}
	if (rc == 0)
		*ret_image = image;
	return rc;
}

/* z = (mean + exp(logvar / 2) · noise − shift) · scaling, for each picture with noise of its own. */
static void sample(const struct strata_pipeline_run *run, const float *moments, float *ret_latents)
{
	size_t count = run->geometry.element_count;
	float scaling = (float)run->pipeline->scaling_factor;
	float shift = (float)run->pipeline->shift_factor;

	for (size_t k = 0; k < run->image_count; k++)
		for (size_t i = 0; i < count; i++) {
			float logvar = moments[count + i];

			logvar = logvar < -30 ? -30 : logvar > 20 ? 20 : logvar;
			float value = moments[i] + expf(0.5F * logvar) * run->noise[k * count + i];

			ret_latents[k * count + i] = (value - shift) * scaling;
		}
}

int pipeline_vae_encode(struct strata_pipeline *pipeline, struct strata_pipeline_run *run,
			const struct strata_picture *picture, float *ret_latents,
			struct strata_error *err)
{
	const int64_t dims[] = { 1, 3, picture->height, picture->width };
	size_t pixels = (size_t)picture->width * picture->height;
	struct strata_array input, moments;
	int rc = pipeline_model(pipeline, "vae_encoder", &pipeline->vae_encoder, err);

	if (rc == 0)
		rc = strata_array_make(pipeline->engine, STRATA_DTYPE_F32, 4, dims, &input, err);
	if (rc)
		return rc;
	float *values = input.data;

	for (size_t i = 0; i < pixels; i++)
		for (size_t c = 0; c < 3; c++)
			values[c * pixels + i] = 2 * ((float)picture->rgb[i * 3 + c] / 255) - 1;
	rc = call(pipeline, pipeline->vae_encoder, "vae_encoder", &input, &moments, err);
	strata_array_drop(&input);
	if (rc)
		return rc;
	if (is_picture(&moments, 2 * run->geometry.channels) &&
	    moments.dims[2] == run->geometry.rows && moments.dims[3] == run->geometry.columns) {
		pipeline_run_draw(run, 0, run->noise);
		sample(run, moments.data, ret_latents);
	} else {
		rc = strata_fail(
			err, -EBADMSG,
			"%.200s/vae_encoder/model.onnx gives no mean and variance of latents",
			pipeline->folder);
	}
	strata_array_drop(&moments);
	return rc;
}
