/* Does this processor have AVX2 with FMA, or AVX-512? Asked in hot loops, so it is what the compiler's runtime noted at the start, not a question to the processor. */
#ifndef ENGINE_NATIVE_AVX2_H
#define ENGINE_NATIVE_AVX2_H

#include <stdbool.h>

static inline bool avx2_works(void)
{
#ifdef __x86_64__
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
	return false;
#endif
}

static inline bool avx512_works(void)
{
#ifdef __x86_64__
	return __builtin_cpu_supports("avx512f");
#else
	return false;
#endif
}

#endif
