#include "sample.h"

#include <strata/limits.h>

#include <stdlib.h>

static int read_text(const char *text, struct sample *sample, struct strata_error *err)
{
	return strata_schema_read_text(&sample_schema, text, strlen(text), &sample_arena, sample,
				       err);
}

TEST(pairs_are_read_and_a_bare_bool_is_true)
{
	struct sample sample = sample_defaults();
	struct strata_error err;

	CHECK_OK(read_text("on:steps=7:title='a:b'", &sample, &err));
	CHECK(sample.on);
	CHECK_INT(sample.steps, 7);
	CHECK_TEXT(sample.title, "a:b");
	CHECK_OK(read_text("", &sample, &err));
	CHECK_OK(read_text("grace=1-02\\:03\\:04", &sample, &err));
	CHECK_INT(sample.grace_ns, 93784000000000);
}

TEST(bad_pairs_change_nothing)
{
	struct sample sample = sample_defaults(), before = sample;
	struct strata_error err;

	CHECK_ERROR(read_text("steps=7:steps=8", &sample, &err), -EINVAL, "steps is given twice");
	CHECK_ERROR(read_text("steps=7:num_steps=8", &sample, &err), -EINVAL,
		    "steps is given twice");
	CHECK_ERROR(read_text("steps=7:nope=1", &sample, &err), -EINVAL, "no option 'nope'");
	CHECK_ERROR(read_text("steps=7:", &sample, &err), -EINVAL, "no option ''");
	CHECK_ERROR(read_text("steps=0", &sample, &err), -ERANGE, "expected 1 to 1000");
	CHECK_ERROR(read_text("steps", &sample, &err), -EINVAL, "steps has no value");
	CHECK_ERROR(read_text("on:title='", &sample, &err), -EINVAL, "not closed");
	CHECK_BYTES(&sample, &before, sizeof(sample));
}

TEST(the_length_is_limited)
{
	size_t length = STRATA_SPEC_BYTES_MAX + 1;
	char *text = calloc(1, length + 1);
	struct sample sample = sample_defaults();
	struct strata_error err;

	memcpy(text, "secret=", 7);
	memset(text + 7, 'x', length - 7);
	CHECK_ERROR(
		strata_schema_read_text(&sample_schema, text, length, &sample_arena, &sample, &err),
		-E2BIG, "65537 bytes long; expected at most 65536");
	CHECK_OK(strata_schema_read_text(&sample_schema, text, length - 1, &sample_arena, &sample,
					 &err));
	free(text);
}
