/* Matrix products: see gemm.h. One tile is 12 × 32 sums in registers with AVX-512, 6 × 16 with AVX2. Rows of a are read where they are. */
#include "engine/native/gemm.h"

#include "engine/native/instructions.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { ROWS_MAX = 12, COLUMNS = GEMM_COLUMNS, ROW_BLOCK = 96, PANEL_BLOCK = 32 };

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t gemm_packed_count(int64_t k, int64_t n)
{
	return (n + COLUMNS - 1) / COLUMNS * COLUMNS * k;
}

/* ---- packing ---- */

struct pack_work {
	struct gemm_matrix b;
	int64_t k, n;
	float *to;
};

static void pack_panels(void *arg, int64_t first, int64_t past)
{
	const struct pack_work *work = arg;

	for (int64_t panel = first; panel < past; panel++) {
		int64_t columns = least(COLUMNS, work->n - panel * COLUMNS);
		const float *from = work->b.at + panel * COLUMNS * work->b.column_step;
		float *to = work->to + panel * COLUMNS * work->k;

		if (columns == COLUMNS && work->b.column_step == 1) {
			for (int64_t i = 0; i < work->k; i++)
				memcpy(to + i * COLUMNS, from + i * work->b.row_step,
				       COLUMNS * sizeof(*to));
			continue;
		}
		for (int64_t i = 0; i < work->k; i++)
			for (int64_t j = 0; j < COLUMNS; j++)
				to[i * COLUMNS + j] =
					j < columns ? from[i * work->b.row_step +
							   j * work->b.column_step]
						    : 0;
	}
}

void gemm_pack(struct engine_team *team, struct gemm_matrix b, int64_t k, int64_t n,
	       float *ret_packed)
{
	struct pack_work work = { b, k, n, ret_packed };

	engine_team_run(team, (n + COLUMNS - 1) / COLUMNS, 1 + 16384 / (k * COLUMNS + 1),
			pack_panels, &work);
}

struct pack_int8_work {
	struct gemm_matrix b;
	int64_t k, n;
	const struct gemm_int8 *to;
};

static void pack_int8_panels(void *arg, int64_t first, int64_t past)
{
	const struct pack_int8_work *work = arg;

	for (int64_t panel = first; panel < past; panel++)
		for (int64_t j = 0; j < COLUMNS; j++) {
			int64_t column = panel * COLUMNS + j;
			const float *from = work->b.at + column * work->b.column_step;
			int8_t *to = work->to->at + panel * COLUMNS * work->k + j;
			float most = 0;

			for (int64_t i = 0; column < work->n && i < work->k; i++)
				most = fmaxf(most, fabsf(from[i * work->b.row_step]));
			for (int64_t i = 0; i < work->k; i++)
				to[i * COLUMNS] = (int8_t)(
					column < work->n && most > 0
						? lrintf(from[i * work->b.row_step] / most * 127)
						: 0);
			if (column < work->n)
				work->to->scales[column] = most / 127;
		}
}

void gemm_pack_int8(struct engine_team *team, struct gemm_matrix b, int64_t k, int64_t n,
		    const struct gemm_int8 *packed)
{
	struct pack_int8_work work = { b, k, n, packed };

	engine_team_run(team, (n + COLUMNS - 1) / COLUMNS, 1 + 16384 / (k * COLUMNS + 1),
			pack_int8_panels, &work);
}

/* Rows of a block whose numbers are not next to each other, row after row. */
static void gather_rows(struct gemm_matrix a, int64_t rows, int64_t depth, float *to)
{
	for (int64_t r = 0; r < rows; r++)
		for (int64_t k = 0; k < depth; k++)
			to[r * depth + k] = a.at[r * a.row_step + k * a.column_step];
}

/* ---- one tile ---- */

/* What a tile is computed from: rows of a at steps, panels of b at steps. */
struct tile {
	int64_t depth, a_step, b_row, b_step, c_step; /* b_row: between rows of a panel */
	bool first; /* the sums are set; those of later blocks are added to what is there */
};

/* rows × (16 · panels) sums over the depth. */
typedef void (*tile_function)(const struct tile *tile, const float *a, const float *b, float *c);

/* Tiles by their number of rows, for one panel and for several next to each other. */
struct tiles {
	int rows, panels;
	tile_function one[ROWS_MAX + 1], several[ROWS_MAX + 1];
};

