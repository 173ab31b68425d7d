#include "test.h"

#include "engine/picture_text.h"

#include <string.h>

static struct strata_memory memory;

static const struct engine_settings usual = { .prompt = "a seven",
					      .solver = "euler",
					      .model = "digits",
					      .seed = UINT64_MAX,
					      .steps = 20,
					      .guidance = 7.5,
					      .width = 28,
					      .height = 32 };

static void check(const struct engine_settings *settings, const char *want)
{
	struct buf buf;

	buf_init(&buf, &memory, 0);
	engine_picture_text(settings, &buf);
	CHECK_TEXT(buf.text, want);
	buf_fini(&buf);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(the_settings_are_written_as_a1111_writes_them)
{
	struct engine_settings settings = usual;

	check(&settings, "a seven\nSteps: 20, Sampler: euler, CFG scale: 7.5, "
			 "Seed: 18446744073709551615, Size: 28x32, Model: digits, "
			 "Version: strata " STRATA_VERSION);
	settings.negative = "";
	settings.model = "/srv/models/sdxl//";
	settings.guidance = 7;
	check(&settings, "a seven\nSteps: 20, Sampler: euler, CFG scale: 7, "
			 "Seed: 18446744073709551615, Size: 28x32, Model: sdxl, "
			 "Version: strata " STRATA_VERSION);
	settings.negative = "an eight";
	settings.model = "models/x";
	settings.seed = 1;
	settings.has_strength = true;
	settings.strength = 0.75;
	check(&settings, "a seven\nNegative prompt: an eight\nSteps: 20, Sampler: euler, "
			 "CFG scale: 7, Seed: 1, Size: 28x32, Model: x, Denoising strength: 0.75, "
			 "Version: strata " STRATA_VERSION);
}

static int write_all(struct strata_memory *own, void *context, struct strata_error *err)
{
	struct buf buf;

	(void)context;
	buf_init(&buf, own, 0);
	engine_picture_text(&usual, &buf);
	int rc = buf_check(&buf, err);

	if (rc == 0)
		test_result_text(buf.text);
	buf_fini(&buf);
	return rc;
}

TEST(no_memory_is_no_half_text)
{
	test_every_allocation(write_all, NULL);
}
