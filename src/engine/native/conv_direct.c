/* Convolutions without a library: see conv_direct.h. */
#include "engine/native/conv_direct.h"

#include "engine/native/instructions.h"
#include "engine/native/gemm.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <string.h>

/* ---- one element ---- */

int conv_pointwise(const struct conv_direct *conv, struct engine_heap *heap,
		   struct engine_team *team, struct strata_error *err)
{
	int64_t area = conv->in[0] * conv->in[1], in = conv->in_channels, out = conv->out_channels;
	size_t bytes = (size_t)gemm_packed_count(in, area) * sizeof(float);
	const struct gemm_finish finish = { .scale = 1, .row_bias = conv->bias };
	/* Rows of a small picture are near enough to each other to be read where they are. */
	bool flat = area % GEMM_COLUMNS == 0 && area <= 512 && in <= GEMM_BLOCK && out <= 128;
	float *packed = flat ? NULL : engine_heap_get(heap, bytes);

	if (!packed && !flat)
		return strata_fail_memory(err);
	for (int64_t i = 0; i < conv->members; i++) {
		const struct gemm_matrix picture = { conv->x + i * in * area, area, 1 };
		const struct gemm_matrix weights = { conv->weights, in, 1 };

		if (flat) {
			gemm_run_flat(team, out, area, in, weights, picture.at, area,
				      conv->y + i * out * area, area, &finish);
			continue;
		}
		gemm_pack(team, picture, in, area, packed);
		gemm_run(team, out, area, in, weights, packed, conv->y + i * out * area, area,
			 &finish);
	}
	engine_heap_put(heap, packed, bytes);
	return 0;
}

/* ---- one channel each ---- */

/* A channel with zeros around it, so that no element is a case of its own. The last row has some more behind it: whole vectors are read. */
struct plane {
	int64_t height, width;
	int64_t count; /* floats, with what is read beyond */
};

enum { LANES = 8 };

static struct plane plane_of(const struct conv_direct *conv)
{
	struct plane plane;

	plane.height = (conv->out[0] - 1) * conv->strides[0] +
		       (conv->kernel[0] - 1) * conv->dilations[0] + 1;
	plane.width = (conv->out[1] - 1) * conv->strides[1] +
		      (conv->kernel[1] - 1) * conv->dilations[1] + 1;
	plane.count = plane.height * plane.width + 2 * LANES * conv->strides[1];
	return plane;
}

/* Only the middle: what is around it stays 0 from channel to channel. */
static void fill_plane(const struct conv_direct *conv, const struct plane *plane, const float *from,
		       float *to)
{
	int64_t columns = conv->in[1];

	if (columns > plane->width - conv->before[1])
		columns = plane->width - conv->before[1];
	for (int64_t row = 0; row < conv->in[0] && row + conv->before[0] < plane->height; row++) {
		float *there = to + (row + conv->before[0]) * plane->width + conv->before[1];
		const float *here = from + row * conv->in[1];

		int64_t i = 0;

		for (; i + LANES <= columns; i += LANES) /* of a size that is known: no call */
			memcpy(there + i, here + i, LANES * sizeof(float));
		for (; i < columns; i++)
			there[i] = here[i];
	}
}

/* What an element reads: how far from the first each is, and what it counts. */
struct taps {
	int64_t count, offsets[CONV_TAPS_MAX];
	const float *weights;
	float start; /* added to the sum */
};

/* A few rows of results, `from_step` apart in the plane and `to_step` in the result. `from` is the first element that the first one reads. */
typedef void (*rows_function)(const struct conv_direct *conv, const struct taps *taps,
			      const float *from, int64_t from_step, float *to);

enum { ROWS = 4 }; /* at once: their sums need not wait for each other */

static void plain_rows(const struct conv_direct *conv, const struct taps *taps, const float *from,
		       int64_t from_step, int64_t rows, float *to)
{
	for (int64_t r = 0; r < rows; r++)
		for (int64_t x = 0; x < conv->out[1]; x++) {
			const float *at = from + r * from_step + x * conv->strides[1];
			float sum = 0;

			for (int64_t t = 0; t < taps->count; t++)
				sum = fmaf(taps->weights[t], at[taps->offsets[t]], sum);
			to[r * conv->out[1] + x] = sum + taps->start;
		}
}

#ifdef __x86_64__
#include <immintrin.h>
#define AVX2 __attribute__((target("avx2,fma")))

/* Eight elements, `stride` apart. */
AVX2 static inline __m256 some_of(const float *at, int64_t stride, __m256i places)
{
	if (stride == 1)
		return _mm256_loadu_ps(at);
	if (stride == 2) {
		__m256 low = _mm256_loadu_ps(at), high = _mm256_loadu_ps(at + 8);
		__m256 even = _mm256_shuffle_ps(low, high, _MM_SHUFFLE(2, 0, 2, 0));

		return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(even),
							      _MM_SHUFFLE(3, 1, 2, 0)));
	}
	return _mm256_i32gather_ps(at, places, 4);
}

