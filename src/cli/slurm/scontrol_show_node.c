/* scontrol show node, scontrol show partition. */
#include "cli/slurm/scontrol.h"

#include "cli/service.h"
#include "cli/slurm/json.h"

#include <strata/slurm.h>

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>

/* ---- nodes ---- */

static void add_tres(struct buf *buf, int64_t cpus, int64_t memory_bytes, int64_t gpus)
{
	if (!cpus && !memory_bytes && !gpus)
		return;
	buf_printf(buf, "cpu=%" PRId64, cpus);
	if (memory_bytes) {
		buf_add(buf, ",mem=");
		slurm_size(buf, memory_bytes);
	}
}

static void add_state(struct buf *buf, const struct slurm_node *node)
{
	const char *word = node->down ? "down" : slurm_use_word(node->use);

	for (; *word; word++)
		buf_add_char(buf, (char)toupper((unsigned char)*word));
	if (node->drained)
		buf_add(buf, "+DRAIN");
}

static void add_node(struct buf *buf, const struct slurm_node *node, const char *gap)
{
	struct utsname system = { 0 };
	const char *features = node->features ? node->features : "(null)";

	uname(&system);
	buf_printf(buf, "NodeName=%s Arch=%s CoresPerSocket=%" PRId64 " %s", node->name,
		   system.machine, node->cores / node->sockets, gap);
	buf_printf(buf,
		   "CPUAlloc=%" PRId64 " CPUEfctv=%" PRId64 " CPUTot=%" PRId64 " CPULoad=N/A%s",
		   node->cpus_used, node->cpus, node->cpus, gap);
	buf_printf(buf, "AvailableFeatures=%s%sActiveFeatures=%s%s", features, gap, features, gap);
	buf_printf(buf, "Gres=%s%s", node->gres ? node->gres : "(null)", gap);
	buf_printf(buf, "NodeAddr=%s NodeHostName=%s Version=22.05.8%s", node->name, node->name,
		   gap);
	buf_printf(buf, "OS=%s %s %s %s", system.sysname, system.release, system.version, gap);
	buf_printf(buf,
		   "RealMemory=%" PRId64 " AllocMem=%" PRId64 " FreeMem=%" PRId64
		   " Sockets=%" PRId64 " Boards=1%sState=",
		   node->memory_bytes >> 20, node->memory_used_bytes >> 20,
		   (node->memory_bytes - node->memory_used_bytes) >> 20, node->sockets, gap);
	add_state(buf, node);
	buf_printf(buf, " ThreadsPerCore=%" PRId64 " TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A%s",
		   node->cores ? node->cpus / node->cores : 1, gap);
	buf_printf(buf, "Partitions=%s %s", node->partitions, gap);
	buf_printf(buf, "BootTime=None SlurmdStartTime=None%sLastBusyTime=", gap);
	slurm_date(buf, when_now_ns(), "None");
	buf_printf(buf, "%sCfgTRES=", gap);
	add_tres(buf, node->cpus, node->memory_bytes, node->gpus);
	buf_printf(buf, ",billing=%" PRId64, node->cpus);
	if (node->gpus)
		buf_printf(buf, ",gres/gpu=%" PRId64, node->gpus);
	buf_printf(buf, "%sAllocTRES=", gap);
	add_tres(buf, node->cpus_used, node->memory_used_bytes, node->gpus_used);
	if (node->gpus_used)
		buf_printf(buf, ",gres/gpu=%" PRId64, node->gpus_used);
	buf_printf(buf, "%sCapWatts=n/a%sCurrentWatts=0 AveWatts=0%s", gap, gap, gap);
	buf_add(buf, "ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s");
	if (node->reason) {
		buf_printf(buf, "%sReason=%s [root@", gap, node->reason);
		slurm_date(buf, node->since_ns, "Unknown");
		buf_add_char(buf, ']');
	}
}

