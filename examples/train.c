/* Trains a small network twice: once with its weights in memory, once with them on disk and memory for a third of them. The losses are the
 * same, bit for bit.
 *	cc train.c $(pkg-config --cflags --libs strata) -lm && ./a.out */
#include <strata/stream.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 64, LAYERS = 12, BATCH = 64, STEPS = 150, PAGE = 4096 };

/* A layer adds tanh(W·h + b) to what comes in. In the file they lie one behind the other, W before b. */
struct layer {
	float w[WIDTH][WIDTH], b[WIDTH];
};
typedef float batch[BATCH][WIDTH];

static struct layer first[LAYERS]; /* weights to begin with */
static batch input[LAYERS + 1], inner[LAYERS], gradient;
static float target[BATCH];

static float uniform(void) /* -1 … 1, the same everywhere */
{
	static uint32_t state = 1;

	state = state * 1664525u + 1013904223u;
	return (float)(int32_t)state / 2147483648.0f;
}

static void make_task(void)
{
	for (int l = 0; l < LAYERS; l++)
		for (int i = 0; i < WIDTH; i++)
			for (int k = 0; k < WIDTH; k++)
				first[l].w[i][k] = uniform() * 0.1f;
	for (int s = 0; s < BATCH; s++) {
		for (int i = 0; i < WIDTH; i++)
			input[0][s][i] = uniform();
		target[s] = sinf(3 * input[0][s][0]) * input[0][s][1];
	}
}

static void forward(const struct layer *layer, int l)
{
	for (int s = 0; s < BATCH; s++)
		for (int i = 0; i < WIDTH; i++) {
			float sum = layer->b[i];

			for (int k = 0; k < WIDTH; k++)
				sum += layer->w[i][k] * input[l][s][k];
			inner[l][s][i] = tanhf(sum);
			input[l + 1][s][i] = input[l][s][i] + inner[l][s][i];
		}
}

/* Goes from the gradient behind the layer to the one before it, and changes the weights. */
static void backward(struct layer *layer, int l, float rate)
{
	static float before[WIDTH];

	for (int s = 0; s < BATCH; s++) {
		memcpy(before, gradient[s], sizeof(before));
		for (int i = 0; i < WIDTH; i++) {
			float slope = gradient[s][i] * (1 - inner[l][s][i] * inner[l][s][i]);

			for (int k = 0; k < WIDTH; k++)
				before[k] += slope * layer->w[i][k];
			inner[l][s][i] = slope; /* kept until all samples have gone through */
		}
		memcpy(gradient[s], before, sizeof(before));
	}
	for (int s = 0; s < BATCH; s++)
		for (int i = 0; i < WIDTH; i++) {
			layer->b[i] -= rate * inner[l][s][i];
			for (int k = 0; k < WIDTH; k++)
				layer->w[i][k] -= rate * inner[l][s][i] * input[l][s][k];
		}
}

/* The mean square error of the first output, and its gradient. */
static double judge(void)
{
	double loss = 0;

	memset(gradient, 0, sizeof(gradient));
	for (int s = 0; s < BATCH; s++) {
		float error = input[LAYERS][s][0] - target[s];

		loss += error * error / BATCH;
		gradient[s][0] = 2 * error / BATCH;
	}
	return loss;
}

/* ---- in memory ---- */

static void train_in_memory(double *losses)
{
	static struct layer layers[LAYERS];

	memcpy(layers, first, sizeof(layers));
	for (int step = 0; step < STEPS; step++) {
		for (int l = 0; l < LAYERS; l++)
			forward(&layers[l], l);
		losses[step] = judge();
		for (int l = LAYERS; l-- > 0;)
			backward(&layers[l], l, 0.1f);
	}
}

/* ---- on disk ---- */

static void must(int rc, const struct strata_error *err)
{
	if (rc) {
		fprintf(stderr, "train: %s\n", err->text);
		exit(1);
	}
}

static void train_from_disk(const char *path, const char *directory, int64_t budget, double *losses)
{
	struct strata_memory memory = { 0 };
	struct strata_error err;
	struct strata_stream *stream;
	struct strata_stream_metrics metrics;
	struct strata_extent extents[LAYERS];
	struct strata_stream_layer layers[LAYERS];
	uint32_t order[2 * LAYERS]; /* there and back */

	for (uint32_t l = 0; l < LAYERS; l++) {
		extents[l] = (struct strata_extent){ 0, l * (int64_t)sizeof(struct layer),
						     sizeof(struct layer) };
		layers[l] = (struct strata_stream_layer){ "layer", &extents[l], 1, 0 };
		order[l] = order[2 * LAYERS - 1 - l] = l;
	}
	const struct strata_stream_conf conf = {
		.paths = &path,
		.path_count = 1,
		.layers = layers,
		.layer_count = LAYERS,
		.order = order,
		.visit_count = 2 * LAYERS,
		.backward_count = LAYERS,
		.budget_bytes = budget,
		.page_bytes = PAGE,
		.bytes_per_s = 1000000000,
		.changes_dir = directory, /* the file stays as it is; what is learnt goes here */
	};

	must(strata_stream_open(&conf, &memory, &stream, &err), &err);
	for (int step = 0; step < STEPS; step++) {
		must(strata_stream_step_start(stream, &err), &err);
		for (uint32_t l = 0; l < LAYERS; l++) {
			must(strata_stream_pre_forward(stream, l, &err), &err);
			forward(strata_stream_at(stream, l, 0), (int)l);
			must(strata_stream_post_forward(stream, l, &err), &err);
		}
		losses[step] = judge();
		for (uint32_t l = LAYERS; l-- > 0;) {
			must(strata_stream_pre_backward(stream, l, &err), &err);
			backward(strata_stream_at(stream, l, 0), (int)l, 0.1f);
			must(strata_stream_changed(stream, l, 0, &err), &err);
			must(strata_stream_post_backward(stream, l, &err), &err);
		}
		must(strata_stream_step_end(stream, &err), &err);
	}
	strata_stream_metrics(stream, &metrics);
	printf("budget %lld bytes, at most %lld in use; %lld read, %lld written\n",
	       (long long)budget, (long long)metrics.peak_bytes, (long long)metrics.bytes_read,
	       (long long)metrics.bytes_written);
	strata_stream_close(stream);
}

int main(int argc, char **argv)
{
	static double resident[STEPS], streamed[STEPS];
	const char *directory = argc > 1 ? argv[1] : ".";
	char path[4096];
	FILE *file;

	make_task();
	snprintf(path, sizeof(path), "%s/weights.bin", directory);
	file = fopen(path, "wb");
	if (!file || fwrite(first, sizeof(first), 1, file) != 1 || fclose(file)) {
		perror(path);
		return 1;
	}
	train_in_memory(resident);
	printf("%zu bytes of weights\n", sizeof(first));
	train_from_disk(path, directory, sizeof(first) / 3, streamed);
	for (int step = 0; step < STEPS; step += 50)
		printf("step %3d  loss %.6f in memory, %.6f from disk\n", step, resident[step],
		       streamed[step]);
	printf("step %3d  loss %.6f in memory, %.6f from disk\n", STEPS - 1, resident[STEPS - 1],
	       streamed[STEPS - 1]);
	bool same = memcmp(resident, streamed, sizeof(resident)) == 0;

	printf("the curves are %s\n", same ? "the same" : "not the same");
	unlink(path);
	return same && streamed[STEPS - 1] < streamed[0] / 10 ? 0 : 1;
}