#define PLAIN_TILE(rows)                                                                        \
	static void plain_tile_##rows(const struct tile *tile, const float *a, const float *b,  \
				      float *c)                                                 \
	{                                                                                       \
		for (int r = 0; r < (rows); r++)                                                \
			for (int j = 0; j < COLUMNS; j++) {                                     \
				float sum = 0, *to = c + r * tile->c_step + j;                  \
				for (int64_t k = 0; k < tile->depth; k++)                       \
					sum = fmaf(a[r * tile->a_step + k], b[k * tile->b_row + j], \
						   sum);                                        \
				*to = tile->first ? sum : *to + sum;                            \
			}                                                                       \
	}
PLAIN_TILE(1)
PLAIN_TILE(2)
PLAIN_TILE(3)
PLAIN_TILE(4)

#ifdef __x86_64__
#include <immintrin.h>
#define AVX2_TILE(rows)                                                                            \
	__attribute__((target("avx2,fma"))) static void vector_tile_##rows(                        \
		const struct tile *tile, const float *a, const float *b, float *c)                 \
	{                                                                                          \
		int64_t depth = tile->depth, a_step = tile->a_step, c_step = tile->c_step;         \
		__m256 sums[rows][2];                                                              \
		_Pragma("GCC unroll 6") for (int r = 0; r < (rows); r++) sums[r][0] = sums[r][1] = \
			_mm256_setzero_ps();                                                       \
		for (int64_t k = 0; k < depth; k++, a++, b += tile->b_row) {                       \
			__m256 left = _mm256_loadu_ps(b), right = _mm256_loadu_ps(b + 8);          \
			_Pragma("GCC unroll 6") for (int r = 0; r < (rows); r++)                   \
			{                                                                          \
				__m256 factor = _mm256_broadcast_ss(a + r * a_step);               \
				sums[r][0] = _mm256_fmadd_ps(factor, left, sums[r][0]);            \
				sums[r][1] = _mm256_fmadd_ps(factor, right, sums[r][1]);           \
			}                                                                          \
		}                                                                                  \
		_Pragma("GCC unroll 6") for (int r = 0; r < (rows); r++, c += c_step)              \
		{                                                                                  \
			if (!tile->first) {                                                        \
				sums[r][0] = _mm256_add_ps(_mm256_loadu_ps(c), sums[r][0]);        \
				sums[r][1] = _mm256_add_ps(_mm256_loadu_ps(c + 8), sums[r][1]);    \
			}                                                                          \
			_mm256_storeu_ps(c, sums[r][0]);                                           \
			_mm256_storeu_ps(c + 8, sums[r][1]);                                       \
		}                                                                                  \
	}
AVX2_TILE(1)
AVX2_TILE(2)
AVX2_TILE(3)
AVX2_TILE(4)
AVX2_TILE(5)
AVX2_TILE(6)

#define AVX512_TILE(rows, panels)                                                                  \
	__attribute__((target("avx512f"))) static void wide_tile_##rows##_##panels(                \
		const struct tile *tile, const float *a, const float *b, float *c)                 \
	{                                                                                          \
		int64_t depth = tile->depth, a_step = tile->a_step, c_step = tile->c_step;         \
		int64_t b_row = tile->b_row;                                                       \
		const float *high = b + ((panels) - 1) * tile->b_step;                             \
		__m512 sums[rows][panels];                                                         \
		_Pragma("GCC unroll 12") for (int r = 0; r < (rows); r++)                          \
			_Pragma("GCC unroll 2") for (int p = 0; p < (panels); p++) sums[r][p] =    \
				_mm512_setzero_ps();                                               \
		for (int64_t k = 0; k < depth; k++, a++, b += b_row, high += b_row) {              \
			__m512 columns[2] = { _mm512_loadu_ps(b), _mm512_loadu_ps(high) };         \
			_Pragma("GCC unroll 12") for (int r = 0; r < (rows); r++)                  \
			{                                                                          \
				__m512 factor = _mm512_set1_ps(a[r * a_step]);                     \
				_Pragma("GCC unroll 2") for (int p = 0; p < (panels); p++)         \
					sums[r][p] =                                               \
					_mm512_fmadd_ps(factor, columns[p], sums[r][p]);           \
			}                                                                          \
		}                                                                                  \
		_Pragma("GCC unroll 12") for (int r = 0; r < (rows); r++, c += c_step)             \
			_Pragma("GCC unroll 2") for (int p = 0; p < (panels); p++)                 \
		{                                                                                  \
			if (!tile->first)                                                          \
				sums[r][p] = _mm512_add_ps(_mm512_loadu_ps(c + p * COLUMNS),       \
							   sums[r][p]);                            \
			_mm512_storeu_ps(c + p * COLUMNS, sums[r][p]);                             \
		}                                                                                  \
	}
