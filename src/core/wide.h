/*
 * Where a loop has a second spelling for AVX2 with FMA: whether this machine has them, and the
 * attribute that lets one function use them. The two spellings give the same bits, so asking the
 * machine here is a matter of speed and never of results.
 */
#ifndef CORE_WIDE_H
#define CORE_WIDE_H

#include <stdbool.h>

#ifdef __x86_64__
#include <immintrin.h>
#define WIDE __attribute__((target("avx2,fma")))

static inline bool wide_present(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

#endif
