#include "engine_model.h"

#include "engine/conformance.h"

#include <sys/stat.h>

/* A directory with a model y = −x, x = 1 and the given y. */
static const char *make_directory(float expected)
{
	static struct message graph, tensor;
	static const char *const names[] = { "input", "output" };
	const float numbers[2] = { 1, expected };
	const char *directory = test_temp_dir();
	char path[4096];

	graph.length = 0;
	put_node(&graph, "Neg", "x", "y");
	put_value(&graph, 11, "x", ONNX_FLOAT, NULL);
	put_value(&graph, 12, "y", ONNX_FLOAT, NULL);
	write_model(&graph);
	snprintf(path, sizeof(path), "%s/test_data_set_0", directory);
	mkdir(path, 0700);
	for (int i = 0; i < 2; i++) {
		tensor.length = 0;
		put_int(&tensor, 2, ONNX_FLOAT);
		put_bytes(&tensor, 9, &numbers[i], sizeof(float));
		snprintf(path, sizeof(path), "%s/test_data_set_0/%s_0.pb", directory, names[i]);
		FILE *file = fopen(path, "w");

		CHECK(file && fwrite(tensor.bytes, tensor.length, 1, file) == 1);
		fclose(file);
	}
	return directory;
}

TEST(results_are_compared_with_the_files)
{
	struct strata_memory memory = { 0 };
	struct strata_error why = { 0 };
	uint64_t digest = 0;

	CHECK_INT(engine_conformance_run(make_directory(-1), &memory, &why), CONFORMANCE_RIGHT);
	CHECK_INT(engine_conformance_run(make_directory(-1.0005f), &memory, &why),
		  CONFORMANCE_RIGHT);
	CHECK_INT(engine_conformance_run(make_directory(-1.01f), &memory, &why), CONFORMANCE_WRONG);
	CHECK(strstr(why.text, "element 0 is -1; expected -1.01"));
	struct strata_error err = { 0 };

	CHECK_OK(engine_conformance_digest(test_temp_dir(), 2, &memory, &digest, &err));
	CHECK(digest != 0);
	CHECK_INT(memory.used_bytes, 0);
}

TEST(what_is_not_there_is_refused)
{
	struct strata_memory memory = { 0 };
	struct strata_error why = { 0 };
	char path[4096];

	CHECK_INT(engine_conformance_run("/nowhere", &memory, &why), CONFORMANCE_REFUSED);
	make_directory(-1);
	snprintf(path, sizeof(path), "%s/test_data_set_0/input_0.pb", test_temp_dir());
	CHECK_INT(remove(path), 0);
	CHECK_INT(engine_conformance_run(test_temp_dir(), &memory, &why), CONFORMANCE_REFUSED);
	CHECK(strstr(why.text, "input_0.pb"));
	CHECK_INT(memory.used_bytes, 0);
}
