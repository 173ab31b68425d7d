#include "test.h"

#include "formats/openb.h"
#include "sim/input.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;
static struct openb_node *nodes;
static struct openb_pod *pods;
static uint32_t *sequence;
static size_t node_count, pod_count, sequence_count;

static void fresh(void)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
}

static int read_nodes(const char *text)
{
	return openb_read_nodes(text, strlen(text), &arena, &nodes, &node_count, &err);
}

static int read_pods(const char *text)
{
	return openb_read_pods(text, strlen(text), &arena, &pods, &pod_count, &err);
}

static int read_sequence(const char *text)
{
	return openb_read_sequence(text, strlen(text), pods, pod_count, &arena, &sequence,
				   &sequence_count, &err);
}

TEST(nodes_of_both_traces_are_read)
{
	fresh();
	CHECK_OK(read_nodes(
		"sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,2,P100\nn1,8000,1,0,\n"));
	CHECK_INT(node_count, 2);
	CHECK_TEXT(nodes[0].name, "n0");
	CHECK_TEXT(nodes[0].gpu_model, "P100");
	CHECK_INT(nodes[0].cpu_milli, 64000);
	CHECK_INT(nodes[0].memory_mib, 262144);
	CHECK_INT(nodes[0].gpu_count, 2);
	CHECK_TEXT(nodes[1].gpu_model, "");
	CHECK_OK(
		read_nodes("gpu_model,gpu_capacity_num,cpu_num,node_name\nGPU-series-1,4,192,7\n"));
	CHECK_INT(node_count, 1);
	CHECK_TEXT(nodes[0].name, "7");
	CHECK_INT(nodes[0].cpu_milli, 192000);
	CHECK_INT(nodes[0].memory_mib, 0);
	CHECK_INT(nodes[0].gpu_count, 4);
	CHECK_ERROR(read_nodes("sn,cpu_milli,gpu,model\nn0,64000,2,P100\n"), -EBADMSG,
		    "no column \"memory_mib\"");
	CHECK_ERROR(read_nodes("sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,two,P100\n"),
		    -EBADMSG, "line 2, column \"gpu\" is \"two\"");
	CHECK_ERROR(read_nodes("sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,1025,P100\n"),
		    -EBADMSG, "from 0 to 1024");
}

TEST(nodes_that_are_written_are_read)
{
	const struct openb_node written[] = { { "a,1", "T4", 32000, 1024, 2 },
					      { "b", "", 1, 0, 0 } };
	struct buf buf;

	fresh();
	buf_init(&buf, &memory, 0);
	openb_add_nodes(&buf, written, 2);
	CHECK_TEXT(buf.text,
		   "sn,cpu_milli,memory_mib,gpu,model\n\"a,1\",32000,1024,2,T4\nb,1,0,0,\n");
	CHECK_OK(read_nodes(buf.text));
	CHECK_INT(node_count, 2);
	CHECK_TEXT(nodes[0].name, "a,1");
	CHECK_TEXT(nodes[0].gpu_model, "T4");
	CHECK_INT(nodes[0].memory_mib, 1024);
	CHECK_INT(nodes[0].gpu_count, 2);
	CHECK_INT(nodes[1].cpu_milli, 1);
	buf_fini(&buf);
}

TEST(pods_are_read_with_and_without_their_history)
{
	fresh();
	CHECK_OK(read_pods("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,"
			   "creation_time,deletion_time,scheduled_time\n"
			   "p0,6000,12288,1,460,T4|P100,LS,Running,427061,12902960,\n"
			   "p1,6000,12288,0,500,,BE,Pending,0,1,2\n"));
	CHECK_INT(pod_count, 2);
	CHECK_TEXT(pods[0].name, "p0");
	CHECK_TEXT(pods[0].gpu_models, "T4|P100");
	CHECK_TEXT(pods[0].qos, "LS");
	CHECK_TEXT(pods[0].phase, "Running");
	CHECK_INT(pods[0].cpu_milli, 6000);
	CHECK_INT(pods[0].memory_mib, 12288);
	CHECK_INT(pods[0].gpu_count, 1);
	CHECK_INT(pods[0].gpu_milli, 460);
	CHECK_INT(pods[0].creation_s, 427061);
	CHECK_INT(pods[0].deletion_s, 12902960);
	CHECK_INT(pods[0].scheduled_s, -1);
	CHECK_INT(pods[1].gpu_milli, 0); /* no GPU, so no part of one */
	CHECK_OK(read_pods("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np0,12000,16384,8,1000\n"));
	CHECK_INT(pods[0].gpu_count, 8);
	CHECK_TEXT(pods[0].gpu_models, "");
	CHECK_INT(pods[0].creation_s, -1);
}

TEST(impossible_pods_are_refused)
{
	fresh();
	CHECK_ERROR(read_pods("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np0,1,1,2,500\n"),
		    -EBADMSG, "only a single GPU can be shared");
	CHECK_ERROR(read_pods("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np0,1,1,1,0\n"),
		    -EBADMSG, "column \"gpu_milli\" is \"0\"");
	CHECK_ERROR(read_pods("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np0,1,1,1,1001\n"),
		    -EBADMSG, "from 0 to 1000");
	CHECK_ERROR(read_pods("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np0,-1,1,1,1000\n"),
		    -EBADMSG, "column \"cpu_milli\"");
}