#define AVX512_TILES(rows) AVX512_TILE(rows, 1) AVX512_TILE(rows, 2)
AVX512_TILES(1)
AVX512_TILES(2)
AVX512_TILES(3)
AVX512_TILES(4)
AVX512_TILES(5)
AVX512_TILES(6)
AVX512_TILES(7)
AVX512_TILES(8)
AVX512_TILES(9)
AVX512_TILES(10)
AVX512_TILES(11)
AVX512_TILES(12)
#endif

static const struct tiles *usual_tiles(void)
{
	static const struct tiles plain = { 4, 1, { NULL, plain_tile_1, plain_tile_2, plain_tile_3,
						    plain_tile_4 } };
#ifdef __x86_64__
	static const struct tiles vector = { 6, 1, { NULL, vector_tile_1, vector_tile_2,
						     vector_tile_3, vector_tile_4, vector_tile_5,
						     vector_tile_6 } };
#define WIDE(panels)                                                                      \
	{ NULL, wide_tile_1_##panels, wide_tile_2_##panels, wide_tile_3_##panels,         \
	  wide_tile_4_##panels, wide_tile_5_##panels, wide_tile_6_##panels,               \
	  wide_tile_7_##panels, wide_tile_8_##panels, wide_tile_9_##panels,               \
	  wide_tile_10_##panels, wide_tile_11_##panels, wide_tile_12_##panels }
	static const struct tiles wide = { 12, 2, WIDE(1), WIDE(2) };

	if (native_isa() >= NATIVE_AVX512)
		return &wide;
	if (native_isa() >= NATIVE_AVX2)
		return &vector;
#endif
	return &plain;
}

/* ---- blocks ---- */

struct gemm_work {
	int64_t m, n, k, c_step, panel_blocks;
	int64_t b_row, panel_step; /* of b: between rows of a panel, and between panels */
	struct gemm_matrix a;
	const float *b;
	const struct gemm_int8 *b8; /* in its place; NULL: b */
	float *c;
	const struct gemm_finish *finish;
	const struct tiles *tiles;
};

/* A tile at the right edge is computed beside the matrix, with all its columns, and its part copied. */
static void edge_tile(const struct gemm_work *work, const struct tile *tile, int64_t rows,
		      int64_t columns, const float *a, const float *b, float *c)
{
	float room[ROWS_MAX * COLUMNS] __attribute__((aligned(64)));
	struct tile beside = *tile;

	beside.c_step = COLUMNS;
	for (int64_t r = 0; r < rows && !tile->first; r++) {
		memset(room + r * COLUMNS, 0, COLUMNS * sizeof(*c));
		memcpy(room + r * COLUMNS, c + r * work->c_step, (size_t)columns * sizeof(*c));
	}
	work->tiles->one[rows](&beside, a, b, room);
	for (int64_t r = 0; r < rows; r++)
		memcpy(c + r * work->c_step, room + r * COLUMNS, (size_t)columns * sizeof(*c));
}

static void finish_block(const struct gemm_work *work, int64_t row, int64_t rows, int64_t column,
			 int64_t columns)
{
	const struct gemm_finish *finish = work->finish;

	for (int64_t r = row; r < row + rows && work->b8; r++)
		for (int64_t j = column; j < column + columns; j++)
			work->c[r * work->c_step + j] *= work->b8->scales[j];
	for (int64_t r = row; r < row + rows && finish; r++) {
		float *c = work->c + r * work->c_step + column;

		if (finish->scale != 1)
			for (int64_t j = 0; j < columns; j++)
				c[j] *= finish->scale;
		if (finish->bias)
			for (int64_t j = 0; j < columns; j++)
				c[j] += finish->bias[column + j];
		if (finish->row_bias)
			for (int64_t j = 0; j < columns; j++)
				c[j] += finish->row_bias[r];
	}
}

/* A few rows with a block of panels, over one block of k. */
static void run_rows(const struct gemm_work *work, const struct tile *tile, int64_t rows,
		     const float *a, int64_t k, int64_t panel, int64_t panel_past, float *c)
{
	const struct tiles *tiles = work->tiles;

	while (panel < panel_past) {
		const float *b = work->b + panel * work->panel_step + k * work->b_row;
		int64_t width = work->n - panel * COLUMNS, several = tiles->panels;

		if (several > 1 && panel + several <= panel_past && width >= several * COLUMNS) {
			tiles->several[rows](tile, a, b, c + panel * COLUMNS);
			panel += several;
			continue;
		}
		if (width >= COLUMNS)
			tiles->one[rows](tile, a, b, c + panel * COLUMNS);
		else
			edge_tile(work, tile, rows, width, a, b, c + panel * COLUMNS);
		panel++;
	}
}

/* Whole numbers of eight bits as floats; count is a multiple of COLUMNS. */
#ifdef __x86_64__
__attribute__((target("avx512f"))) static void widen_16(const int8_t *from, int64_t count, float *to)
{
	for (int64_t i = 0; i < count; i += 16)
		_mm512_store_ps(to + i, _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(
						_mm_loadu_si128((const __m128i *)(from + i)))));
}

