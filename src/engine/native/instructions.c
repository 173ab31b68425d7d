/* The instruction set: see instructions.h. */
#include "engine/native/instructions.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char variable[] = "STRATA_ISA";
static const char *const words[] = { [NATIVE_PLAIN] = "plain",
				     [NATIVE_AVX2] = "avx2",
				     [NATIVE_AVX512] = "avx512" };

/* The most that is allowed; 0: the word is not known. */
static enum native_isa allowed(void)
{
	const char *most = getenv(variable);

	if (!most || !most[0])
		return NATIVE_AVX512;
	for (size_t i = NATIVE_PLAIN; i <= NATIVE_AVX512; i++)
		if (strcmp(most, words[i]) == 0)
			return (enum native_isa)i;
	return 0;
}

int native_isa_check(struct strata_error *err)
{
	return allowed() ? 0
			 : strata_fail(err, -EINVAL, "%s is %s; expected plain, avx2 or avx512",
				       variable, getenv(variable));
}

static enum native_isa find(void)
{
	enum native_isa most = allowed(), isa = NATIVE_PLAIN;

#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		isa = __builtin_cpu_supports("avx512f") ? NATIVE_AVX512 : NATIVE_AVX2;
#endif
	return most && most < isa ? most : isa;
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
