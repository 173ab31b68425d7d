/* Which instruction sets this processor has, and its operating system keeps. */
#include <strata/solver.h>

#ifdef __x86_64__
#include <cpuid.h>

/* By hand: not every compiler knows the name. That the registers are kept is part of having AVX2. */
static bool has_f16c(void)
{
	unsigned eax, ebx, ecx, edx;

	return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && ecx & bit_F16C;
}
#endif

bool strata_isa_works(enum strata_isa isa)
{
	switch (isa) {
#ifdef __x86_64__
	case STRATA_ISA_AVX2:
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
		       has_f16c();
	case STRATA_ISA_AVX512:
		return __builtin_cpu_supports("avx512f") && strata_isa_works(STRATA_ISA_AVX2);
#endif
	case STRATA_ISA_SCALAR:
		return true;
	default:
		return false;
	}
}

enum strata_isa strata_isa_best(void)
{
	if (strata_isa_works(STRATA_ISA_AVX512))
		return STRATA_ISA_AVX512;
	return strata_isa_works(STRATA_ISA_AVX2) ? STRATA_ISA_AVX2 : STRATA_ISA_SCALAR;
}
