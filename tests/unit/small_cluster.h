/* A cluster for tests: made in one line, driven with short words, checked after every step. */
#ifndef SMALL_CLUSTER_H
#define SMALL_CLUSTER_H

#include "test.h"

#include "cluster/cluster_int.h"

#include <stdio.h>
#include <string.h>

#define SECOND INT64_C(1000000000)

static struct strata_memory small_memory;
static struct strata_arena small_arena;
static struct strata_cluster *small;
static struct strata_error err;

static inline struct strata_spec small_spec(const struct strata_kind *kind, const char *text)
{
	struct strata_registry *registry;
	struct strata_spec spec;

	CHECK_OK(strata_registry_new(kind, &small_memory, &registry, &err));
	CHECK_OK(strata_spec_read(registry, text, strlen(text), &small_arena, &spec, &err));
	strata_registry_free(registry);
	return spec;
}

static inline void small_close(void)
{
	strata_cluster_free(small);
	small = NULL;
	strata_arena_fini(&small_arena);
	CHECK_INT(small_memory.used_bytes, 0);
}

static struct strata_cluster_conf small_conf; /* what else the next one is made of … */
static const char *small_victims;             /* … and whom it stops; NULL: nobody */

/* node_count nodes of 8 cores, 64 GiB and gpu_count GPUs of type "a100" in two NUMA domains. */
static inline void small_open_predicting(const char *prediction, const char *order,
					 const char *backfill, uint32_t node_count,
					 uint32_t gpu_count)
{
	strata_cluster_free(small);
	small = NULL;
	strata_arena_fini(&small_arena);
	strata_arena_init(&small_arena, &small_memory, 0);
	struct strata_cluster_conf conf = small_conf;

	conf.order = small_spec(&strata_order_kind, order);
	conf.backfill = small_spec(&strata_backfill_kind, backfill);
	conf.prediction = small_spec(&strata_prediction_kind, prediction);
	if (small_victims)
		conf.victims = small_spec(&strata_victims_kind, small_victims);
	CHECK_OK(strata_cluster_new(&conf, &small_memory, &small, &err));
	for (uint32_t i = 0; i < node_count; i++) {
		char name[16];
		struct strata_node_conf node = { .name = name,
						 .cpu_milli = 8000,
						 .memory_bytes = INT64_C(64) << 30,
						 .gpu_count = gpu_count,
						 .gpu_type = gpu_count ? "a100" : NULL,
						 .features = i % 2 ? "odd,ib" : "even",
						 .partitions = i < 2 ? "main,debug" : "main" };

		for (uint32_t k = 0; k < gpu_count; k++)
			node.numa[k] = (uint8_t)(k >= gpu_count / 2);
		snprintf(name, sizeof(name), "n%u", i);
		CHECK_OK(strata_cluster_add_node(small, &node, NULL, &err));
	}
}

static inline void small_open(const char *order, const char *backfill, uint32_t node_count,
			      uint32_t gpu_count)
{
	small_open_predicting("requested", order, backfill, node_count, gpu_count);
}

static inline struct strata_job_request small_request(uint64_t id, int64_t cpus, int64_t seconds)
{
	return (struct strata_job_request){ .id = id,
					    .user = "ann",
					    .band = STRATA_BAND_NORMAL,
					    .tasks = 1,
					    .cpu_milli = cpus * 1000,
					    .time_limit_ns = seconds * SECOND };
}

static inline void small_submit(struct strata_job_request request, int64_t now_s)
{
	CHECK_OK(strata_cluster_submit(small, &request, now_s * SECOND, &err));
}

/* A pass; the ids that start, as text in the order of decisions: "3 1"; other effects by their word: "stop:2". */
static inline const char *small_pass(int64_t now_s)
{
	static const char *const words[STRATA_EFFECT_KIND_COUNT] = {
		[STRATA_EFFECT_START] = "",           [STRATA_EFFECT_RESUME] = "resume:",
		[STRATA_EFFECT_LOST] = "lost:",       [STRATA_EFFECT_STOP] = "stop:",
		[STRATA_EFFECT_CHECKPOINT] = "save:", [STRATA_EFFECT_DELETE] = "delete:",
		[STRATA_EFFECT_ENDED] = "ended:",
	};
	static char text[4096];
	const struct strata_effect *effects;
	size_t count, length = 0;

	CHECK_OK(strata_cluster_pass(small, now_s * SECOND, &small_arena, &effects, &count, &err));
	text[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s%llu",
					   i ? " " : "", words[effects[i].kind],
					   (unsigned long long)effects[i].job);
		if (effects[i].kind == STRATA_EFFECT_START ||
		    effects[i].kind == STRATA_EFFECT_RESUME)
			CHECK_OK(strata_cluster_started(small, effects[i].job, now_s * SECOND,
							&err));
	}
	return text;
}

static inline void small_end(uint64_t id, int64_t now_s)
{
	CHECK_OK(strata_cluster_ended(small, id, STRATA_OUTCOME_COMPLETED, now_s * SECOND, &err));
}

static inline void small_report(uint64_t id, enum strata_outcome outcome, int64_t now_s)
{
	CHECK_OK(strata_cluster_ended(small, id, outcome, now_s * SECOND, &err));
}

static inline struct strata_job_view small_job(uint64_t id)
{
	struct strata_job_view view;

	CHECK_OK(strata_cluster_job(small, id, &view, &err));
	return view;
}

/* "queued, priority" */
static inline const char *small_state(uint64_t id)
{
	static char text[64];
	struct strata_job_view view = small_job(id);

	snprintf(text, sizeof(text), "%s, %s", strata_job_state_name(view.state),
		 strata_reason_name(view.reason));
	return text;
}

/* For test_every_allocation: what became of jobs 1 … last. */
static inline void small_result(const struct strata_cluster *cluster, uint64_t last)
{
	struct strata_job_view view;

	for (uint64_t id = 1; id <= last; id++) {
		bool there = strata_cluster_job(cluster, id, &view, NULL) == 0;

		test_result_int(there ? (int64_t)view.state : -1);
		test_result_int(there ? view.end_ns : 0);
		for (uint32_t i = 0; there && i < view.piece_count; i++) {
			const struct strata_piece *piece = &view.pieces[i];

			test_result_int(piece->node);
			test_result_int(piece->tasks);
			test_result_int(piece->cpu_milli);
			test_result_int(piece->memory_bytes);
			test_result_int(piece->gpu_mask);
			test_result_int(piece->gpu_milli);
		}
	}
}

#endif