__attribute__((target("avx2"))) static void widen_8(const int8_t *from, int64_t count, float *to)
{
	for (int64_t i = 0; i < count; i += 8)
		_mm256_store_ps(to + i, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(
						_mm_loadl_epi64((const __m128i *)(from + i)))));
}
#endif

static void widen(const int8_t *from, int64_t count, float *to)
{
#ifdef __x86_64__
	if (native_isa() >= NATIVE_AVX512) {
		widen_16(from, count, to);
		return;
	}
	if (native_isa() >= NATIVE_AVX2) {
		widen_8(from, count, to);
		return;
	}
#endif
	for (int64_t i = 0; i < count; i++)
		to[i] = from[i];
}

/* One row with four panels, widened in registers: what is computed for one token reads every weight once, and waits for memory alone. */
#ifdef __x86_64__
__attribute__((target("avx512f"))) static void one_row_int8(const struct gemm_work *work,
							    const struct tile *tile, const float *a,
							    const int8_t *from, float *c)
{
	__m512 sums[4] = { _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(),
			   _mm512_setzero_ps() };

	for (int64_t k = 0; k < tile->depth; k++) {
		__m512 left = _mm512_set1_ps(a[k]);

		for (int p = 0; p < 4; p++) {
			const int8_t *at = from + p * COLUMNS * work->k + k * COLUMNS;

			sums[p] = _mm512_fmadd_ps(left,
						  _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(
							  _mm_loadu_si128((const __m128i *)at))),
						  sums[p]);
		}
	}
	for (int p = 0; p < 4; p++) {
		float *to = c + p * COLUMNS;

		_mm512_storeu_ps(to, tile->first ? sums[p]
						 : _mm512_add_ps(_mm512_loadu_ps(to), sums[p]));
	}
}
#endif

/* Panels that are done so; the others are left to the usual way, which has the same bits. */
static int64_t run_one_row_int8(const struct gemm_work *work, const struct tile *tile,
				const float *a, int64_t k, int64_t panel, int64_t panel_past, float *c)
{
#ifdef __x86_64__
	while (native_isa() >= NATIVE_AVX512 && panel + 4 <= panel_past &&
	       (panel + 4) * COLUMNS <= work->n) {
		one_row_int8(work, tile, a,
			     work->b8->at + panel * COLUMNS * work->k + k * COLUMNS,
			     c + panel * COLUMNS);
		panel += 4;
	}
#endif
	return panel;
}

/* The same with b of eight bits, which is widened where it is at hand: a block of a panel stays in the nearest cache. */
static void run_rows_int8(const struct gemm_work *work, const struct tile *tile, int64_t rows,
			  const float *a, int64_t k, int64_t panel, int64_t panel_past, float *c)
{
	float b[GEMM_BLOCK * COLUMNS] __attribute__((aligned(64)));

	if (rows == 1)
		panel = run_one_row_int8(work, tile, a, k, panel, panel_past, c);
	for (; panel < panel_past; panel++) {
		const int8_t *from = work->b8->at + panel * COLUMNS * work->k + k * COLUMNS;
		int64_t width = work->n - panel * COLUMNS;

		widen(from, tile->depth * COLUMNS, b);
		if (width >= COLUMNS)
			work->tiles->one[rows](tile, a, b, c + panel * COLUMNS);
		else
			edge_tile(work, tile, rows, width, a, b, c + panel * COLUMNS);
	}
}

