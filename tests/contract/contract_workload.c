/* What every model of a workload must keep. */
#include "test.h"

#include "core/class.h"
#include "formats/swf.h"
#include "sim/workload.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct strata_registry *registry;

static void each_model(void (*check)(const struct strata_class *cls))
{
	CHECK_OK(strata_registry_new(&workload_kind, &memory, &registry, &err));
	for (const struct strata_class *const *at = workload_kind.classes; *at; at++) {
		strata_arena_fini(&arena);
		strata_arena_init(&arena, &memory, 0);
		check(*at);
	}
	strata_arena_fini(&arena);
	strata_registry_free(registry);
}

static int make(const struct strata_class *cls, const char *options, size_t jobs, uint64_t seed,
		struct strata_swf *ret_swf)
{
	struct strata_spec spec;
	char text[200];

	snprintf(text, sizeof(text), "%s%s", cls->name, options);
	CHECK_OK(strata_spec_read(registry, text, strlen(text), &arena, &spec, &err));
	return workload_make(&spec, jobs, seed, &arena, ret_swf, &err);
}

static const char *text_of(const struct strata_swf *swf)
{
	const char *text;
	size_t length;

	CHECK_OK(strata_swf_write(swf, &arena, &text, &length, &err));
	return text;
}

static void well_formed(const struct strata_class *cls)
{
	CHECK_OK(strata_class_check(cls, &err));
	CHECK(cls->summary[0] && cls->summary[strlen(cls->summary) - 1] != '.');
	for (const struct strata_option *option = cls->options; option && option->name; option++)
		CHECK(option->help && *option->help);
}

TEST(models_are_well_formed_and_sorted)
{
	each_model(well_formed);
	for (const struct strata_class *const *at = workload_kind.classes; at[0] && at[1]; at++)
		CHECK(strcmp(at[0]->name, at[1]->name) < 0);
}

static void repeatable(const struct strata_class *cls)
{
	struct strata_swf first, second, other;

	CHECK_OK(make(cls, "", 2000, 42, &first));
	CHECK_OK(make(cls, "", 2000, 42, &second));
	CHECK_OK(make(cls, "", 2000, 43, &other));
	CHECK_TEXT(text_of(&second), text_of(&first));
	CHECK(strcmp(text_of(&first), text_of(&other)) != 0);
}

TEST(the_same_seed_gives_the_same_bytes)
{
	each_model(repeatable);
}

/* A log made again from its own header is the same log. */
static void made_again(const struct strata_class *cls)
{
	struct strata_swf swf, again;
	struct strata_spec spec;

	CHECK_OK(make(cls, ":load=0.5:users=7", 300, 9, &swf));
	const char *model = strata_swf_note(&swf, "Model");

	CHECK_OK(strata_spec_read(registry, model, strlen(model), &arena, &spec, &err));
	CHECK_OK(workload_make(&spec, (size_t)strata_swf_note_int(&swf, "MaxJobs"),
			       (uint64_t)strata_swf_note_int(&swf, "Seed"), &arena, &again, &err));
	CHECK_TEXT(text_of(&again), text_of(&swf));
}

TEST(the_header_says_how_it_was_made)
{
	each_model(made_again);
}

static void sound(const struct strata_class *cls)
{
	struct strata_swf made, swf;
	struct strata_swf_arrival *arrivals;
	struct swf_demand *demands;
	size_t count, left_out, demand_count;

	CHECK_OK(make(cls, "", 5000, 3, &made));
	const char *text = text_of(&made);

	CHECK_OK(strata_swf_read(text, strlen(text), &arena, &swf, &err));
	CHECK_OK(swf_demand_read(&swf, &arena, &demands, &demand_count, &err));
	CHECK_OK(strata_swf_load(&swf, STRATA_SWF_PLAIN, &arena, &arrivals, &count, &left_out,
				 &err));
	CHECK_INT(left_out, 0);
	CHECK_INT(count, 5000);
	CHECK_INT(swf.jobs[0].submit_s, 0);
	for (size_t i = 0; i < count; i++) {
		const struct strata_swf_job *job = &swf.jobs[i];
		const struct swf_demand *demand =
			swf_demand_find(demands, demand_count, job->executable);

		CHECK_INT(arrivals[i].job, i); /* in order of submission already */
		CHECK(job->run_s >= 1 && job->requested_s >= job->run_s);
		CHECK(job->procs_requested >= 1 && job->procs_requested <= strata_swf_procs(&swf));
		CHECK(job->user >= 1 && job->executable >= 1);
		if (demand)
			CHECK_INT(demand->nodes * demand->gpus, job->procs_requested);
		else
			CHECK_INT(demand_count, 0);
	}
}

TEST(jobs_are_sound_and_read_back)
{
	each_model(sound);
}

