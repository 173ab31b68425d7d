/*
 * A made-up network in the shape of a diffusion model's UNet, written as an ONNX file with weights beside it: what is measured with where no real model may be had.
 * Operators are those that exports of such models have: group norms as reshaped instance norms, SiLU and GELU in pieces, attention as products around a softmax.
 * Weights are drawn from a seed, so the same conf gives the same bytes.
 */
#ifndef BENCH_UNET_H
#define BENCH_UNET_H

#include <strata/error.h>
#include <strata/memory.h>

enum { UNET_LEVELS_MAX = 6 };

struct unet_conf {
	size_t level_count;                 /* 1 to UNET_LEVELS_MAX; the picture is halved between them */
	int64_t channels[UNET_LEVELS_MAX];  /* of each level, each a multiple of `groups` and of `head` */
	int64_t blocks;                     /* of a level on the way down; one more on the way up */
	int64_t groups;                     /* of a group norm */
	int64_t head;                       /* channels of one head of an attention */
	int64_t context, tokens;            /* of the prompt: width and length */
	int64_t batch, size;                /* latents are batch × 4 × size × size */
	uint64_t seed;
};

/* Like Stable Diffusion's with 0.3 times the channels: 78 million parameters, 32 × 32 latents, batch 2. */
struct unet_conf unet_conf_usual(void);

struct unet_made {
	int64_t parameters, weight_bytes;
	size_t node_count;
};

/* Writes PATH (the graph) and PATH.data (the weights). -EINVAL for a conf that cannot be, or what the system says; files that were begun are removed then. */
int unet_write(const struct unet_conf *conf, const char *path, struct strata_memory *memory,
	       struct unet_made *ret_made, struct strata_error *err);

#endif