/* One block of rows with one block of panels, over all of k. */
static void run_block(const struct gemm_work *work, int64_t row, int64_t panel_first,
		      int64_t panel_past)
{
	float gathered[ROWS_MAX * GEMM_BLOCK] __attribute__((aligned(64)));
	int64_t rows = least(ROW_BLOCK, work->m - row);
	int64_t column = panel_first * COLUMNS;
	int64_t columns = least(panel_past * COLUMNS, work->n) - column;

	for (int64_t k = 0; k < work->k; k += GEMM_BLOCK) {
		struct tile tile = { .depth = least(GEMM_BLOCK, work->k - k),
				     .a_step = work->a.row_step,
				     .b_row = work->b_row,
				     .b_step = work->panel_step,
				     .c_step = work->c_step,
				     .first = k == 0 };
		struct gemm_matrix part = work->a;

		part.at += row * part.row_step + k * part.column_step;
		for (int64_t r = 0; r < rows; r += work->tiles->rows) {
			int64_t height = least(work->tiles->rows, rows - r);
			const float *a = part.at;

			if (part.column_step != 1) {
				gather_rows(part, height, tile.depth, gathered);
				tile.a_step = tile.depth;
				a = gathered;
			}
			(work->b8 ? run_rows_int8 : run_rows)(
				work, &tile, height, a, k, panel_first, panel_past,
				work->c + (row + r) * work->c_step);
			part.at += work->tiles->rows * part.row_step;
		}
	}
	finish_block(work, row, rows, column, columns);
}

static void run_blocks(void *arg, int64_t first, int64_t past)
{
	const struct gemm_work *work = arg;
	int64_t panels = (work->n + COLUMNS - 1) / COLUMNS;

	for (int64_t i = first; i < past; i++) {
		int64_t row = i / work->panel_blocks * ROW_BLOCK, part = i % work->panel_blocks;

		run_block(work, row, panels * part / work->panel_blocks,
			  panels * (part + 1) / work->panel_blocks);
	}
}

static void zero_result(const struct gemm_work *work)
{
	for (int64_t r = 0; r < work->m; r++)
		memset(work->c + r * work->c_step, 0, (size_t)work->n * sizeof(float));
	finish_block(work, 0, work->m, 0, work->n);
}

static void run_work(struct engine_team *team, struct gemm_work *work)
{
	int64_t panels = (work->n + COLUMNS - 1) / COLUMNS;
	int64_t row_blocks = (work->m + ROW_BLOCK - 1) / ROW_BLOCK;
	int64_t panel_blocks = (panels + PANEL_BLOCK - 1) / PANEL_BLOCK;

	if (work->m == 0 || work->n == 0)
		return;
	if (work->k == 0) {
		zero_result(work);
		return;
	}
	if (row_blocks * panel_blocks < team->thread_count)
		panel_blocks = least(panels, team->thread_count);
	work->panel_blocks = panel_blocks;
	engine_team_run(team, row_blocks * panel_blocks,
			1 + 65536 / (least(work->m, ROW_BLOCK) * work->k + 1) / 64, run_blocks, work);
}

void gemm_run(struct engine_team *team, int64_t m, int64_t n, int64_t k, struct gemm_matrix a,
	      const float *packed_b, float *c, int64_t c_step, const struct gemm_finish *finish)
{
	struct gemm_work work = { .m = m, .n = n, .k = k, .c_step = c_step, .a = a, .b = packed_b,
				  .c = c, .finish = finish, .tiles = usual_tiles(),
				  .b_row = COLUMNS, .panel_step = COLUMNS * k };

	run_work(team, &work);
}

void gemm_run_int8(struct engine_team *team, int64_t m, int64_t n, int64_t k, struct gemm_matrix a,
		   const struct gemm_int8 *packed_b, float *c, int64_t c_step,
		   const struct gemm_finish *finish)
{
	struct gemm_work work = { .m = m, .n = n, .k = k, .c_step = c_step, .a = a, .b8 = packed_b,
				  .c = c, .finish = finish, .tiles = usual_tiles(),
				  .b_row = COLUMNS, .panel_step = COLUMNS * k };

	run_work(team, &work);
}

