/* Pictures looked at where another tensor says: GridSample, RoiAlign, and NonMaxSuppression, which picks among boxes. */
#include "engine/native/native.h"

#include "engine/team.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- GridSample ---- */

enum interpolation { BILINEAR, NEAREST, BICUBIC };
enum border { ZEROS, BORDER, REFLECTION };

struct grid_work {
	enum interpolation mode;
	enum border border;
	bool corners; /* −1 and 1 are the centres of the outermost pixels, not their edges */
	const float *x, *grid;
	float *to;
	int64_t channels, height, width, points; /* points: of a member */
};

static double reflect(double at, double low, double high)
{
	double range = high - low;

	if (!(range > 0) || !isfinite(at))
		return low;
	at = fmod(fabs(at - low), 2 * range);
	return low + (at > range ? 2 * range - at : at);
}

/* Where a coordinate is among `size` pixels. */
static double unscale(const struct grid_work *work, double at, int64_t size)
{
	return work->corners ? (at + 1) / 2 * (double)(size - 1)
			     : ((at + 1) * (double)size - 1) / 2;
}

/* The coordinate brought inside, as the border mode has it; zeros leave it. */
static double bring_in(const struct grid_work *work, double at, int64_t size)
{
	double last = (double)(size - 1);

	if (work->border == REFLECTION)
		at = work->corners ? reflect(at, 0, last) : reflect(at, -0.5, last + 0.5);
	return work->border == ZEROS ? at : fmin(last, fmax(0, at));
}

static float pixel(const struct grid_work *work, const float *plane, double row, double column)
{
	if (work->border != ZEROS) {
		row = bring_in(work, row, work->height);
		column = bring_in(work, column, work->width);
	}
	if (!(row >= 0 && row <= (double)(work->height - 1) && column >= 0 &&
	      column <= (double)(work->width - 1)))
		return 0;
	return plane[(int64_t)row * work->width + (int64_t)column];
}

