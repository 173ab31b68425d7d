#include "test.h"

#include <strata/solver.h>

TEST(the_best_instruction_set_works_and_no_better_one_does)
{
	enum strata_isa best = strata_isa_best();

	CHECK(strata_isa_works(STRATA_ISA_SCALAR));
	for (int isa = STRATA_ISA_SCALAR; isa <= STRATA_ISA_AVX512; isa++)
		CHECK_INT(strata_isa_works((enum strata_isa)isa), isa <= (int)best);
	CHECK(!strata_isa_works((enum strata_isa)(STRATA_ISA_AVX512 + 1)));
}
