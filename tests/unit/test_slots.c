#include "test.h"

#include <strata/solver.h>

TEST(slots_fit_and_begin_at_different_places_of_a_page)
{
	static const size_t counts[] = { 0, 1, 1000, 1024, 16384, 16385, 1 << 20 };

	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++)
		for (int element = STRATA_F32; element <= STRATA_BF16; element++) {
			size_t bytes = counts[c] * (element == STRATA_F32 ? 4 : 2);
			size_t room = strata_solver_slots_bytes(STRATA_SOLVER_SLOTS_MAX, counts[c],
								(enum strata_element)element);
			void *slots[STRATA_SOLVER_SLOTS_MAX];

			CHECK_INT(room % 64, 0);
			strata_solver_slots_init((void *)0x10000, STRATA_SOLVER_SLOTS_MAX,
						 counts[c], (enum strata_element)element, slots);
			for (size_t i = 0; i < STRATA_SOLVER_SLOTS_MAX; i++) {
				uintptr_t at = (uintptr_t)slots[i];

				CHECK(at >= 0x10000 && at + bytes <= 0x10000 + room);
				CHECK_INT(at % 64, 0);
				CHECK(at % 4096 != 0); /* where samples begin */
				for (size_t k = 0; k < i; k++) {
					CHECK((uintptr_t)slots[k] + bytes <= at);
					CHECK((uintptr_t)slots[k] % 4096 != at % 4096);
				}
			}
		}
}

TEST(no_slots_are_no_trouble)
{
	strata_solver_slots_init(NULL, 0, 100, STRATA_F32, NULL);
	CHECK(strata_solver_slots_bytes(0, 100, STRATA_F32) < 4096);
}
