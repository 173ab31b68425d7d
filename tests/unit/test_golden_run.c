#include "kept.h"

#include "bench/golden_run.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct strata_registry *solvers;

static struct golden_bank bank_in(const char *directory)
{
	struct golden_bank bank;
	char path[4096];
	size_t size;

	snprintf(path, sizeof(path), "%s/bank.json", directory);
	char *text = test_read_file(path, &size);

	CHECK_OK(golden_read_bank(text, size, &arena, &bank, &err));
	free(text);
	return bank;
}

/* Every case of a file within its tolerance; returns how many there were. */
static size_t check_text(const char *text, size_t size, const char *name,
			 const struct golden_bank *bank)
{
	struct golden_file file;

	CHECK_OK(golden_read(text, size, bank, &arena, &file, &err));
	for (size_t i = 0; i < file.case_count; i++) {
		struct trajectory_result result;

		CHECK_OK(trajectory_run(&file.cases[i], bank, solvers, strata_isa_best(), &memory,
					&result, &err));
		if (!trajectory_passed(&result))
			test_fail(__FILE__, __LINE__, "%s, case %zu (%s): %s", name, i + 1,
				  file.cases[i].name, result.why);
	}
	return file.case_count;
}

static size_t check_file(const char *directory, const char *name, const struct golden_bank *bank)
{
	char path[4400];
	size_t size;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	char *text = test_read_file(path, &size);
	size_t count = check_text(text, size, name, bank);

	free(text);
	return count;
}

static void start(void)
{
	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(strata_registry_new(&strata_solver_kind, &memory, &solvers, &err));
}

static void end(void)
{
	strata_registry_free(solvers);
	strata_arena_fini(&arena);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(kept_trajectories_are_met)
{
	char directory[4096];

	start();
	snprintf(directory, sizeof(directory), "%s/solver", test_data_dir());
	struct golden_bank bank = bank_in(directory);

	CHECK_INT(check_file(directory, "cases.json", &bank), 79);
	CHECK_INT(check_file(directory, "samplers.json", &bank), 21);
	CHECK_INT(check_file(directory, "formulas.json", &bank), 15);
	CHECK_INT(check_file(directory, "formulas_long.json", &bank), 10);
	CHECK_INT(check_file(directory, "betas.json", &bank), 8);
	CHECK_INT(check_file(directory, "bank.json", &bank), 0);
	end();
}

/* All 30 files, of which bank.json has no cases. */
TEST(all_trajectories_of_the_reference_are_met)
{
	struct golden_bank bank;
	struct dirent *entry;
	char directory[4096], name[300];
	size_t cases = 0, size;

	start();
	const char *text = kept_text("golden/bank.json", &arena, &size);

	CHECK_OK(golden_read_bank(text, size, &arena, &bank, &err));
	snprintf(directory, sizeof(directory), "%s/golden", test_data_dir());
	DIR *files = opendir(directory);

	CHECK(files);
	while ((entry = readdir(files))) {
		char *end = strstr(entry->d_name, ".json.gz");

		if (!end || strcmp(entry->d_name, "bank.json.gz") == 0)
			continue;
		snprintf(name, sizeof(name), "golden/%.*s.json", (int)(end - entry->d_name),
			 entry->d_name);
		text = kept_text(name, &arena, &size);
		cases += check_text(text, size, name, &bank);
	}
	closedir(files);
	CHECK_INT(cases, 730 + 116);
	end();
}

/* A case of the small files, changed a little, must fail. */
static void check_fails(size_t index, void (*change)(struct golden_case *one), const char *words)
{
	struct trajectory_result result;
	struct golden_file file;
	char directory[4096], path[4200];
	size_t size;

	start();
	snprintf(directory, sizeof(directory), "%s/solver", test_data_dir());
	snprintf(path, sizeof(path), "%s/cases.json", directory);
	struct golden_bank bank = bank_in(directory);
	char *text = test_read_file(path, &size);

	CHECK_OK(golden_read(text, size, &bank, &arena, &file, &err));
	free(text);
	change(&file.cases[index]);
	CHECK_OK(trajectory_run(&file.cases[index], &bank, solvers, STRATA_ISA_SCALAR, &memory,
				&result, &err));
	CHECK(!trajectory_passed(&result));
	if (!strstr(result.why, words))
		test_fail(__FILE__, __LINE__, "'%s' does not say '%s'", result.why, words);
	end();
}

static void bend_sample(struct golden_case *one)
{
	one->samples[0].values[3] += 1e-3;
}

static void lose_sample(struct golden_case *one)
{
	one->samples[0].values[3] = NAN;
}

static void bend_timestep(struct golden_case *one)
{
	one->timesteps.values[1] += 1;
}

static void want_more(struct golden_case *one)
{
	one->at.values[0] += 1;
}

static void rename_class(struct golden_case *one)
{
	one->config = "{\"_class_name\": \"NoScheduler\"}";
}

TEST(what_is_off_fails)
{
	check_fails(1, bend_sample, "the sample of call");
	check_fails(1, lose_sample, "the sample of call");
	check_fails(1, bend_timestep, "the timestep of call 2");
	check_fails(1, want_more, "calls were made");
	check_fails(1, rename_class, "there is no solver");
}

TEST(nan_does_not_pass)
{
	struct trajectory_result result = { .worst = NAN };

	CHECK(!trajectory_passed(&result));
	result.worst = 1;
	CHECK(trajectory_passed(&result));
	result.worst = 1.0001;
	CHECK(!trajectory_passed(&result));
}