static double cubic(double x)
{
	const double a = -0.75;

	x = fabs(x);
	return x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1
		      : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

static float sample(const struct grid_work *work, const float *plane, double row, double column)
{
	if (work->mode != BICUBIC) {
		row = bring_in(work, row, work->height);
		column = bring_in(work, column, work->width);
	}
	if (work->mode == NEAREST)
		return pixel(work, plane, rint(row), rint(column));
	double top = floor(row), left = floor(column), sum = 0;
	int low = work->mode == BICUBIC ? -1 : 0, high = work->mode == BICUBIC ? 2 : 1;

	for (int i = low; i <= high; i++)
		for (int k = low; k <= high; k++) {
			double down = row - top - i, right = column - left - k;
			double weight = work->mode == BICUBIC
						? cubic(down) * cubic(right)
						: (1 - fabs(down)) * (1 - fabs(right));

			sum += weight * pixel(work, plane, top + i, left + k);
		}
	return (float)sum;
}

static void grid_planes(void *arg, int64_t first, int64_t past)
{
	const struct grid_work *work = arg;

	for (int64_t p = first; p < past; p++) {
		const float *plane = work->x + p * work->height * work->width;
		const float *grid = work->grid + p / work->channels * work->points * 2;
		float *to = work->to + p * work->points;

		for (int64_t i = 0; i < work->points; i++)
			to[i] = sample(work, plane, unscale(work, grid[2 * i + 1], work->height),
				       unscale(work, grid[2 * i], work->width));
	}
}

static int read_grid(struct native_call *call, struct grid_work *work, struct strata_error *err)
{
	const char *mode = native_text(call, "mode", "bilinear");
	const char *border = native_text(call, "padding_mode", "zeros");

	work->corners = native_int(call, "align_corners", 0);
	work->mode = strcmp(mode, "nearest") == 0                                 ? NEAREST
		     : strcmp(mode, "bicubic") == 0 || strcmp(mode, "cubic") == 0 ? BICUBIC
										  : BILINEAR;
	work->border = strcmp(border, "border") == 0       ? BORDER
		       : strcmp(border, "reflection") == 0 ? REFLECTION
							   : ZEROS;
	if (work->mode == BILINEAR && strcmp(mode, "bilinear") != 0 && strcmp(mode, "linear") != 0)
		return native_lacks(call, err, "mode '%.40s' is not known", mode);
	if (work->border == ZEROS && strcmp(border, "zeros") != 0)
		return native_lacks(call, err, "padding_mode '%.40s' is not known", border);
	return 0;
}

static int run_grid(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x, *grid;
	struct grid_work work = { 0 };
	int rc = native_typed(call, 0, ONNX_FLOAT, &x, err);

	if (rc == 0)
		rc = native_typed(call, 1, ONNX_FLOAT, &grid, err);
	if (rc == 0)
		rc = read_grid(call, &work, err);
	if (rc)
		return rc;
	if (x->rank != 4 || grid->rank != 4)
		return native_lacks(call, err, "it is built for pictures of two dimensions");
	if (grid->dims[0] != x->dims[0] || grid->dims[3] != 2 || x->dims[2] * x->dims[3] == 0)
		return native_refuse(call, err, "the grid does not fit to the input");
	const int64_t dims[4] = { x->dims[0], x->dims[1], grid->dims[1], grid->dims[2] };

	rc = native_make(call, 0, ONNX_FLOAT, 4, dims, err);
	if (rc || engine_value_elements(&call->outputs[0]) == 0)
		return rc;
	work.x = x->data;
	work.grid = grid->data;
	work.to = call->outputs[0].data;
	work.channels = x->dims[1];
	work.height = x->dims[2];
	work.width = x->dims[3];
	work.points = dims[2] * dims[3];
	engine_team_run(call->team, dims[0] * dims[1], 1 + 512 / (work.points + 1), grid_planes,
			&work);
	return 0;
}

/* ---- RoiAlign ---- */

struct roi_work {
	const float *x, *rois;
	const int64_t *members;
	float *to;
	int64_t channels, height, width, out_height, out_width, ratio;
	double scale, shift;
	bool largest;
};

/* By the four pixels around, each with its weight; `largest` takes the greatest product instead of the sum, as ONNX defines it. */
static double roi_point(const struct roi_work *work, const float *plane, double y, double x)
{
	double h = (double)work->height, w = (double)work->width;

	if (y < -1 || y > h || x < -1 || x > w || y != y || x != x)
		return 0;
	y = fmin(fmax(y, 0), h - 1);
	x = fmin(fmax(x, 0), w - 1);
	int64_t top = (int64_t)y, left = (int64_t)x;
	int64_t bottom = top + 1 < work->height ? top + 1 : top;
	int64_t right = left + 1 < work->width ? left + 1 : left;
	double down = y - (double)top, along = x - (double)left;
	double a = (1 - down) * (1 - along) * plane[top * work->width + left];
	double b = (1 - down) * along * plane[top * work->width + right];
	double c = down * (1 - along) * plane[bottom * work->width + left];
	double d = down * along * plane[bottom * work->width + right];

	return work->largest ? fmax(fmax(a, b), fmax(c, d)) : a + b + c + d;
}

static float roi_bin(const struct roi_work *work, const float *plane, double top, double left,
		     double height, double width)
{
	int64_t rows = work->ratio > 0 ? work->ratio : (int64_t)ceil(height);
	int64_t columns = work->ratio > 0 ? work->ratio : (int64_t)ceil(width);
	double sum = work->largest ? -INFINITY : 0;

	rows = rows < 1 ? 1 : rows;
	columns = columns < 1 ? 1 : columns;
	for (int64_t i = 0; i < rows; i++)
		for (int64_t k = 0; k < columns; k++) {
			double y = top + ((double)i + 0.5) * height / (double)rows;
			double x = left + ((double)k + 0.5) * width / (double)columns;
			double value = roi_point(work, plane, y, x);

			sum = work->largest ? fmax(sum, value) : sum + value;
		}
	return (float)(work->largest ? sum : sum / (double)(rows * columns));
}

static void roi_planes(void *arg, int64_t first, int64_t past)
{
	const struct roi_work *work = arg;

	for (int64_t p = first; p < past; p++) {
		int64_t roi = p / work->channels, channel = p % work->channels;
		const float *box = work->rois + roi * 4;
		const float *plane = work->x + (work->members[roi] * work->channels + channel) *
						       work->height * work->width;
		double left = box[0] * work->scale - work->shift;
		double top = box[1] * work->scale - work->shift;
		double width = box[2] * work->scale - work->shift - left;
		double height = box[3] * work->scale - work->shift - top;

		if (work->shift == 0) { /* as the first form of the operator has it */
			width = fmax(width, 1);
			height = fmax(height, 1);
		}
		width /= (double)work->out_width;
		height /= (double)work->out_height;
		for (int64_t i = 0; i < work->out_height * work->out_width; i++)
			work->to[p * work->out_height * work->out_width + i] = roi_bin(
				work, plane, top + (double)(i / work->out_width) * height,
				left + (double)(i % work->out_width) * width, height, width);
	}
}

static int check_rois(struct native_call *call, const struct roi_work *work, int64_t count,
		      int64_t members, struct strata_error *err)
{
	for (int64_t i = 0; i < count; i++) {
		if (work->members[i] < 0 || work->members[i] >= members)
			return native_refuse(call, err, "a region is of member %lld of %lld",
					     (long long)work->members[i], (long long)members);
		for (int k = 0; k < 4; k++)
			if (!(fabs(work->rois[4 * i + k] * work->scale) < 1e4))
				return native_refuse(call, err, "a region is at %g",
						     work->rois[4 * i + k]);
	}
	return 0;
}

static int run_roi(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *x, *rois, *members;
	const char *usual = call->opset < 16 ? "output_half_pixel" : "half_pixel";
	const char *way = native_text(call, "coordinate_transformation_mode", usual);
	struct roi_work work = { .ratio = native_int(call, "sampling_ratio", 0),
				 .scale = native_real(call, "spatial_scale", 1),
				 .shift = strcmp(way, "half_pixel") == 0 ? 0.5 : 0,
				 .largest = strcmp(native_text(call, "mode", "avg"), "max") == 0,
				 .out_height = native_int(call, "output_height", 1),
				 .out_width = native_int(call, "output_width", 1) };
	int rc = native_typed(call, 0, ONNX_FLOAT, &x, err);

	if (rc == 0)
		rc = native_typed(call, 1, ONNX_FLOAT, &rois, err);
	if (rc == 0)
		rc = native_typed(call, 2, ONNX_INT64, &members, err);
	if (rc)
		return rc;
	if (x->rank != 4 || rois->rank != 2 || rois->dims[1] != 4 || work.out_height < 1 ||
	    work.out_width < 1 || engine_value_elements(members) != rois->dims[0] ||
	    x->dims[2] * x->dims[3] == 0 || work.ratio > 1000)
		return native_refuse(call, err, "the regions do not fit to the input");
	const int64_t dims[4] = { rois->dims[0], x->dims[1], work.out_height, work.out_width };

	work.x = x->data;
	work.rois = rois->data;
	work.members = members->data;
	work.channels = x->dims[1];
	work.height = x->dims[2];
	work.width = x->dims[3];
	rc = check_rois(call, &work, dims[0], x->dims[0], err);
	if (rc == 0)
		rc = native_make(call, 0, ONNX_FLOAT, 4, dims, err);
	if (rc || engine_value_elements(&call->outputs[0]) == 0)
		return rc;
	work.to = call->outputs[0].data;
	engine_team_run(call->team, dims[0] * dims[1], 1, roi_planes, &work);
	return 0;
}

/* ---- NonMaxSuppression ---- */

struct box {
	float top, left, bottom, right, score;
	int64_t index;
};

static int by_score(const void *a, const void *b)
{
	const struct box *left = a, *right = b;

	return left->score > right->score   ? -1
	       : left->score < right->score ? 1
	       : left->index < right->index ? -1
					    : 1;
}

static struct box box_of(const float *at, bool centred)
{
	struct box box;

	if (centred) { /* x y width height */
		box = (struct box){ at[1] - at[3] / 2, at[0] - at[2] / 2, at[1] + at[3] / 2,
				    at[0] + at[2] / 2 };
	} else { /* two corners, whichever */
		box = (struct box){ fminf(at[0], at[2]), fminf(at[1], at[3]), fmaxf(at[0], at[2]),
				    fmaxf(at[1], at[3]) };
	}
	return box;
}

static float overlap(const struct box *a, const struct box *b)
{
	float height = fminf(a->bottom, b->bottom) - fmaxf(a->top, b->top);
	float width = fminf(a->right, b->right) - fmaxf(a->left, b->left);
	float shared = height > 0 && width > 0 ? height * width : 0;
	float whole = (a->bottom - a->top) * (a->right - a->left) +
		      (b->bottom - b->top) * (b->right - b->left) - shared;

	return whole > 0 ? shared / whole : 0;
}

struct suppression {
	int64_t most; /* boxes of a class */
	float overlap, score;
	bool centred, scored; /* scored: `score` holds */
	struct box *boxes;    /* room for all of a member */
};

/* Boxes of one class of one member that stay, the best first, at the beginning of `boxes`. */
static int64_t choose(const struct suppression *how, const float *at, const float *scores,
		      int64_t count)
{
	struct box *boxes = how->boxes;
	int64_t found = 0, kept = 0;

	for (int64_t i = 0; i < count; i++) {
		if (how->scored && !(scores[i] > how->score))
			continue;
		boxes[found] = box_of(at + 4 * i, how->centred);
		boxes[found].score = scores[i];
		boxes[found++].index = i;
	}
	qsort(boxes, (size_t)found, sizeof(*boxes), by_score);
	for (int64_t i = 0; i < found && kept < how->most; i++) {
		bool stays = true;

		for (int64_t k = 0; stays && k < kept; k++)
			stays = overlap(&boxes[k], &boxes[i]) <= how->overlap;
		if (stays)
			boxes[kept++] = boxes[i];
	}
	return kept;
}

static int read_suppression(struct native_call *call, struct suppression *how,
			    struct strata_error *err)
{
	double most = 0, overlapping = 0, score = 0;
	int rc = native_input(call, 2) ? native_input_real(call, 2, &most, err) : 0;

	if (rc == 0 && native_input(call, 3))
		rc = native_input_real(call, 3, &overlapping, err);
	if (rc == 0 && native_input(call, 4))
		rc = native_input_real(call, 4, &score, err);
	how->most = most < 1 ? 0 : most > 1e15 ? (int64_t)1e15 : (int64_t)most;
	how->overlap = (float)overlapping;
	how->score = (float)score;
	how->scored = native_input(call, 4) != NULL;
	how->centred = native_int(call, "center_point_box", 0);
	return rc;
}

static int suppress(struct native_call *call, struct suppression *how,
		    const struct engine_value *boxes, const struct engine_value *scores,
		    int64_t *room, struct strata_error *err)
{
	int64_t classes = scores->dims[1], count = scores->dims[2], found = 0;

	for (int64_t c = 0; c < scores->dims[0] * classes; c++) {
		int64_t kept = choose(how, (const float *)boxes->data + c / classes * count * 4,
				      (const float *)scores->data + c * count, count);

		for (int64_t i = 0; i < kept; i++, found++) {
			room[3 * found] = c / classes;
			room[3 * found + 1] = c % classes;
			room[3 * found + 2] = how->boxes[i].index;
		}
	}
	int rc = native_make(call, 0, ONNX_INT64, 2, (int64_t[]){ found, 3 }, err);

	if (rc == 0 && found)
		memcpy(call->outputs[0].data, room, (size_t)found * 3 * sizeof(*room));
	return rc;
}

static int run_suppression(struct native_call *call, struct strata_error *err)
{
	const struct engine_value *boxes, *scores;
	struct suppression how = { 0 };
	int rc = native_typed(call, 0, ONNX_FLOAT, &boxes, err);

	if (rc == 0)
		rc = native_typed(call, 1, ONNX_FLOAT, &scores, err);
	if (rc == 0)
		rc = read_suppression(call, &how, err);
	if (rc)
		return rc;
	if (boxes->rank != 3 || scores->rank != 3 || boxes->dims[2] != 4 ||
	    boxes->dims[0] != scores->dims[0] || boxes->dims[1] != scores->dims[2])
		return native_refuse(call, err, "boxes and scores do not fit together");
	size_t box_bytes = (size_t)scores->dims[2] * sizeof(struct box);
	size_t bytes = box_bytes + (size_t)engine_value_elements(scores) * 3 * sizeof(int64_t);
	char *room = native_scratch(call, bytes, err);

	if (!room)
		return -ENOMEM;
	how.boxes = (struct box *)room;
	rc = suppress(call, &how, boxes, scores, (int64_t *)(room + box_bytes), err);
	engine_heap_put(call->heap, room, bytes);
	return rc;
}

static const struct native_op ops[] = {
	{ "GridSample", run_grid },
	{ "NonMaxSuppression", run_suppression },
	{ "RoiAlign", run_roi },
};

const struct native_family native_family_sample = { "sampled pictures", "", ops,
						    sizeof(ops) / sizeof(ops[0]) };
