/* What pods need and nodes have. */
#include "pod_json.h"

static int amounts_of(const char *spec, struct strata_arena *arena, struct pod_amounts *amounts,
		      struct strata_error *err)
{
	json_t *json = json_of(spec);
	int rc = pod_amounts_of(json, &pod_rules, arena, amounts, err);

	json_decref(json);
	return rc;
}

static void check(const char *spec, int64_t cpu_milli, int64_t memory_bytes, int64_t gpus)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct pod_amounts amounts;
	struct strata_error err = { 0 };

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(amounts_of(spec, &arena, &amounts, &err));
	CHECK_INT(amounts.cpu_milli, cpu_milli);
	CHECK_INT(amounts.memory_bytes, memory_bytes);
	CHECK_INT(amounts.gpus, gpus);
	CHECK_INT(pod_amounts_other(&amounts, "pods"), 1);
	strata_arena_fini(&arena);
}

#define ASKS(cpu, memory, gpus)                                                                   \
	"{'resources':{'requests':{'cpu':'" cpu "','memory':'" memory "','nvidia.com/gpu':'" gpus \
	"'}}}"

TEST(containers_are_summed)
{
	check("{'containers':[" ASKS("500m", "1Gi", "1") "," ASKS("1.5", "512Mi", "3") "]}", 2000,
	      (INT64_C(3) << 30) / 2, 4);
	check("{'containers':[{}]}", 0, 0, 0);
}

TEST(init_containers_run_before_the_others_so_the_largest_counts)
{
	check("{'containers':[" ASKS("1", "1Gi", "0") "],'initContainers':[" ASKS(
		      "4", "1Mi", "0") "," ASKS("2", "2Gi", "0") "]}",
	      4000, INT64_C(2) << 30, 0);
}

TEST(sidecars_stay_and_are_added)
{
	check("{'containers':[" ASKS("1", "1Gi",
				     "0") "],'initContainers':[{'restartPolicy':'Always',"
					  "'resources':{'requests':{'cpu':'1'}}}," ASKS("3", "1Mi",
											"0") "]}",
	      4000, INT64_C(1) << 30, 0);
	check("{'containers':[" ASKS("1", "1Gi", "0") "],'initContainers':[" ASKS(
		      "1", "1Mi",
		      "0") ","
			   "{'restartPolicy':'Always','resources':{'requests':{'cpu':'1'}}}]}",
	      2000, INT64_C(1) << 30, 0);
}

TEST(the_overhead_is_added)
{
	check("{'containers':[" ASKS("1", "1Gi", "0") "],'overhead':{'cpu':'250m','memory':'1Gi'}}",
	      1250, INT64_C(2) << 30, 0);
}

TEST(limits_count_where_nothing_is_requested)
{
	check("{'containers':[{'resources':{'limits':{'nvidia.com/gpu':2}}}]}", 0, 0, 2);
}

TEST(everything_else_is_counted_by_name)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct pod_amounts amounts;
	struct strata_error err = { 0 };

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(amounts_of(
		"{'containers':[{'ports':[{'hostPort':80},{'containerPort':1}],'resources':{"
		"'requests':{'rdma/hca':'1','ephemeral-storage':'1Gi'}}},{'resources':{"
		"'requests':{'rdma/hca':'2'}}}]}",
		&arena, &amounts, &err));
	CHECK_INT(pod_amounts_other(&amounts, "rdma/hca"), 3);
	CHECK_INT(pod_amounts_other(&amounts, "ephemeral-storage"), INT64_C(1) << 30);
	CHECK_INT(pod_amounts_other(&amounts, "hostPort/TCP/80"), 1);
	CHECK_INT(amounts.other_count, 4);
	strata_arena_fini(&arena);
}

TEST(what_is_no_quantity_is_named)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	struct pod_amounts amounts;
	struct strata_error err = { 0 };

	strata_arena_init(&arena, &memory, 0);
	CHECK_ERROR(amounts_of("{'containers':[{'resources':{'requests':{'cpu':'much'}}}]}", &arena,
			       &amounts, &err),
		    -22, "cpu is \"much\"; expected a quantity such as 500m or 64Gi");
	CHECK_ERROR(amounts_of("{'containers':[{'resources':{'requests':{'memory':'-1'}}}]}",
			       &arena, &amounts, &err),
		    -22, "memory is \"-1\"");
	strata_arena_fini(&arena);
}

TEST(sums_stop_at_the_largest_number)
{
	check("{'containers':[{'resources':{'requests':{'memory':'8E'}}},{'resources':{'requests':{"
	      "'memory':'8E'}}}]}",
	      0, INT64_MAX, 0);
}
