/*
 * Which instructions kernels of our own use: the best that this processor has, or less where STRATA_ISA says so (plain, avx2, avx512), for those who compare. Products do not
 * depend on it; exponentials without vectors are the system's own, and differ in the last bits. Asked in hot loops, so it is found once.
 */
#ifndef ENGINE_NATIVE_INSTRUCTIONS_H
#define ENGINE_NATIVE_INSTRUCTIONS_H

#include <strata/error.h>

enum native_isa {
	NATIVE_PLAIN = 1,
	NATIVE_AVX2, /* with FMA */
	NATIVE_AVX512,
};

enum native_isa native_isa(void); /* from any thread */
/* -EINVAL when STRATA_ISA is a word that is not known. */
int native_isa_check(struct strata_error *err);

#endif