void gemm_run_flat(struct engine_team *team, int64_t m, int64_t n, int64_t k, struct gemm_matrix a,
		   const float *b, int64_t b_step, float *c, int64_t c_step,
		   const struct gemm_finish *finish)
{
	struct gemm_work work = { .m = m, .n = n, .k = k, .c_step = c_step, .a = a, .b = b,
				  .c = c, .finish = finish, .tiles = usual_tiles(),
				  .b_row = b_step, .panel_step = COLUMNS };

	assert(n % COLUMNS == 0); /* whole panels are read */
	run_work(team, &work);
}

/* ---- a few rows ---- */

struct thin_work {
	struct gemm_work gemm;
	int64_t b_step;
};

#ifdef __x86_64__
__attribute__((target("avx2,fma"))) static void thin_vector(const struct thin_work *work,
							    int64_t row, int64_t column)
{
	const struct gemm_work *gemm = &work->gemm;
	const float *a = gemm->a.at + row * gemm->a.row_step;
	float *c = gemm->c + row * gemm->c_step + column;
	__m256 totals[4] = { 0 };

	for (int64_t k = 0; k < gemm->k; k += GEMM_BLOCK) {
		int64_t past = least(k + GEMM_BLOCK, gemm->k);
		__m256 sums[4] = { _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(),
				   _mm256_setzero_ps() };

		for (int64_t i = k; i < past; i++) {
			__m256 factor = _mm256_broadcast_ss(a + i * gemm->a.column_step);
			const float *b = gemm->b + i * work->b_step + column;

			_Pragma("GCC unroll 4") for (int v = 0; v < 4; v++) sums[v] =
				_mm256_fmadd_ps(factor, _mm256_loadu_ps(b + 8 * v), sums[v]);
		}
		_Pragma("GCC unroll 4") for (int v = 0; v < 4; v++) totals[v] =
			k == 0 ? sums[v] : _mm256_add_ps(totals[v], sums[v]);
	}
	_Pragma("GCC unroll 4") for (int v = 0; v < 4; v++)
		_mm256_storeu_ps(c + 8 * v, totals[v]);
}
#endif

static void thin_plain(const struct thin_work *work, int64_t row, int64_t column, int64_t columns)
{
	const struct gemm_work *gemm = &work->gemm;
	const float *a = gemm->a.at + row * gemm->a.row_step;

	for (int64_t j = column; j < column + columns; j++) {
		float total = 0;

		for (int64_t k = 0; k < gemm->k; k += GEMM_BLOCK) {
			int64_t past = least(k + GEMM_BLOCK, gemm->k);
			float sum = 0;

			for (int64_t i = k; i < past; i++)
				sum = fmaf(a[i * gemm->a.column_step], gemm->b[i * work->b_step + j],
					   sum);
			total = k == 0 ? sum : total + sum;
		}
		gemm->c[row * gemm->c_step + j] = total;
	}
}

static void thin_parts(void *arg, int64_t first, int64_t past)
{
	enum { WIDTH = 32 };
	const struct thin_work *work = arg;
	const struct gemm_work *gemm = &work->gemm;
	bool vector = native_isa() >= NATIVE_AVX2;

	for (int64_t part = first; part < past; part++) {
		int64_t column = part * WIDTH, columns = least(WIDTH, gemm->n - column);

		for (int64_t row = 0; row < gemm->m; row++)
#ifdef __x86_64__
			if (vector && columns == WIDTH)
				thin_vector(work, row, column);
			else
#endif
				thin_plain(work, row, column, columns);
		finish_block(gemm, 0, gemm->m, column, columns);
	}
	(void)vector;
}

void gemm_run_thin(struct engine_team *team, int64_t m, int64_t n, int64_t k, struct gemm_matrix a,
		   const float *b, int64_t b_step, float *c, int64_t c_step,
		   const struct gemm_finish *finish)
{
	struct thin_work work = { { .m = m, .n = n, .k = k, .c_step = c_step, .a = a, .b = b, .c = c,
				    .finish = finish },
				  b_step };

	if (m == 0 || n == 0)
		return;
	if (k == 0)
		zero_result(&work.gemm);
	else
		engine_team_run(team, (n + 31) / 32, 1 + 4096 / (m * k / 8 + 1), thin_parts, &work);
}
