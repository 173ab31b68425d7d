/* The instruction set is what was asked for, as far as the processor has it. */
#include "test.h"

#include "engine/native/instructions.h"

#include <errno.h>
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

TEST(a_word_that_is_not_known_is_refused)
{
	struct strata_error err = { 0 };

	CHECK_OK(native_isa_check(&err));
	char *before = getenv("STRATA_ISA") ? strdup(getenv("STRATA_ISA")) : NULL;

	setenv("STRATA_ISA", "avx3", 1);
	CHECK_INT(native_isa_check(&err), -EINVAL);
	CHECK_TEXT(err.text, "STRATA_ISA is avx3; expected plain, avx2 or avx512");
	setenv("STRATA_ISA", "", 1);
	CHECK_OK(native_isa_check(&err));
	if (before)
		setenv("STRATA_ISA", before, 1);
	else
		unsetenv("STRATA_ISA");
	free(before);
}
