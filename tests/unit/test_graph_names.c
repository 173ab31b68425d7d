/* Every value has a name of its own. */
#include "test.h"

#include <strata/place.h>

#include <string.h>

TEST(every_dtype_has_a_name_and_a_size)
{
	for (int i = 0; i < STRATA_DTYPE_COUNT; i++)
		for (int j = 0; j < i; j++)
			CHECK(strcmp(strata_dtype_name(i), strata_dtype_name(j)) != 0);
	CHECK_INT(strata_dtype_bytes(STRATA_DTYPE_BF16), 2);
	CHECK_INT(strata_dtype_bytes(STRATA_DTYPE_TEXT), 0);
	CHECK_TEXT(strata_dtype_name((enum strata_dtype)STRATA_DTYPE_COUNT), "unknown");
}

TEST(roles_phases_and_modalities_have_names)
{
	for (int i = 0; i < STRATA_ROLE_COUNT; i++)
		CHECK(strcmp(strata_role_name(i), "unknown") != 0);
	for (int i = 0; i < STRATA_PHASE_COUNT; i++)
		CHECK(strcmp(strata_phase_name(i), "unknown") != 0);
	for (int i = 0; i < STRATA_MODALITY_COUNT; i++)
		CHECK(strcmp(strata_modality_name(i), "unknown") != 0);
	CHECK_TEXT(strata_phase_name(STRATA_PHASE_DECODE_IMAGE), "decode_image");
}