/* Work that arrives between the first and the last submission, beside what the machine can do. */
static double load_of(const struct strata_swf *swf)
{
	struct swf_demand *demands;
	double work = 0;
	size_t count;

	CHECK_OK(swf_demand_read(swf, &arena, &demands, &count, &err));
	for (size_t i = 0; i < swf->job_count; i++) {
		const struct strata_swf_job *job = &swf->jobs[i];
		const struct swf_demand *demand = swf_demand_find(demands, count, job->executable);
		double part = demand ? (double)demand->gpu_milli / 1000 : 1;

		work += (double)job->run_s * (double)job->procs_requested * part;
	}
	return work / (double)strata_swf_procs(swf) /
	       (double)swf->jobs[swf->job_count - 1].submit_s;
}

static void loaded(const struct strata_class *cls)
{
	struct strata_swf swf;

	for (uint64_t seed = 1; seed <= 3; seed++) {
		CHECK_OK(make(cls, ":load=0.8", 1000, seed, &swf));
		CHECK_NEAR(load_of(&swf), 0.8, 0.8 * 0.02);
		CHECK_OK(make(cls, ":load=0.25", 4000, seed, &swf));
		CHECK_NEAR(load_of(&swf), 0.25, 0.25 * 0.02);
		CHECK_OK(make(cls, ":load=1.5:users=1", 4000, seed, &swf));
		CHECK_NEAR(load_of(&swf), 1.5, 1.5 * 0.02);
	}
}

TEST(the_load_is_what_was_asked_for)
{
	each_model(loaded);
}

/* The load only changes when jobs come: another load is the same jobs, closer together. */
static void same_jobs(const struct strata_class *cls)
{
	struct strata_swf light, heavy;

	CHECK_OK(make(cls, ":load=0.4", 500, 5, &light));
	CHECK_OK(make(cls, ":load=0.8", 500, 5, &heavy));
	for (size_t i = 0; i < 500; i++) {
		CHECK_INT(light.jobs[i].run_s, heavy.jobs[i].run_s);
		CHECK_INT(light.jobs[i].user, heavy.jobs[i].user);
		CHECK(light.jobs[i].submit_s >= heavy.jobs[i].submit_s || i == 0);
	}
}

TEST(another_load_has_the_same_jobs)
{
	each_model(same_jobs);
}

static void few_and_many(const struct strata_class *cls)
{
	struct strata_swf swf = { .job_count = 77 };

	CHECK_OK(make(cls, "", 1, 1, &swf));
	CHECK_INT(swf.jobs[0].submit_s, 0);
	CHECK_OK(make(cls, "", 2, 1, &swf));
	CHECK(swf.jobs[1].submit_s > 0);
	CHECK_ERROR(make(cls, "", 0, 1, &swf), -ERANGE, "jobs is 0; expected 1 to 4194304");
	CHECK_ERROR(make(cls, "", (size_t)STRATA_SWF_JOBS_MAX + 1, 1, &swf), -ERANGE,
		    "jobs is 4194305; expected 1 to 4194304");
	CHECK_INT(swf.job_count, 2);
	/* the limit itself is refused only for the memory it would take here */
	memory.limit_bytes = memory.used_bytes + (64 << 20);
	int rc = make(cls, "", STRATA_SWF_JOBS_MAX, 1, &swf);

	memory.limit_bytes = 0;
	CHECK_INT(rc, -ENOMEM);
	CHECK_ERROR(make(cls, ":load=0.001:users=1", 400000, 1, &swf), -ERANGE, "years to come");
}

TEST(one_job_and_too_many)
{
	each_model(few_and_many);
}

static int make_again(struct strata_memory *failing, void *context, struct strata_error *ret_err)
{
	const struct strata_class *cls = context;
	struct strata_schema schema = class_schema(cls);
	struct strata_swf swf = { .job_count = 77 };
	struct openb_node *nodes = NULL;
	struct strata_arena own;
	struct strata_spec spec = { .cls = cls };
	size_t node_count = 0;

	strata_arena_init(&own, failing, 0);
	spec.conf = strata_arena_get(&own, cls->conf_size);
	int rc = spec.conf ? strata_schema_defaults(&schema, &own, spec.conf, ret_err)
			   : strata_fail_memory(ret_err);

	if (rc == 0)
		rc = workload_make(&spec, 50, 1, &own, &swf, ret_err);
	if (rc)
		CHECK_INT(swf.job_count, 77);
	if (rc == 0 && ((const struct workload_class *)cls)->nodes) {
		rc = workload_nodes(&spec, &own, &nodes, &node_count, ret_err);
		CHECK(rc ? !nodes : node_count >= 1);
	}
	strata_arena_fini(&own);
	return rc;
}

static void fails_at_every_allocation(const struct strata_class *cls)
{
	CHECK(test_every_allocation(make_again, (void *)cls) >= 6);
}

TEST(every_allocation_may_fail)
{
	each_model(fails_at_every_allocation);
}
