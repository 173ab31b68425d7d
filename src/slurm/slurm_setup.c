/*
 * The configuration of a Slurm cluster from one line about its nodes (slurm_setup.h). What is
 * written is small and meant to be read: only what differs from Slurm's defaults, each with why,
 * for a Slurm below a scheduler that decides by itself and wants every job started where it says.
 */
#include "slurm/slurm_setup.h"

#include <strata/cluster.h>
#include <strata/limits.h>
#include <strata/slurm.h>

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define AT(field) offsetof(struct slurm_setup_group, field)

static const struct strata_option group_options[] = {
	{ "cpus", STRATA_INT, AT(cpus), .integer = { 0, 0, 1 << 20 },
	  .help = "hardware threads (0: as this machine)" },
	{ "memory", STRATA_BYTES, AT(memory_bytes),
	  .help = "memory for jobs (0: 95 % of this machine's)" },
	{ "gpus", STRATA_INT, AT(gpus), .integer = { 0, 0, STRATA_NODE_GPUS_MAX },
	  .help = "GPUs of each" },
	{ "gpu_type", STRATA_TEXT, AT(gpu_type), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .help = "what jobs call them" },
	{ "gpu_device", STRATA_TEXT, AT(gpu_device),
	  .text = { "/dev/nvidia", STRATA_NAME_BYTES_MAX },
	  .help = "the files of the GPUs, without their numbers" },
	{ "features", STRATA_TEXT, AT(features), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .help = "words that jobs may ask for, with commas" },
	{ 0 }
};

const struct strata_schema slurm_setup_group_schema = {
	.name = "hosts",
	.summary = "what hosts of a Slurm cluster have",
	.conf_size = sizeof(struct slurm_setup_group),
	.options = group_options,
};

/* ---- reading ---- */

static bool is_word(const char *text, const char *more)
{
	for (; *text; text++)
		if (!isascii((unsigned char)*text) ||
		    (!isalnum((unsigned char)*text) && !strchr(more, *text)))
			return false;
	return true;
}

int slurm_setup_check_name(const char *what, const char *name, struct strata_error *err)
{
	size_t length = strlen(name);

	if (length == 0 || length > STRATA_SLURM_SETUP_NAME_BYTES_MAX)
		return strata_fail(err, -EINVAL,
				   "the name of the %s has %zu bytes; expected 1 to %d", what,
				   length, STRATA_SLURM_SETUP_NAME_BYTES_MAX);
	if (!is_word(name, "-.") || !isalnum((unsigned char)name[0]))
		return strata_fail(err, -EINVAL,
				   "the %s is called '%.60s'; expected letters, digits, - and .",
				   what, name);
	return 0;
}

/* What stands in files as it is: no line can be ended there. */
static int check_words(const struct slurm_setup_group *group, struct strata_error *err)
{
	if (group->gpu_type && !is_word(group->gpu_type, "-_."))
		return strata_fail_at(err, -EINVAL, "gpu_type",
				      "gpu_type is '%.60s'; expected letters, digits, - _ .",
				      group->gpu_type);
	if (!is_word(group->gpu_device, "-_./") || group->gpu_device[0] != '/')
		return strata_fail_at(err, -EINVAL, "gpu_device",
				      "gpu_device is '%.60s'; expected a path such as /dev/nvidia",
				      group->gpu_device);
	if (group->features && !is_word(group->features, "-_.,"))
		return strata_fail_at(err, -EINVAL, "features",
				      "features is '%.60s'; expected words of letters, digits, - _ "
				      ". with commas between them",
				      group->features);
	return 0;
}

static int read_group(const char *text, size_t length, struct strata_arena *arena,
		      struct slurm_setup_group *ret_group, struct strata_error *err)
{
	const char *colon = memchr(text, ':', length);
	size_t hosts_length = colon ? (size_t)(colon - text) : length;
	int rc = strata_schema_defaults(&slurm_setup_group_schema, arena, ret_group, err);

	if (rc == 0 && colon)
		rc = strata_schema_read_text(&slurm_setup_group_schema, colon + 1,
					     length - hosts_length - 1, arena, ret_group, err);
	if (rc == 0)
		rc = check_words(ret_group, err);
	if (rc == 0)
		rc = strata_hostlist_expand(text, hosts_length, arena, &ret_group->hosts,
					    &ret_group->host_count, err);
	for (size_t i = 0; rc == 0 && i < ret_group->host_count; i++)
		rc = slurm_setup_check_name("host", ret_group->hosts[i], err);
	if (rc == 0 && ret_group->host_count == 0)
		rc = strata_fail(err, -EINVAL,
				 "'%.*s' names no host; expected hosts such as a,b,c:gpus=4",
				 (int)(length < 60 ? length : 60), text);
	return rc;
}

static int check_twice(const struct slurm_setup *setup, const struct slurm_setup_group *last,
		       struct strata_error *err)
{
	for (size_t i = 0; i < last->host_count; i++)
		for (const struct slurm_setup_group *group = setup->groups; group <= last; group++)
			for (size_t k = 0; k < (group == last ? i : group->host_count); k++)
				if (strcmp(group->hosts[k], last->hosts[i]) == 0)
					return strata_fail(err, -EEXIST, "host %s is named twice",
							   last->hosts[i]);
	return 0;
}

int slurm_setup_read(const char *text, struct strata_arena *arena, struct slurm_setup *ret_setup,
		     struct strata_error *err)
{
	static const char blanks[] = " \t\n";
	struct slurm_setup setup = *ret_setup;

