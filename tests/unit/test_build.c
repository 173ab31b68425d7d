#include "solver_sample.h"

#include "solver/solver_conf.h"

#include <errno.h>

static struct solver_sample sample;
static struct strata_error err;

/* The same rows as reading and compiling give. */
TEST(a_name_becomes_a_table)
{
	static const char *const names[] = { "ddim:beta_start=0.001", "DPM++ 2M Karras", "dpm2",
					     "sdxl", "FLUX.1-schnell" };

	solver_sample_start(&sample);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct strata_solver_table *by_hand = solver_sample_table(&sample, names[i], 12);
		struct strata_solver_table *table = NULL;

		CHECK_OK(strata_solver_build(names[i], 12, &sample.memory, &table, &err));
		CHECK(table->cls == by_hand->cls);
		CHECK_INT(table->row_count, by_hand->row_count);
		CHECK(memcmp(table->rows, by_hand->rows, table->row_count * sizeof(*table->rows)) ==
		      0);
		strata_solver_table_free(by_hand, &sample.memory);
		strata_solver_table_free(table, &sample.memory);
	}
	solver_sample_end(&sample);
}

/* What the settings point to is the table's own, though nothing of what they were read into is left. */
TEST(a_table_keeps_its_settings)
{
	struct strata_memory memory = { 0 };
	struct strata_solver_table *table = NULL;

	CHECK_OK(strata_solver_build("ddim:trained_betas=0.01,0.02,0.03:steps_offset=0", 3, &memory,
				     &table, &err));
	const struct solver_conf *conf = table->conf;

	CHECK_INT(conf->trained_betas.count, 3);
	CHECK_NEAR(((const double *)conf->trained_betas.items)[2], 0.03, 0);
	CHECK_INT(memory.used_bytes, table->size_bytes);
	strata_solver_table_free(table, &memory);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(what_cannot_be_built_is_refused)
{
	struct strata_memory memory = { 0 };
	struct strata_solver_table *table = NULL;

	CHECK_ERROR(strata_solver_build("eular", 20, &memory, &table, &err), -ENOENT, "euler");
	CHECK_ERROR(strata_solver_build("ddim:etta=1", 20, &memory, &table, &err), -EINVAL, "eta");
	CHECK_ERROR(strata_solver_build("ddim", 0, &memory, &table, &err), -EINVAL, "steps is 0");
	CHECK(!table);
	CHECK_INT(memory.used_bytes, 0);
}

static int build_once(struct strata_memory *memory, void *context, struct strata_error *error)
{
	struct strata_solver_table *table = NULL;
	int rc = strata_solver_build(context, 5, memory, &table, error);

	CHECK((rc == 0) == (table != NULL));
	strata_solver_table_free(table, memory);
	return rc;
}

TEST(every_allocation_may_fail)
{
	CHECK(test_every_allocation(build_once, (void *)"DPM++ 2M Karras") > 3);
}
