/* The made-up UNet: it is a model that our readers take, the same for the same seed, and nothing is left of one that could not be written. */
#include "test.h"

#include "bench/unet.h"

#include <strata/onnx.h>
#include <strata/stream.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct strata_error err;

static struct unet_conf small(void)
{
	return (struct unet_conf){ .level_count = 2,
				   .channels = { 8, 16 },
				   .blocks = 1,
				   .groups = 4,
				   .head = 8,
				   .context = 8,
				   .tokens = 3,
				   .batch = 2,
				   .size = 8,
				   .seed = 7 };
}

static const char *in_temp(const char *name)
{
	static char paths[4][256];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", test_temp_dir(), name);
	return path;
}

TEST(it_is_a_model_whose_shapes_are_all_known)
{
	const char *path = in_temp("unet.onnx");
	const struct unet_conf conf = small();
	struct strata_memory memory = { 0 };
	struct strata_onnx_metrics metrics;
	struct strata_graph *graph;
	struct unet_made made;

	CHECK_OK(unet_write(&conf, path, &memory, &made, &err));
	CHECK_INT(memory.used_bytes, 0);
	CHECK(made.node_count > 100 && made.parameters > 10000);
	CHECK(made.weight_bytes >= made.parameters * 4);
	CHECK_OK(strata_onnx_open(path, NULL, 0, &memory, &graph, &metrics, &err));
	CHECK_INT(metrics.dim_count, 0);
	CHECK(metrics.activation_bytes > 2 * 4 * 8 * 8 * 4);
	strata_graph_free(graph);
}

TEST(the_same_seed_gives_the_same_bytes)
{
	const char *paths[3] = { in_temp("a.onnx"), in_temp("b.onnx"), in_temp("c.onnx") };
	struct strata_memory memory = { 0 };
	struct unet_conf conf = small();
	static char bytes[3][4096 * 2];
	struct unet_made made;

	for (int i = 0; i < 3; i++) {
		char data[300];

		conf.seed += i == 2;
		CHECK_OK(unet_write(&conf, paths[i], &memory, &made, &err));
		snprintf(data, sizeof(data), "%s.data", paths[i]);
		FILE *file = fopen(data, "r");

		CHECK(file && fread(bytes[i], 1, sizeof(bytes[i]), file) == sizeof(bytes[i]));
		fclose(file);
	}
	CHECK(memcmp(bytes[0], bytes[1], sizeof(bytes[0])) == 0);
	CHECK(memcmp(bytes[0], bytes[2], sizeof(bytes[0])) != 0);
}

TEST(what_cannot_be_is_refused)
{
	struct strata_memory memory = { 0 };
	struct unet_conf conf = small();
	struct unet_made made;

	conf.size = 7;
	CHECK_ERROR(unet_write(&conf, in_temp("x"), &memory, &made, &err), -EINVAL, "size of 7");
	conf = small();
	conf.channels[1] = 12;
	CHECK_ERROR(unet_write(&conf, in_temp("x"), &memory, &made, &err), -EINVAL,
		    "level 1 has 12 channels");
	conf = small();
	CHECK_ERROR(unet_write(&conf, "/nowhere/x", &memory, &made, &err), -ENOENT,
		    "/nowhere/x.data");
	CHECK_INT(access(in_temp("x"), F_OK), -1);
}

TEST(the_usual_one_has_tens_of_millions_of_parameters)
{
	struct unet_conf conf = unet_conf_usual();

	CHECK_INT(conf.batch, 2);
	CHECK_INT(conf.size, 32);
	CHECK_INT(conf.level_count, 4);
}

static int write_once(struct strata_memory *memory, void *context, struct strata_error *why)
{
	struct unet_conf conf = small();
	struct unet_made made;

	conf.level_count = 1; /* as few nodes as there can be: each has allocations */
	unlink(context); /* of the call before */
	int rc = unet_write(&conf, context, memory, &made, why);

	if (rc == 0)
		test_result_int(made.parameters);
	else
		CHECK_INT(access(context, F_OK), -1);
	return rc;
}

TEST(every_allocation_may_fail)
{
	const char *path = in_temp("unet.onnx");

	CHECK(test_every_allocation(write_once, (void *)path) > 20);
}
