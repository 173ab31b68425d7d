/*
 * Previews: colours as a straight map of the latents' channels. The map is fitted once for each pipeline, by least squares: the decoder draws one picture of
 * noise, and its colours, averaged over each latent's pixels, are explained by the channels. So it suits any decoder, and costs one call of it.
 */
#include "engine/pipeline.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { TERMS_MAX = 65, FIT_SIDE = 16 };

/* Solves the symmetric system a · x = b in place, x in b. A small ridge keeps it regular. */
static void solve(double a[TERMS_MAX][TERMS_MAX], double b[TERMS_MAX], size_t count)
{
	for (size_t i = 0; i < count; i++)
		a[i][i] += 1e-6 * (1 + a[i][i]);
	for (size_t i = 0; i < count; i++)
		for (size_t row = i + 1; row < count; row++) {
			double factor = a[row][i] / a[i][i];

			for (size_t k = i; k < count; k++)
				a[row][k] -= factor * a[i][k];
			b[row] -= factor * b[i];
		}
	for (size_t i = count; i-- > 0;) {
		for (size_t k = i + 1; k < count; k++)
			b[i] -= a[i][k] * b[k];
		b[i] /= a[i][i];
	}
}

struct fit {
	const struct pipeline_geometry *geometry;
	const float *latents; /* unpacked */
	const struct strata_array *image;
};

/* The mean of one colour over the pixels of a latent. */
static double mean_of(const struct fit *fit, size_t colour, size_t y, size_t x)
{
	size_t height = (size_t)fit->image->dims[2], width = (size_t)fit->image->dims[3];
	size_t down = height / (size_t)fit->geometry->rows;
	size_t across = width / (size_t)fit->geometry->columns;
	const float *values = (const float *)fit->image->data +
			      (fit->image->dims[1] == 3 ? colour : 0) * height * width;
	double sum = 0;

	for (size_t i = 0; i < down; i++)
		for (size_t k = 0; k < across; k++)
			sum += (double)values[(y * down + i) * width + x * across + k];
	return sum / (double)(down * across);
}

static void fit_colour(const struct fit *fit, size_t colour, double a[TERMS_MAX][TERMS_MAX],
		       float *ret_values)
{
	size_t channels = (size_t)fit->geometry->channels, terms = channels + 1;
	size_t rows = (size_t)fit->geometry->rows, columns = (size_t)fit->geometry->columns;
	double b[TERMS_MAX] = { 0 }, term[TERMS_MAX];

	memset(a, 0, TERMS_MAX * sizeof(a[0]));
	for (size_t i = 0; i < rows * columns; i++) {
		double want = mean_of(fit, colour, i / columns, i % columns);

		for (size_t c = 0; c < channels; c++)
			term[c] = (double)fit->latents[c * rows * columns + i];
		term[channels] = 1;
		for (size_t j = 0; j < terms; j++) {
			for (size_t k = 0; k < terms; k++)
				a[j][k] += term[j] * term[k];
			b[j] += term[j] * want;
		}
	}
	solve(a, b, terms);
	for (size_t j = 0; j < terms; j++)
		ret_values[j] = (float)b[j];
}

static int make_colours(struct strata_pipeline *pipeline, struct strata_error *err)
{
	struct pipeline_geometry geometry = {
		.channels = pipeline->latent_channels,
		.rows = FIT_SIDE,
		.columns = FIT_SIDE,
		.element_count = (size_t)pipeline->latent_channels * FIT_SIDE * FIT_SIDE,
	};
	struct strata_solver_noise noise;
	struct strata_array image = { 0 };
	struct strata_arena arena;

	strata_arena_init(&arena, pipeline->memory, 0);
	float *latents = strata_arena_array(&arena, 2 * geometry.element_count, sizeof(*latents));
	double(*a)[TERMS_MAX] = strata_arena_array(&arena, TERMS_MAX, sizeof(*a));
	int rc = latents && a ? strata_solver_noise_build("philox", 1, 1, geometry.element_count,
							  &arena, &noise, err)
			      : strata_fail_memory(err);

	if (rc == 0) {
		strata_solver_noise_fill(&noise, 0, latents);
		rc = pipeline_vae_decode(pipeline, &geometry, latents, &image, err);
	}
	if (rc == 0) {
		const struct fit fit = { &geometry, latents + geometry.element_count, &image };

		if (pipeline->cls->packed)
			pipeline_pack(&geometry, 1, latents, latents + geometry.element_count,
				      true);
		else
			memcpy(latents + geometry.element_count, latents,
			       geometry.element_count * sizeof(*latents));
		for (size_t colour = 0; colour < 3; colour++)
			fit_colour(&fit, colour, a, pipeline->colours.values[colour]);
		pipeline->colours.made = true;
	}
	strata_array_drop(&image);
	strata_arena_fini(&arena);
	return rc;
}

int strata_pipeline_preview(struct strata_pipeline *pipeline, struct strata_pipeline_run *run,
			    size_t image, struct strata_arena *arena,
			    struct strata_picture *ret_picture, struct strata_error *err)
{
	const struct pipeline_geometry *geometry = &run->geometry;
	size_t channels = (size_t)geometry->channels;
	size_t pixels = (size_t)(geometry->rows * geometry->columns);
	const struct strata_solver_row *row = run->row;
	/* Far from the end the sample is mostly noise, perhaps a large one. */
	double level = row ? sqrt(row->alpha * row->alpha + row->sigma * row->sigma) : 1;
	float scale = (float)(level > 1 ? 1 / level : 1);

	if (image >= run->image_count)
		return strata_fail(err, -EINVAL, "there is no picture %zu; the run has %zu", image,
				   run->image_count);
	int rc = pipeline->colours.made ? 0 : make_colours(pipeline, err);
	uint8_t *rgb = strata_arena_array(arena, pixels, 3);
	float *plain = strata_arena_array(arena, geometry->element_count, sizeof(*plain));

	if (rc)
		return rc;
	if (!rgb || !plain)
		return strata_fail_memory(err);
	const float *latents = run->latents + image * geometry->element_count;

	if (pipeline->cls->packed)
		pipeline_pack(geometry, 1, latents, plain, true);
	else
		memcpy(plain, latents, geometry->element_count * sizeof(*plain));
	for (size_t i = 0; i < pixels; i++)
		for (size_t colour = 0; colour < 3; colour++) {
			const float *map = pipeline->colours.values[colour];
			float value = map[channels];

			for (size_t c = 0; c < channels; c++)
				value += map[c] * plain[c * pixels + i] * scale;
			value = value / 2 + 0.5F;
			value = value > 0 ? value < 1 ? value : 1 : 0;
			rgb[i * 3 + colour] = (uint8_t)rintf(value * 255);
		}
	*ret_picture = (struct strata_picture){ (uint32_t)geometry->columns,
						(uint32_t)geometry->rows, rgb };
	return 0;
}
