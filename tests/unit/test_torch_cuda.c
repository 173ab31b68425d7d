#include "golden_rng.h"

#include <strata/rng.h>

#include <stdlib.h>
#include <string.h>

enum { LATENT = 4 * 64 * 64 };

static float values[LATENT];

TEST(calls_give_the_known_answers)
{
	json_t *document = golden_rng(), *answers;
	const char *seed;

	json_object_foreach(json_object_get(json_object_get(document, "philox4x32"), "cuda_randn"),
			    seed, answers)
	{
		struct strata_cuda cuda;

		strata_cuda_init(&cuda, strtoull(seed, NULL, 10), 0);
		strata_cuda_normal(&cuda, values, LATENT);
		for (size_t i = 0; i < 16; i++)
			CHECK_NEAR((double)values[i],
				   golden_number(json_object_get(answers, "call0_first16"), i),
				   1e-6);
		CHECK_NEAR((double)values[16383],
			   json_number_value(json_object_get(answers, "elem_16383_call0")), 1e-6);
		strata_cuda_normal(&cuda, values, 16);
		for (size_t i = 0; i < 16; i++)
			CHECK_NEAR((double)values[i],
				   golden_number(json_object_get(answers, "call1_first16"), i),
				   1e-6);
		CHECK_INT(cuda.call, 2);
	}
	json_decref(document);
}

/* These come from a real GPU, whose fast sine has an error of its own. */
TEST(the_published_vector_of_a_gpu_is_met)
{
	json_t *document = golden_rng();
	const json_t *want = json_object_get(json_object_get(document, "philox4x32"),
					     "a1111_doc_vector_seed0_offset0");
	struct strata_cuda cuda;

	strata_cuda_init(&cuda, 0, STRATA_CUDA_THREADS_ANY);
	strata_cuda_normal(&cuda, values, 12);
	for (size_t i = 0; i < 12; i++)
		CHECK_NEAR((double)values[i], golden_number(want, i), 1e-6);
	json_decref(document);
}

TEST(above_the_thread_count_elements_stride)
{
	json_t *document = golden_rng();
	const json_t *want = json_object_get(json_object_get(document, "philox4x32"),
					     "grid_stride_note_examples");
	const json_t *elements = json_object_get(want, "elements");
	struct strata_cuda cuda;

	strata_cuda_init(&cuda, (uint64_t)json_integer_value(json_object_get(want, "seed")),
			 (uint64_t)json_integer_value(json_object_get(want, "threads")));
	CHECK_INT(json_array_size(elements), 7);
	for (size_t i = 0; i < 7; i++) {
		strata_cuda_normal_at(&cuda, (uint64_t)golden_number(elements, i), values, 1);
		CHECK_NEAR((double)values[0], golden_number(json_object_get(want, "values"), i),
			   1e-6);
	}
	json_decref(document);
}

TEST(any_part_of_a_call_is_the_same_as_the_whole)
{
	struct strata_cuda cuda;
	float part[700];

	strata_cuda_init(&cuda, 99,
			 1000); /* few threads: the whole strides through five blocks of a thread */
	strata_cuda_next(&cuda, 1);
	strata_cuda_normal_at(&cuda, 0, values, LATENT);
	for (size_t first = 0; first + 700 < LATENT; first += 331) {
		size_t count = first % 700;

		memset(part, 0, sizeof(part));
		strata_cuda_normal_at(&cuda, first, part, count);
		CHECK_BYTES(part, values + first, count * sizeof(float));
		CHECK_INT(part[count] != 0, 0);
	}
	strata_cuda_normal_at(&cuda, 1234, part, 1);
	CHECK(part[0] == values[1234]);
}

TEST(a_call_uses_a_block_per_four_elements_of_a_thread)
{
	struct strata_cuda cuda;

	strata_cuda_init(&cuda, 1, 100);
	strata_cuda_next(&cuda, 0);
	CHECK_INT(cuda.call, 0);
	strata_cuda_next(&cuda, 1);
	CHECK_INT(cuda.call, 1);
	strata_cuda_next(&cuda, 400);
	CHECK_INT(cuda.call, 2);
	strata_cuda_next(&cuda, 401);
	CHECK_INT(cuda.call, 4);
	/* so that the fifth element of a thread is the first one of its next call */
	strata_cuda_normal_at(&cuda, 400, values, 1);
	cuda.call++;
	strata_cuda_normal_at(&cuda, 0, values + 1, 1);
	CHECK(values[0] == values[1]);
}