#define AVX2_ROWS(rows)                                                                           \
	AVX2 static void vector_rows_##rows(const struct conv_direct *conv,                       \
					    const struct taps *taps, const float *from,           \
					    int64_t from_step, float *to)                         \
	{                                                                                         \
		int64_t stride = conv->strides[1], width = conv->out[1];                          \
		const __m256i places = _mm256_mullo_epi32(                                        \
			_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32((int)stride)); \
		for (int64_t x = 0; x < width; x += LANES) {                                      \
			__m256 sums[rows];                                                        \
			_Pragma("GCC unroll 4") for (int r = 0; r < (rows); r++) sums[r] =        \
				_mm256_setzero_ps();                                              \
			for (int64_t t = 0; t < taps->count; t++) {                               \
				const float *at = from + x * stride + taps->offsets[t];           \
				__m256 weight = _mm256_broadcast_ss(taps->weights + t);           \
				_Pragma("GCC unroll 4") for (int r = 0; r < (rows); r++) sums[r] = \
					_mm256_fmadd_ps(weight,                                   \
							some_of(at + r * from_step, stride,       \
								places),                          \
							sums[r]);                                 \
			}                                                                         \
			_Pragma("GCC unroll 4") for (int r = 0; r < (rows); r++)                  \
			{                                                                         \
				float room[LANES], *there = to + r * width + x;                   \
				sums[r] = _mm256_add_ps(sums[r], _mm256_set1_ps(taps->start));    \
				if (width - x >= LANES) {                                         \
					_mm256_storeu_ps(there, sums[r]);                         \
				} else {                                                          \
					_mm256_storeu_ps(room, sums[r]);                          \
					memcpy(there, room, (size_t)(width - x) * sizeof(*to));   \
				}                                                                 \
			}                                                                         \
		}                                                                                 \
	}
AVX2_ROWS(1)
AVX2_ROWS(2)
AVX2_ROWS(3)
AVX2_ROWS(4)
#endif

static void run_rows(const struct conv_direct *conv, const struct taps *taps, const float *from,
		     int64_t from_step, int64_t rows, float *to)
{
#ifdef __x86_64__
	static const rows_function vector[ROWS + 1] = { NULL, vector_rows_1, vector_rows_2,
							vector_rows_3, vector_rows_4 };

	if (native_isa() >= NATIVE_AVX2) {
		vector[rows](conv, taps, from, from_step, to);
		return;
	}
#endif
	plain_rows(conv, taps, from, from_step, rows, to);
}

struct depth_work {
	const struct conv_direct *conv;
	struct plane plane;
	struct taps taps;
	float *room; /* a plane for each channel of each member; a part uses its first */
};

static void depth_part(void *arg, int64_t first, int64_t past)
{
	const struct depth_work *work = arg;
	const struct conv_direct *conv = work->conv;
	float *plane = work->room + first * work->plane.count;
	int64_t step = conv->strides[0] * work->plane.width;
	struct taps taps = work->taps;

	memset(plane, 0, (size_t)work->plane.count * sizeof(*plane));
	for (int64_t i = first; i < past; i++) {
		int64_t channel = i % conv->in_channels;

		taps.weights = conv->weights + channel * taps.count;
		taps.start = conv->bias ? conv->bias[channel] : 0;
		fill_plane(conv, &work->plane, conv->x + i * conv->in[0] * conv->in[1], plane);
		for (int64_t row = 0; row < conv->out[0]; row += ROWS)
			run_rows(conv, &taps, plane + row * step, step,
				 conv->out[0] - row < ROWS ? conv->out[0] - row : ROWS,
				 conv->y + (i * conv->out[0] + row) * conv->out[1]);
	}
}

int conv_depthwise(const struct conv_direct *conv, struct engine_heap *heap,
		   struct engine_team *team, struct strata_error *err)
{
	struct depth_work work = { .conv = conv, .plane = plane_of(conv) };
	int64_t channels = conv->members * conv->in_channels;
	/* Ranges of one thread are the whole: it needs one plane. */
	int64_t planes = team->thread_count > 1 ? channels : 1;
	size_t bytes = (size_t)(planes * work.plane.count) * sizeof(float);

	work.room = engine_heap_get(heap, bytes);
	if (!work.room)
		return strata_fail_memory(err);
	work.taps.count = conv->kernel[0] * conv->kernel[1];
	assert(work.taps.count <= CONV_TAPS_MAX);
	for (int64_t i = 0; i < work.taps.count; i++)
		work.taps.offsets[i] = i / conv->kernel[1] * conv->dilations[0] * work.plane.width +
				       i % conv->kernel[1] * conv->dilations[1];
	engine_team_run(team, channels, 1 + 16384 / (work.plane.count + 1), depth_part, &work);
	engine_heap_put(heap, work.room, bytes);
	return 0;
}
