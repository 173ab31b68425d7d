#include "small_cluster.h"

#include "server/impossible_text.h"
#include "server/nodes.h"

static struct decider decider; /* of which the cluster and its nodes are used */
static struct node_about nodes[4];

/* Four nodes n0 to n3 with eight GPUs of the type a100 each, as the service knows them. */
static void open_nodes(void)
{
	static const char *const names[] = { "n0", "n1", "n2", "n3" };

	small_open("fifo", "easy", 4, 8);
	for (size_t i = 0; i < 4; i++)
		nodes[i] = (struct node_about){ .name = (char *)(uintptr_t)names[i],
						.conf = { .name = names[i],
							  .gpu_type = "a100",
							  .features = i % 2 ? "odd" : NULL,
							  .gpu_count = 8 } };
	decider.cluster = small;
	decider.nodes = nodes;
	decider.node_count = 4;
}

/* All that is said of a request, in one text. */
static const char *told(struct strata_job_request request, const struct job_spec *spec)
{
	static char text[1024];

	open_nodes();
	CHECK_OK(strata_cluster_submit(small, &request, 0, &err));
	CHECK(impossible_now(&decider, (int64_t)request.id));
	json_t *list = impossible_sentences(&decider, (int64_t)request.id, spec);

	text[0] = '\0';
	for (size_t i = 0; i < json_array_size(list); i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
			 json_string_value(json_array_get(list, i)));
	json_decref(list);
	small_close();
	return text;
}

TEST(what_is_asked_for_stands_beside_what_there_is)
{
	struct strata_job_request request = small_request(1, 1, 60);
	struct job_spec spec = { .gpu_type = "A100", .features = "warp", .node_list = "n7" };

	request.gpus = 9;
	CHECK_TEXT(told(request, &spec),
		   "It asks for 9 GPUs for one task; at most 8 would be possible.");
	request = small_request(1, 1, 60);
	request.gpu_type = "A100";
	CHECK_TEXT(told(request, &spec),
		   "No node has GPUs of the type A100; did you mean a100?");
	request = small_request(1, 1, 60);
	request.features = "warp";
	CHECK_TEXT(told(request, &spec), "No node has the features warp; there are: odd.");
	request.node_list = "n7";
	CHECK_TEXT(told(request, &spec),
		   "These must all change: There is no such node: n7; there are: n0, n1, n2, n3. "
		   "No node has the features warp; there are: odd.");
	request = small_request(1, 1, 60);
	request.node_list = "n0";
	request.features = "odd";
	spec = (struct job_spec){ .node_list = "n0", .features = "odd" };
	CHECK_TEXT(told(request, &spec),
		   "To change one of these is enough: The node n0 cannot take the rest of it. A "
		   "node that has the feature odd cannot take the rest of it.");
}

TEST(what_could_be_taken_is_not_impossible_and_nothing_is_without_nodes)
{
	struct strata_job_request request = small_request(1, 1, 60);

	open_nodes();
	CHECK_OK(strata_cluster_submit(small, &request, 0, &err));
	CHECK(!impossible_now(&decider, 1));
	request.id = 2;
	request.gpus = 9;
	request.held = true; /* which is why it waits now */
	CHECK_OK(strata_cluster_submit(small, &request, 0, &err));
	CHECK(impossible_now(&decider, 2));
	CHECK(!impossible_now(&decider, 3));
	decider.node_count = 0;
	CHECK(!impossible_now(&decider, 2));
	small_close();
}
