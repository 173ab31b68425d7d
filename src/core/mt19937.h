/* The Mersenne Twister under torch's CPU generator: its integers, before any distribution. */
#ifndef CORE_MT19937_H
#define CORE_MT19937_H

#include <strata/rng.h>

/* init_genrand of the 2002 reference; torch keeps only the low 32 bits of a seed. */
void mt19937_init(struct strata_mt19937 *mt, uint32_t seed);
uint32_t mt19937_u32(struct strata_mt19937 *mt);
/* Two draws, the high word first, as torch does. */
uint64_t mt19937_u64(struct strata_mt19937 *mt);
/* The next count draws. */
void mt19937_fill(struct strata_mt19937 *mt, uint32_t *ret_words, size_t count);

#endif
