#include "test.h"

#include "slurm/slurm_setup.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_arena arena;
static struct strata_error err;

static int read_nodes(const char *text, struct slurm_setup *ret_setup)
{
	strata_arena_fini(&arena);
	strata_arena_init(&arena, &memory, 0);
	*ret_setup = (struct slurm_setup){ .cluster = "lab", .cgroup = true };
	return slurm_setup_read(text, &arena, ret_setup, &err);
}

TEST(groups_have_hosts_and_what_they_have)
{
	struct slurm_setup setup;

	CHECK_OK(read_nodes("a,b,c:gpus=4:gpu_type=a100:memory=64G  d[1-2]:cpus=8", &setup));
	CHECK_INT(setup.group_count, 2);
	CHECK_INT(setup.host_count, 5);
	CHECK_TEXT(setup.groups[0].hosts[2], "c");
	CHECK_INT(setup.groups[0].gpus, 4);
	CHECK_TEXT(setup.groups[0].gpu_type, "a100");
	CHECK_INT(setup.groups[0].memory_bytes, INT64_C(64) << 30);
	CHECK_INT(setup.groups[0].cpus, 0);
	CHECK_TEXT(setup.groups[1].hosts[0], "d1");
	CHECK_INT(setup.groups[1].cpus, 8);
	CHECK_INT(setup.groups[1].gpus, 0);
}

