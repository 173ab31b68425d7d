/* The instruction set is what was asked for, as far as the processor has it. */
#include "test.h"

#include "engine/native/instructions.h"

#include <stdlib.h>
#include <string.h>

TEST(it_is_at_most_what_was_asked_for)
{
	const char *most = getenv("STRATA_ISA");
	enum native_isa isa = native_isa();

	CHECK(isa >= NATIVE_PLAIN && isa <= NATIVE_AVX512);
	if (most && strcmp(most, "plain") == 0)
		CHECK_INT(isa, NATIVE_PLAIN);
	if (most && strcmp(most, "avx2") == 0)
		CHECK(isa <= NATIVE_AVX2);
	CHECK_INT(native_isa(), isa);
}
