/*
 * Going through reference runs again: a cases.json with, for each case, a request and the files of everything that came of it (the format of the golden
 * pipelines: docs/pipelines.md). Each result is compared with its file; an error is counted in units of what is allowed for it.
 */
#ifndef ENGINE_REPLAY_H
#define ENGINE_REPLAY_H

#include "formats/npy.h"

#include <strata/language.h>
#include <strata/pipeline.h>

#include <jansson.h>

struct engine_replay_conf {
	const char *over;    /* a folder whose models come before those beside cases.json; NULL */
	double budget_share; /* of each model's weights that may be in memory; 0: all */
};

struct engine_replay_result {
	size_t case_count, passed;
	double worst;     /* the largest error over its tolerance: up to 1 passes */
	char failed[320]; /* what was wrong first: "case: what"; "" if nothing was */
};

/* -EBADMSG for what is no such file. Cases that cannot be run count as failed. */
int engine_replay_file(struct strata_engine *engine, const char *path,
		       const struct engine_replay_conf *conf, struct strata_memory *memory,
		       struct engine_replay_result *ret_result, struct strata_error *err);

/* ---- between the files of the replay ---- */

struct replay_case {
	struct strata_engine *engine;
	struct strata_memory *memory;
	struct strata_arena arena; /* of the case */
	const char *folder;        /* of cases.json */
	const json_t *json;
	double worst;
	char failed[256];
};

/* A file of the case, NULL where it has none of that name. */
int replay_read(struct replay_case *it, const char *name, struct npy *ret_npy, bool *ret_there,
		struct strata_error *err);
/* float32: the largest difference, in units of the tolerance. */
void replay_compare(struct replay_case *it, const char *what, const float *got, const float *want,
		    size_t count, double tolerance);
/* Anything that must be equal. */
void replay_equal(struct replay_case *it, const char *what, bool equal);
/* Checks that a file has so many elements of a type. */
int replay_expect(const struct npy *npy, const char *what, enum strata_dtype dtype, size_t count,
		  struct strata_error *err);

int replay_picture(struct replay_case *it, struct strata_pipeline *pipeline,
		   struct strata_error *err);
int replay_language(struct replay_case *it, struct strata_language *language,
		    struct strata_error *err);

#endif