TEST(a_sequence_names_pods)
{
	fresh();
	CHECK_OK(read_pods("name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"
			   "a,1,1,0,0\nb,1,1,0,0\na,2,2,0,0\n"));
	CHECK_OK(read_sequence("pod\nb\na\nb\n"));
	CHECK_INT(sequence_count, 3);
	CHECK_INT(sequence[0], 1);
	CHECK_INT(sequence[1], 0);
	CHECK_INT(sequence[2], 1);
	CHECK_ERROR(read_sequence("pod\nb\nc\n"), -EBADMSG,
		    "line 3, column \"pod\" is \"c\"; expected the name of a pod");
	CHECK_ERROR(read_sequence("name\nb\n"), -EBADMSG, "no column \"pod\"");
	CHECK_INT(sequence_count, 3);
}

static int read_again(struct strata_memory *failing, void *context, struct strata_error *ret_err)
{
	static const char pod_text[] = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1,1,0,0\n";
	struct strata_arena own;
	struct openb_pod *out = NULL;
	uint32_t *order = NULL;
	size_t count = 77, order_count = 77;

	(void)context;
	strata_arena_init(&own, failing, 0);
	int rc = openb_read_pods(pod_text, sizeof(pod_text) - 1, &own, &out, &count, ret_err);

	if (rc)
		CHECK(!out && count == 77);
	if (rc == 0)
		rc = openb_read_sequence("pod\na\n", 6, out, count, &own, &order, &order_count,
					 ret_err);
	if (rc)
		CHECK(!order && order_count == 77);
	strata_arena_fini(&own);
	return rc;
}

TEST(every_allocation_may_fail)
{
	CHECK(test_every_allocation(read_again, NULL) >= 8);
}

static const char *load_file(const char *path, size_t *ret_length)
{
	const char *text;

	CHECK_OK(input_read(env_system(), test_shared_file(path), STRATA_INPUT_BYTES_MAX, &arena,
			    &text, ret_length, &err));
	return text;
}

TEST(the_public_cluster_is_read)
{
	size_t length, gpus = 0;
	const char *text;

	fresh();
	text = load_file("traces/openb_nodes.csv.gz", &length);
	CHECK_OK(openb_read_nodes(text, length, &arena, &nodes, &node_count, &err));
	for (size_t i = 0; i < node_count; i++)
		gpus += (size_t)nodes[i].gpu_count;
	CHECK_INT(node_count, 1213);
	CHECK_INT(gpus, 6212);
	text = load_file("traces/alibaba2026_spot_nodes.csv.gz", &length);
	CHECK_OK(openb_read_nodes(text, length, &arena, &nodes, &node_count, &err));
	for (size_t i = gpus = 0; i < node_count; i++)
		gpus += (size_t)nodes[i].gpu_count;
	CHECK_INT(node_count, 4278);
	CHECK_INT(gpus, 10412);
}

TEST(the_public_pods_and_sequences_are_read)
{
	static const char *const workloads[] = { "default", "cpu200", "gpushare40", "gpuspec20",
						 "multigpu20" };
	char path[100];
	size_t length;
	const char *text;

	fresh();
	for (size_t i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "traces/openb_pods_%s.csv.gz", workloads[i]);
		text = load_file(path, &length);
		CHECK_OK(openb_read_pods(text, length, &arena, &pods, &pod_count, &err));
		snprintf(path, sizeof(path), "traces/openb_seq_%s_1.csv.gz", workloads[i]);
		text = load_file(path, &length);
		CHECK_OK(openb_read_sequence(text, length, pods, pod_count, &arena, &sequence,
					     &sequence_count, &err));
		int64_t milli = 0;

		for (size_t k = 0; k < sequence_count; k++)
			milli += pods[sequence[k]].gpu_count * pods[sequence[k]].gpu_milli;
		CHECK(milli > 8040000 && milli <= 8075600); /* all but 130 % of 6,212 GPUs */
	}
}

TEST(the_default_pods_are_those_of_the_paper)
{
	size_t length, kinds[9] = { 0 }, shared = 0;
	int64_t milli = 0;

	fresh();
	const char *text = load_file("traces/openb_pods_default.csv.gz", &length);

	CHECK_OK(openb_read_pods(text, length, &arena, &pods, &pod_count, &err));
	for (size_t i = 0; i < pod_count; i++) {
		CHECK(pods[i].gpu_count <= 8);
		kinds[pods[i].gpu_count]++;
		shared += pods[i].gpu_count == 1 && pods[i].gpu_milli < 1000;
		milli += pods[i].gpu_count * pods[i].gpu_milli;
	}
	CHECK_INT(pod_count, 8152);
	CHECK_INT(kinds[0], 1088);
	CHECK_INT(shared, 3078);
	CHECK_INT(kinds[1] - shared, 3911);
	CHECK_INT(kinds[2], 16);
	CHECK_INT(kinds[4], 15);
	CHECK_INT(kinds[8], 44);
	CHECK_INT((milli + 50) / 100, 60868);
}
