/* The instruction set: see instructions.h. */
#include "engine/native/instructions.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static enum native_isa find(void)
{
	const char *most = getenv("STRATA_ISA");
	enum native_isa isa = NATIVE_PLAIN;

#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		isa = __builtin_cpu_supports("avx512f") ? NATIVE_AVX512 : NATIVE_AVX2;
#endif
	if (most && strcmp(most, "plain") == 0)
		isa = NATIVE_PLAIN;
	if (most && strcmp(most, "avx2") == 0 && isa > NATIVE_AVX2)
		isa = NATIVE_AVX2;
	return isa;
}

enum native_isa native_isa(void)
{
	static _Atomic int found;
	int isa = atomic_load_explicit(&found, memory_order_relaxed);

	if (!isa) {
		isa = (int)find();
		atomic_store_explicit(&found, isa, memory_order_relaxed);
	}
	return (enum native_isa)isa;
}
