/*
 * A whole model as one session of ONNX Runtime, made of its file as that library would by itself: no subgraphs, no weights of ours. It is what the engine is
 * measured beside (`strata engine bench`); models are run by backends.
 */
#ifndef ENGINE_ORT_WHOLE_H
#define ENGINE_ORT_WHOLE_H

#include <strata/engine.h>

struct ort_whole;

/* -ENOENT when there is no such library (the sentence says how to get it), -ENOTSUP when it does not take the model. */
int ort_whole_open(const char *path, int threads, struct strata_memory *memory,
		   struct ort_whole **ret_whole, struct strata_error *err);
void ort_whole_close(struct ort_whole *whole); /* NULL is nothing */
/* "1.31.1"; the library's own text. */
const char *ort_whole_version(const struct ort_whole *whole);

struct ort_whole_call { /* borrowed */
	const char *const *input_names;
	const struct strata_array *inputs;
	size_t input_count;
	const char *const *output_names;
	size_t output_count;
};
/* One run; outputs are there until the next one. */
int ort_whole_run(struct ort_whole *whole, const struct ort_whole_call *call,
		  struct strata_error *err);
/* An output of the last run, borrowed until the next; the library's own memory. -ENOTSUP when it is not a tensor of numbers. */
int ort_whole_output(struct ort_whole *whole, size_t index, struct strata_array *ret_array,
		     struct strata_error *err);

#endif
