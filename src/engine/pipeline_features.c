/*
 * Features that go from one call of the denoiser to later ones of the same run: what came up from the inner part of a UNet (features.h). A run that may use
 * them again keeps its own after each call that was made in full, so that it can join a batch, leave it, or be saved, as it can with its latents.
 */
#include "engine/pipeline.h"

#include <errno.h>
#include <string.h>

bool pipeline_features_wanted(const struct strata_solver_table *table)
{
	for (size_t i = 0; i < table->row_count; i++)
		if (table->rows[i].flags & STRATA_ROW_FEATURES)
			return true;
	return false;
}

/* Both models are open before one goes: no weights are loaded until they are called. */
int pipeline_features_open(struct strata_pipeline *pipeline, struct strata_error *err)
{
	struct strata_engine_model *outer = NULL, *whole = NULL;

	if (pipeline->outer)
		return 0;
	int rc = pipeline_denoiser(pipeline, PIPELINE_TAKES_FEATURES, &outer, err);

	if (rc == 0)
		rc = pipeline_denoiser(pipeline, PIPELINE_GIVES_FEATURES, &whole, err);
	if (rc) {
		strata_engine_close(outer);
		return rc;
	}
	strata_engine_close(pipeline->denoiser);
	pipeline->denoiser = whole;
	pipeline->outer = outer;
	return 0;
}

bool pipeline_features_used(const struct strata_pipeline_run *run)
{
	return run->row->flags & STRATA_ROW_FEATURES && run->features.dtype != STRATA_DTYPE_NONE;
}

bool pipeline_features_fit(const struct strata_pipeline_run *a, const struct strata_pipeline_run *b)
{
	bool used = pipeline_features_used(a);

	return used == pipeline_features_used(b) &&
	       (!used || (a->features.rank == b->features.rank &&
			  memcmp(a->features.dims + 1, b->features.dims + 1,
				 (a->features.rank - 1) * sizeof(int64_t)) == 0));
}

int pipeline_features_gather(struct strata_pipeline *pipeline,
			     struct strata_pipeline_run *const *runs, size_t count,
			     struct strata_array *ret_features, struct strata_error *err)
{
	int64_t dims[STRATA_TENSOR_RANK_MAX];
	struct strata_array all;

	memcpy(dims, runs[0]->features.dims, sizeof(dims));
	dims[0] = 0;
	for (size_t i = 0; i < count; i++)
		dims[0] += runs[i]->features.dims[0];
	int rc = strata_array_make(pipeline->engine, STRATA_DTYPE_F32, runs[0]->features.rank, dims,
				   &all, err);

	if (rc)
		return rc;
	char *to = all.data;

	for (size_t i = 0; i < count; i++) {
		size_t bytes = strata_array_bytes(&runs[i]->features);

		memcpy(to, runs[i]->features.data, bytes);
		to += bytes;
	}
	*ret_features = all;
	return 0;
}

int pipeline_features_keep(struct strata_pipeline *pipeline,
			   struct strata_pipeline_run *const *runs, size_t count, size_t row_count,
			   const struct strata_array *features, struct strata_error *err)
{
	const char *from = features->data;
	int64_t dims[STRATA_TENSOR_RANK_MAX];
	int rc = 0;

	if (features->rank < 1 || features->dims[0] != (int64_t)row_count ||
	    features->dtype != STRATA_DTYPE_F32)
		return strata_fail(err, -ENOTSUP,
				   "what comes up in %.200s/%s has no part for each picture of a "
				   "batch, so it cannot be used again",
				   pipeline->folder, pipeline->cls->denoiser);
	size_t row_bytes = strata_array_bytes(features) / row_count;

	memcpy(dims, features->dims, sizeof(dims));
	for (size_t i = 0; rc == 0 && i < count; i++) {
		struct strata_pipeline_run *run = runs[i];
		size_t bytes = row_bytes * pipeline_rows(run);

		if (run->wants_features) {
			strata_array_drop(&run->features);
			dims[0] = (int64_t)pipeline_rows(run);
			rc = strata_array_make(pipeline->engine, STRATA_DTYPE_F32, features->rank,
					       dims, &run->features, err);
			if (rc == 0)
				memcpy(run->features.data, from, bytes);
		}
		from += bytes;
	}
	return rc;
}