int scontrol_show_nodes(struct scontrol *scontrol, const char *name)
{
	struct cli *cli = scontrol->cli;
	json_t *list = scontrol->json ? json_array() : NULL;
	struct slurm_nodes nodes;
	const char **names = NULL;
	size_t name_count = 0, shown = 0;

	if (slurm_nodes_load(cli, &nodes))
		return slurm_unreachable(cli, "slurm_load_node");
	if (name)
		strata_hostlist_expand(name, STRATA_TEXT_NUL, &cli->arena, &names, &name_count,
				       NULL);
	for (size_t i = 0; i < nodes.count; i++) {
		bool wanted = !name;

		for (size_t j = 0; j < name_count && !wanted; j++)
			wanted = strcmp(names[j], nodes.list[i].name) == 0;
		shown += wanted;
		if (wanted && list) {
			json_array_append_new(list, slurm_node_json(&nodes.list[i]));
		} else if (wanted) {
			add_node(&cli->out, &nodes.list[i], scontrol_gap(scontrol));
			cli_print(cli, scontrol->oneline ? "\n" : "\n\n");
		}
	}
	slurm_nodes_fini(&nodes);
	if (name && !shown) {
		json_decref(list);
		slurm_say(cli, "Node %s not found", name);
		return 1;
	}
	return list ? slurm_print_json(cli, "nodes", list) : 0;
}

/* ---- partitions ---- */

static void add_limit(struct buf *buf, const char *key, int64_t seconds, const char *otherwise)
{
	buf_add(buf, key);
	if (seconds)
		slurm_clock(buf, seconds);
	else
		buf_add(buf, otherwise);
}

static void add_partition(struct cli *cli, struct buf *buf, const struct slurm_partition *partition,
			  const char *gap)
{
	const char **names =
		strata_arena_array(&cli->arena, partition->node_count + 1, sizeof(*names));
	int64_t cpus = 0, memory_bytes = 0, gpus = 0;

	for (size_t i = 0; names && i < partition->node_count; i++) {
		names[i] = partition->nodes[i]->name;
		cpus += partition->nodes[i]->cpus;
		memory_bytes += partition->nodes[i]->memory_bytes;
		gpus += partition->nodes[i]->gpus;
	}
	const char *hosts = names ? slurm_hosts(cli, names, partition->node_count) : NULL;

	buf_printf(buf, "PartitionName=%s%sAllowGroups=ALL AllowAccounts=%s AllowQos=%s%s",
		   partition->name, gap, partition->accounts ? partition->accounts : "ALL",
		   partition->qos ? partition->qos : "ALL", gap);
	buf_printf(buf, "AllocNodes=ALL Default=%s QoS=N/A%s", partition->usual ? "YES" : "NO",
		   gap);
	add_limit(buf, "DefaultTime=", partition->default_s, "NONE");
	buf_printf(buf, " DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO%s", gap);
	add_limit(buf, "MaxNodes=UNLIMITED MaxTime=", partition->longest_s, "UNLIMITED");
	buf_printf(buf, " MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED%sNodes=%s%s", gap,
		   hosts && *hosts ? hosts : "(null)", gap);
	buf_printf(buf,
		   "PriorityJobFactor=1 PriorityTier=%" PRId64
		   " RootOnly=NO ReqResv=NO OverSubscribe=NO%s",
		   partition->priority, gap);
	buf_printf(buf, "OverTimeLimit=NONE PreemptMode=REQUEUE%s", gap);
	buf_add(buf, "State=");
	for (const char *at = partition->state; *at; at++)
		buf_add_char(buf, (char)toupper((unsigned char)*at));
	buf_printf(buf, " TotalCPUs=%" PRId64 " TotalNodes=%zu SelectTypeParameters=NONE%s", cpus,
		   partition->node_count, gap);
	buf_printf(buf, "JobDefaults=(null)%sDefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED%s",
		   gap, gap);
	buf_printf(buf, "TRES=cpu=%" PRId64 ",mem=", cpus);
	slurm_size(buf, memory_bytes);
	buf_printf(buf, ",node=%zu,billing=%" PRId64, partition->node_count, cpus);
	if (gpus)
		buf_printf(buf, ",gres/gpu=%" PRId64, gpus);
}

int scontrol_show_partitions(struct scontrol *scontrol, const char *name)
{
	struct cli *cli = scontrol->cli;
	struct slurm_nodes nodes;
	size_t shown = 0;

	if (slurm_nodes_load(cli, &nodes))
		return slurm_unreachable(cli, "slurm_load_partitions");
	for (size_t i = 0; i < nodes.partition_count; i++) {
		if (name && strcmp(name, nodes.partitions[i].name) != 0)
			continue;
		shown++;
		add_partition(cli, &cli->out, &nodes.partitions[i], scontrol_gap(scontrol));
		cli_print(cli, scontrol->oneline ? "\n" : "\n\n");
	}
	slurm_nodes_fini(&nodes);
	if (name && !shown) {
		slurm_say(cli, "Partition %s not found", name);
		return 1;
	}
	return 0;
}
