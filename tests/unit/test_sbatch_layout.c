#include "test.h"

#include "sbatch_text.h"

#include <errno.h>

TEST(how_nodes_are_built_is_read)
{
	CHECK_OK(options("-B 2:8:1"));
	CHECK(job.sockets_per_node == 2 && job.cores_per_socket == 8 && job.threads_per_core == 1);
	CHECK_OK(options("-B 2:*:2"));
	CHECK(job.sockets_per_node == 2 && job.cores_per_socket == 0 && job.threads_per_core == 2);
	CHECK_OK(options("--sockets-per-node=4 --mincpus=3 --ntasks-per-core=1"));
	CHECK(job.sockets_per_node == 4 && job.mincpus == 3 && job.ntasks_per_core == 1);
	CHECK(options("-B 1:2:3:4") == -EBADMSG);
	CHECK(options("-B 0") == -EBADMSG);
	CHECK(options("-B x") == -EBADMSG);
}

TEST(distributions_are_those_of_slurm)
{
	static const char *const good[] = {
		"block",        "cyclic",           "*",          "arbitrary",          "plane=4",
		"block:cyclic", "cyclic:*:fcyclic", "block,Pack", "cyclic:block,NoPack"
	};
	static const char *const bad[] = { "foo",      "plane",     "plane=0",
					   "block=2",  "block:foo", "block:block:block:block",
					   "block,foo" };
	char words[64];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		snprintf(words, sizeof(words), "-m %s", good[i]);
		CHECK_OK(options(words));
		CHECK_TEXT(job.distribution, good[i]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(words, sizeof(words), "-m %s", bad[i]);
		CHECK(options(words) == -EINVAL);
	}
}

TEST(gpus_are_bound_in_known_ways)
{
	CHECK_OK(options("--gpu-bind=verbose,single:1"));
	CHECK_TEXT(job.gpu_bind, "single:1");
	CHECK_OK(options("--gpu-bind=map_gpu:0,1"));
	CHECK_TEXT(job.gpu_bind, "map_gpu:0,1");
	CHECK(options("--gpu-bind=foo") == -EINVAL);
	CHECK(options("--gpu-bind=single:") == -EINVAL);
}

TEST(limits_are_handed_on_by_name)
{
	CHECK_OK(options("--propagate"));
	CHECK_TEXT(job.propagate, "ALL");
	CHECK_OK(options("--propagate=NOFILE,stack"));
	CHECK_TEXT(job.propagate, "NOFILE,stack");
	CHECK(options("--propagate=foo") == -EBADMSG);
}
