/*
 * Random numbers, always seeded by the caller: the same seed gives the same numbers on every run,
 * machine and thread, whatever the batch.
 *
 *	strata_philox	the counter-based function that all but torch's CPU generator is made of
 *	strata_rng	a stream for simulators, tie-breaks and tests
 *	strata_noise	normals addressed by (seed, step, element): a sample's, whatever its batch
 *	strata_torch	torch's CPU generator: torch.manual_seed(s); torch.rand(n); torch.randn(n)
 *	strata_cuda	torch's CUDA generator: torch.randn(n, device="cuda")
 *
 * Each generator is a plain struct without pointers: a copy of it is a saved state, and putting the
 * copy back restores it. Nothing here allocates or fails. One struct belongs to one thread at a
 * time; the functions that take it as const may be called by many.
 */
#ifndef STRATA_RNG_H
#define STRATA_RNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Philox4x32-10: 128 random bits for a counter under a key. Equal to Random123's philox4x32. */
void strata_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t ret_words[4]);

/* A stream of random words: number n of the stream depends on seed, stream and n alone. */
struct strata_rng {
	uint64_t seed;
	uint64_t stream;   /* streams of one seed are independent: one per user, node, trace … */
	uint64_t position; /* 32-bit words taken so far: what to save, and where _seek goes */
	uint64_t block;    /* which block `words` holds, plus one; 0: none yet */
	uint32_t words[4];
};

void strata_rng_init(struct strata_rng *rng, uint64_t seed, uint64_t stream);

/* The next word taken will be number `position`; forwards and backwards cost the same. */
void strata_rng_seek(struct strata_rng *rng, uint64_t position);

uint32_t strata_rng_u32(struct strata_rng *rng);
uint64_t strata_rng_u64(struct strata_rng *rng); /* two words */

/* A multiple of 2^-53 in [0, 1). Two words. */
double strata_rng_real(struct strata_rng *rng);

/* 0 … bound − 1, each exactly as likely as the others. bound must not be 0. Takes two words, rarely
 * more. */
uint64_t strata_rng_below(struct strata_rng *rng, uint64_t bound);

/* Mean 0, variance 1. Takes four words or a multiple of four. Its logarithm is its own and not the
 * C library's, so it has the same bits everywhere. */
double strata_rng_normal(struct strata_rng *rng);

/* Every order of the count items of item_bytes each is equally likely. */
void strata_rng_shuffle(struct strata_rng *rng, void *items, size_t count, size_t item_bytes);

/* Normals that depend on (seed, step, element) and nothing else. */
struct strata_noise {
	uint64_t seed;
	uint64_t step; /* which tensor: 0 the first latent, 1 the noise of the first step … */
};

/* Elements first … first + count − 1 of this step. */
void strata_noise_normal_at(const struct strata_noise *noise, uint64_t first, float *ret_values,
			    size_t count);

/* Elements 0 … count − 1, then goes to the next step. */
void strata_noise_normal(struct strata_noise *noise, float *ret_values, size_t count);

enum { STRATA_MT19937_WORDS = 624 };

struct strata_mt19937 {
	uint32_t state[STRATA_MT19937_WORDS];
	uint32_t used_count; /* of state; 624 or more: new words are due */
};

/* torch's CPU generator as of torch 1.13 on a machine with AVX2. Integers, uniforms and float32
 * normals are equal to torch's to the bit; 64-bit normals use the C library's log, sin and cos, as
 * torch does. A call stands for one call of torch: randn(3) and then randn(4) is not randn(7). */
struct strata_torch {
	struct strata_mt19937 mt;
	bool has_normal;    /* a draw of fewer than 16 normals left one over */
	double next_normal; /* that one; 0 when there is none */
};

/* torch.manual_seed(seed): torch uses the low 32 bits. */
void strata_torch_init(struct strata_torch *torch, uint64_t seed);

uint32_t strata_torch_u32(struct strata_torch *torch);
uint64_t strata_torch_u64(struct strata_torch *torch);

/* torch.rand(count) and torch.randn(count) for a contiguous tensor of each type; float16 and
 * bfloat16 as bits. */
void strata_torch_uniform_f32(struct strata_torch *torch, float *ret_values, size_t count);
void strata_torch_uniform_f64(struct strata_torch *torch, double *ret_values, size_t count);
void strata_torch_uniform_f16(struct strata_torch *torch, uint16_t *ret_values, size_t count);
void strata_torch_uniform_bf16(struct strata_torch *torch, uint16_t *ret_values, size_t count);
void strata_torch_normal_f32(struct strata_torch *torch, float *ret_values, size_t count);
void strata_torch_normal_f64(struct strata_torch *torch, double *ret_values, size_t count);
void strata_torch_normal_f16(struct strata_torch *torch, uint16_t *ret_values, size_t count);
void strata_torch_normal_bf16(struct strata_torch *torch, uint16_t *ret_values, size_t count);

/* How many threads of the GPU share one call: SMs × (threads per SM / 256) × 256. Up to that many
 * elements the numbers are the same on every GPU; above it they depend on this. */
#define STRATA_CUDA_THREADS UINT64_C(163840) /* 80 SMs of 2048 threads */
#define STRATA_CUDA_THREADS_ANY UINT64_MAX   /* one per element always, as in A1111's "NV" noise */

/* torch's CUDA generator, float32 normals. A GPU's fast sine differs in the last bits: expect
 * 1e-6. */
struct strata_cuda {
	uint64_t seed;
	uint64_t call;    /* blocks a thread has used: 1 per call of up to 4 × threads elements */
	uint64_t threads; /* not 0 */
};

/* threads 0 means STRATA_CUDA_THREADS. */
void strata_cuda_init(struct strata_cuda *cuda, uint64_t seed, uint64_t threads);

/* Elements first … first + count − 1 of the next call, which stays the next call. */
void strata_cuda_normal_at(const struct strata_cuda *cuda, uint64_t first, float *ret_values,
			   size_t count);

/* torch.randn(count, device="cuda"): elements 0 … count − 1, then goes to the next call. */
void strata_cuda_normal(struct strata_cuda *cuda, float *ret_values, size_t count);

/* What is left when a call of `count` elements has been made by _normal_at: goes to the next
 * call. */
void strata_cuda_next(struct strata_cuda *cuda, uint64_t count);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