	setup.group_count = setup.host_count = 0;
	setup.groups =
		strata_arena_array(arena, STRATA_SLURM_SETUP_GROUPS_MAX, sizeof(*setup.groups));
	if (!setup.groups)
		return strata_fail_memory(err);
	for (const char *at = text + strspn(text, blanks); *at; at += strspn(at, blanks)) {
		size_t length = strcspn(at, blanks);

		if (setup.group_count == STRATA_SLURM_SETUP_GROUPS_MAX)
			return strata_fail(err, -E2BIG, "there are at most %d groups of hosts",
					   STRATA_SLURM_SETUP_GROUPS_MAX);
		struct slurm_setup_group *group = &setup.groups[setup.group_count];
		int rc = read_group(at, length, arena, group, err);

		if (rc == 0 && setup.host_count + group->host_count > STRATA_SLURM_SETUP_HOSTS_MAX)
			rc = strata_fail(err, -E2BIG,
					 "a cluster that is set up has at most %d hosts",
					 STRATA_SLURM_SETUP_HOSTS_MAX);
		if (rc == 0)
			rc = check_twice(&setup, group, err);
		if (rc)
			return rc;
		setup.group_count++;
		setup.host_count += group->host_count;
		at += length;
	}
	if (setup.group_count == 0)
		return strata_fail(err, -EINVAL,
				   "nodes is empty; expected hosts such as a,b,c:gpus=4");
	*ret_setup = setup;
	return 0;
}

/* ---- writing ---- */

static void add_hosts(const struct slurm_setup_group *group, struct buf *buf)
{
	for (size_t i = 0; i < group->host_count; i++)
		buf_printf(buf, "%s%s", i ? "," : "", group->hosts[i]);
}

static void add_gres(const struct slurm_setup_group *group, struct buf *buf)
{
	if (group->gpus)
		buf_printf(buf, " Gres=gpu:%s%s%" PRId64, group->gpu_type ? group->gpu_type : "",
			   group->gpu_type ? ":" : "", group->gpus);
}

static void add_nodes(const struct slurm_setup *setup, struct buf *buf)
{
	for (size_t i = 0; i < setup->group_count; i++) {
		const struct slurm_setup_group *group = &setup->groups[i];

		assert(group->cpus > 0 && group->memory_bytes > 0);
		buf_add(buf, "NodeName=");
		add_hosts(group, buf);
		buf_printf(buf, " CPUs=%" PRId64 " RealMemory=%" PRId64, group->cpus,
			   group->memory_bytes >> 20);
		add_gres(group, buf);
		if (group->features)
			buf_printf(buf, " Feature=%s", group->features);
		buf_add(buf, " State=UNKNOWN\n");
	}
}

void slurm_setup_slurm_conf(const struct slurm_setup *setup, struct buf *buf)
{
	buf_printf(buf,
		   "# Written by `strata slurm setup`; the same on all hosts of the cluster.\n"
		   "ClusterName=%s\nSlurmctldHost=%s\nSlurmUser=slurm\n"
		   "AuthType=auth/munge\nCredType=cred/munge\n\n",
		   setup->cluster, setup->controller);
	buf_add(buf, "StateSaveLocation=/var/lib/slurm/slurmctld\n"
		     "SlurmdSpoolDir=/var/lib/slurm/slurmd\n"
		     "SlurmctldPidFile=/run/slurmctld.pid\nSlurmdPidFile=/run/slurmd.pid\n"
		     "SlurmctldLogFile=/var/log/slurm/slurmctld.log\n"
		     "SlurmdLogFile=/var/log/slurm/slurmd.log\n\n");
	buf_printf(buf, "ProctrackType=proctrack/%s\nTaskPlugin=task/%s\n",
		   setup->cgroup ? "cgroup" : "linuxproc", setup->cgroup ? "cgroup" : "none");
	buf_add(buf,
		"SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU_Memory\n\n"
		"# Strata has decided when a job comes here: it is started at once, on the nodes "
		"that it names.\n"
		"SchedulerParameters=batch_sched_delay=0,sched_interval=1,"
		"bf_interval=1,sched_min_interval=0\n"
		"PriorityType=priority/basic\nJobRequeue=0\n"
		"# Longer than the service may be away: it asks how its jobs ended.\n"
		"MinJobAge=3600\nMaxJobCount=100000\n"
		"# A node that was away is taken again when it answers.\nReturnToService=2\n"
		"MpiDefault=none\n\n");
	for (size_t i = 0; i < setup->group_count; i++)
		if (setup->groups[i].gpus) {
			buf_add(buf, "GresTypes=gpu\n");
			break;
		}
	add_nodes(setup, buf);
	buf_add(buf, "PartitionName=strata Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n");
}

void slurm_setup_gres_conf(const struct slurm_setup *setup, struct buf *buf)
{
	buf_add(buf, "# Written by `strata slurm setup`: the GPUs of each host.\n");
	for (size_t i = 0; i < setup->group_count; i++) {
		const struct slurm_setup_group *group = &setup->groups[i];

		if (!group->gpus)
			continue;
		buf_add(buf, "NodeName=");
		add_hosts(group, buf);
		buf_add(buf, " Name=gpu");
		if (group->gpu_type)
			buf_printf(buf, " Type=%s", group->gpu_type);
		if (group->gpus == 1)
			buf_printf(buf, " File=%s0\n", group->gpu_device);
		else
			buf_printf(buf, " File=%s[0-%" PRId64 "]\n", group->gpu_device,
				   group->gpus - 1);
	}
}

void slurm_setup_cgroup_conf(const struct slurm_setup *setup, struct buf *buf)
{
	buf_add(buf, "# Written by `strata slurm setup`: what control groups keep jobs within.\n");
	if (setup->cgroup)
		buf_add(buf, "CgroupPlugin=autodetect\nConstrainCores=yes\nConstrainRAMSpace=yes\n"
			     "ConstrainDevices=yes\n");
	else
		buf_add(buf, "# Nothing: --no-cgroup.\n");
}