TEST(what_cannot_be_is_refused)
{
	static const struct {
		const char *text;
		int code;
		const char *says;
	} cases[] = {
		{ "", -EINVAL, "nodes is empty; expected hosts such as a,b,c:gpus=4" },
		{ "  ", -EINVAL, "nodes is empty; expected hosts such as a,b,c:gpus=4" },
		{ ":gpus=4", -EINVAL,
		  "':gpus=4' names no host; expected hosts such as a,b,c:gpus=4" },
		{ "a,b a", -EEXIST, "host a is named twice" },
		{ "a,a", -EEXIST, "host a is named twice" },
		{ "a;reboot", -EINVAL,
		  "the host is called 'a;reboot'; expected letters, digits, - and ." },
		{ "-a", -EINVAL, "the host is called '-a'; expected letters, digits, - and ." },
		{ "a:gpu_type=x'y", -EINVAL, NULL },
		{ "a:gpu_type=x/y", -EINVAL, "gpu_type is 'x/y'; expected letters, digits, - _ ." },
		{ "a:gpu_device=nvidia", -EINVAL,
		  "gpu_device is 'nvidia'; expected a path such as /dev/nvidia" },
		{ "a:features=x\"y", -EINVAL, NULL },
		{ "a:gpus=-1", -ERANGE, NULL },
		{ "a:colour=red", -EINVAL, NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct slurm_setup setup;

		if (read_nodes(cases[i].text, &setup) == 0)
			test_fail(__FILE__, __LINE__, "'%s' was taken", cases[i].text);
		CHECK_INT(err.code, cases[i].code);
		if (cases[i].says)
			CHECK_TEXT(err.text, cases[i].says);
		CHECK_INT(setup.group_count, 0);
	}
}

/* Groups "a1 a2 …", or one with so many hosts. */
static char *many(const char *form, size_t count)
{
	char *text = calloc(count, 16);
	size_t used = 0;

	for (size_t i = 1; i <= count; i++)
		used += (size_t)sprintf(text + used, form, i);
	return text;
}

TEST(limits_hold)
{
	struct slurm_setup setup;
	char name[STRATA_SLURM_SETUP_NAME_BYTES_MAX + 2];
	char *text = many("a%zu ", STRATA_SLURM_SETUP_GROUPS_MAX);

	CHECK_OK(read_nodes(text, &setup));
	CHECK_INT(setup.host_count, STRATA_SLURM_SETUP_GROUPS_MAX);
	free(text);
	text = many("a%zu ", STRATA_SLURM_SETUP_GROUPS_MAX + 1);
	CHECK_INT(read_nodes(text, &setup), -E2BIG);
	CHECK_TEXT(err.text, "there are at most 64 groups of hosts");
	free(text);
	CHECK_OK(read_nodes("a[1-1024]", &setup));
	CHECK_INT(setup.host_count, STRATA_SLURM_SETUP_HOSTS_MAX);
	CHECK_INT(read_nodes("a[1-1024] b", &setup), -E2BIG);
	CHECK_TEXT(err.text, "a cluster that is set up has at most 1024 hosts");
	memset(name, 'a', sizeof(name));
	name[STRATA_SLURM_SETUP_NAME_BYTES_MAX] = '\0';
	CHECK_OK(slurm_setup_check_name("cluster", name, &err));
	name[STRATA_SLURM_SETUP_NAME_BYTES_MAX] = 'a';
	name[STRATA_SLURM_SETUP_NAME_BYTES_MAX + 1] = '\0';
	CHECK_INT(slurm_setup_check_name("cluster", name, &err), -EINVAL);
	CHECK_TEXT(err.text, "the name of the cluster has 64 bytes; expected 1 to 63");
	CHECK_INT(slurm_setup_check_name("cluster", "", &err), -EINVAL);
}

static const char *made(const struct slurm_setup *setup,
			void (*make)(const struct slurm_setup *setup, struct buf *buf))
{
	static char text[4096];
	struct buf buf;

	buf_init(&buf, &memory, 0);
	make(setup, &buf);
	CHECK_OK(buf_check(&buf, &err));
	snprintf(text, sizeof(text), "%s", buf.text);
	buf_fini(&buf);
	return text;
}

static void check_has(const char *text, const char *line)
{
	if (!strstr(text, line))
		test_fail(__FILE__, __LINE__, "there is no '%s' in:\n%s", line, text);
}

TEST(files_say_what_was_asked_for)
{
	struct slurm_setup setup;

	CHECK_OK(read_nodes("a,b:gpus=2:gpu_type=a100:cpus=16:memory=64G:features=fast "
			    "c:gpus=1:cpus=4:memory=1G:gpu_device=/dev/dri/card d:cpus=2:memory=1G",
			    &setup));
	setup.controller = "a";
	const char *text = made(&setup, slurm_setup_slurm_conf);

	check_has(text, "\nClusterName=lab\nSlurmctldHost=a\n");
	check_has(text, "\nNodeName=a,b CPUs=16 RealMemory=65536 Gres=gpu:a100:2 Feature=fast "
			"State=UNKNOWN\nNodeName=c CPUs=4 RealMemory=1024 Gres=gpu:1 "
			"State=UNKNOWN\nNodeName=d CPUs=2 RealMemory=1024 State=UNKNOWN\n");
	check_has(text, "\nGresTypes=gpu\n");
	check_has(text, "\nProctrackType=proctrack/cgroup\n");
	CHECK_TEXT(made(&setup, slurm_setup_gres_conf),
		   "# Written by `strata slurm setup`: the GPUs of each host.\n"
		   "NodeName=a,b Name=gpu Type=a100 File=/dev/nvidia[0-1]\n"
		   "NodeName=c Name=gpu File=/dev/dri/card0\n");
	check_has(made(&setup, slurm_setup_cgroup_conf), "\nConstrainDevices=yes\n");
	setup.cgroup = false;
	check_has(made(&setup, slurm_setup_slurm_conf), "\nTaskPlugin=task/none\n");
	CHECK(!strstr(made(&setup, slurm_setup_cgroup_conf), "Constrain"));
	CHECK_OK(read_nodes("d:cpus=2:memory=1G", &setup));
	setup.controller = "d";
	CHECK(!strstr(made(&setup, slurm_setup_slurm_conf), "GresTypes"));
}

static int read_and_write(struct strata_memory *scarce, void *context, struct strata_error *error)
{
	struct slurm_setup setup = { .cluster = "lab", .controller = "a" };
	struct strata_arena scratch;
	struct buf buf;

	strata_arena_init(&scratch, scarce, 0);
	buf_init(&buf, scarce, 0);
	int rc = slurm_setup_read("a,b:gpus=2:cpus=1:memory=1G c:cpus=1:memory=1G", &scratch,
				  &setup, error);

	if (rc == 0) {
		slurm_setup_slurm_conf(&setup, &buf);
		slurm_setup_gres_conf(&setup, &buf);
		rc = buf_check(&buf, error);
	}
	buf_fini(&buf);
	strata_arena_fini(&scratch);
	return rc;
}

TEST(a_lack_of_memory_is_reported)
{
	test_every_allocation(read_and_write, NULL);
}
