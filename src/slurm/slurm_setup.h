/*
 * Setting up a Slurm cluster: what nodes there are to be, in one line, and the files that Slurm's
 * daemons want on every host. Pure: who writes the files, makes the key and installs packages is
 * `strata slurm setup` and its script.
 */
#ifndef SLURM_SLURM_SETUP_H
#define SLURM_SLURM_SETUP_H

#include "core/buf.h"

#include <strata/option.h>

/* Hosts alike. */
struct slurm_setup_group {
	const char **hosts;
	size_t host_count;
	int64_t cpus;         /* 0: not said */
	int64_t memory_bytes; /* 0: not said */
	int64_t gpus;
	const char *gpu_type;   /* what jobs call them; NULL: any name will do */
	const char *gpu_device; /* the GPUs' files without their numbers */
	const char *features;   /* words that jobs may ask for, with commas; NULL: none */
};

struct slurm_setup {
	const char *cluster;    /* its name */
	const char *controller; /* the host of slurmctld; it may be a node, too */
	bool cgroup;            /* limits are kept by control groups */
	struct slurm_setup_group *groups;
	size_t group_count, host_count; /* hosts: of all groups */
};

extern const struct strata_schema slurm_setup_group_schema;

/* "a,b,c:gpus=4:gpu_type=a100 d[1-4]": groups with blanks between them, each a list of hosts and
 * what they have. Fills groups and counts in; nothing else is touched. A host that is named twice,
 * and a name that is none, are refused. */
int slurm_setup_read(const char *text, struct strata_arena *arena, struct slurm_setup *ret_setup,
		     struct strata_error *err);

/* The files; every group has cpus and memory_bytes. */
void slurm_setup_slurm_conf(const struct slurm_setup *setup, struct buf *buf);
void slurm_setup_gres_conf(const struct slurm_setup *setup, struct buf *buf);
void slurm_setup_cgroup_conf(const struct slurm_setup *setup, struct buf *buf);

/* 0, or -EINVAL: the name of a host or a cluster, which stands in files and scripts as it is. */
int slurm_setup_check_name(const char *what, const char *name, struct strata_error *err);

#endif
