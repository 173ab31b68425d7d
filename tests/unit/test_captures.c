/* What nodes read, what their graphs read from around them included. */
#include "engine_model.h"

#include "engine/captures.h"
#include "engine/model.h"

TEST(graphs_inside_a_node_read_from_around_it)
{
	static struct message graph;
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };
	struct engine_model *model;
	struct map_text read;

	put_branches(&graph);
	CHECK_OK(engine_model_open(write_model(&graph), &memory, &model, &err));
	map_text_init(&read, &memory);
	CHECK_OK(engine_captures_of_node(model->nodes[1], &read, &memory, &err));
	CHECK_INT(read.count, 2); /* its condition, and what both branches read */
	CHECK(map_text_get(&read, "c", 1) && map_text_get(&read, "a", 1));
	map_text_fini(&read);
	engine_model_close(model);
	CHECK_INT(memory.used_bytes, 0);
}
