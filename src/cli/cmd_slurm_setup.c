/*
 * strata slurm setup: a directory from which every host becomes part of a Slurm cluster: slurm.conf
 * and what belongs to it (src/slurm/slurm_setup.c), a key for munge, and for each host a script
 * that installs, checks and starts what is missing (packaging/slurm). Nothing here reaches another
 * host: the directory is copied there.
 */
#include "cli/cli.h"
#include "cli/templates.h"

#include "core/env.h"
#include "slurm/slurm_setup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_BYTES = 1024, MEMORY_PERCENT = 95 };

struct setup_conf {
	const char *nodes, *output, *controller, *cluster;
	bool cgroup;
};

static const struct strata_option setup_options[] = {
	{ "nodes", STRATA_TEXT, offsetof(struct setup_conf, nodes), .value = "HOSTS",
	  .help = "the hosts that run jobs, and what they have: 'a,b,c:gpus=4 d[1-4]:cpus=64'" },
	{ "output", STRATA_TEXT, offsetof(struct setup_conf, output), .letter = 'o', .value = "DIR",
	  .text = { "slurm-setup" },
	  .help = "directory to write into; a key that is there is kept" },
	{ "controller", STRATA_TEXT, offsetof(struct setup_conf, controller), .value = "HOST",
	  .help = "where slurmctld and the service run; the first of the hosts when left out" },
	{ "cluster", STRATA_TEXT, offsetof(struct setup_conf, cluster), .value = "NAME",
	  .text = { "strata" }, .help = "what to call the cluster" },
	{ "cgroup", STRATA_BOOL, offsetof(struct setup_conf, cgroup), .boolean = true,
	  .help = "control groups keep jobs within their cores, memory and GPUs" },
	{ 0 }
};
static const struct strata_schema setup_schema = { "slurm setup", NULL, sizeof(struct setup_conf),
						   setup_options };

struct writing {
	struct cli *cli;
	const struct slurm_setup *setup;
	const char *path;
	int dir;
};

/* What was not said of a group is as this machine has it. */
static int fill_in(struct cli *cli, struct slurm_setup *setup)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES);

	for (size_t i = 0; i < setup->group_count; i++) {
		struct slurm_setup_group *group = &setup->groups[i];
		const char *unsaid = !group->cpus && !group->memory_bytes ? "cpus and memory"
				     : !group->cpus                       ? "cpus"
				     : !group->memory_bytes               ? "memory"
									  : NULL;

		if (!unsaid)
			continue;
		if (cpus <= 0 || pages <= 0)
			return strata_fail(&cli->err, -ENODEV,
					   "this machine does not say what it has; add cpus= and "
					   "memory= to --nodes");
		cli_note(cli, "%s of %s%s: as this machine; their scripts compare", unsaid,
			 group->hosts[0], group->host_count > 1 ? " and others" : "");
		if (!group->cpus)
			group->cpus = cpus;
		if (!group->memory_bytes)
			group->memory_bytes = (int64_t)pages * sysconf(_SC_PAGESIZE) / 100 *
					      MEMORY_PERCENT;
	}
	return 0;
}

static void say_unknown(struct cli *cli, const char *host)
{
	struct addrinfo *found = NULL;

	if (getaddrinfo(host, NULL, NULL, &found))
		cli_note(cli,
			 "nobody here knows the address of %s: put it into /etc/hosts or the "
			 "DNS of every host",
			 host);
	else
		freeaddrinfo(found);
}

static int write_conf(const struct writing *writing, const char *name,
		      void (*make)(const struct slurm_setup *setup, struct buf *buf))
{
	struct cli *cli = writing->cli;
	struct buf text;

	buf_init(&text, &cli->memory, 0);
	make(writing->setup, &text);
	int rc = buf_check(&text, &cli->err);

	if (rc == 0)
		rc = env_write_file(env_system(), writing->dir, name, text.text, text.length, 0644,
				    &cli->err);
	buf_fini(&text);
	return rc;
}

static int write_key(const struct writing *writing)
{
	struct cli *cli = writing->cli;
	unsigned char key[KEY_BYTES];
	int rc = env_random(env_system(), key, sizeof(key), &cli->err);

	if (rc == 0)
		rc = env_claim_file(env_system(), writing->dir, "munge.key", key, sizeof(key), 0600,
				    &cli->err);
	explicit_bzero(key, sizeof(key));
	return rc == -EEXIST ? 0 : rc;
}

/* The lines in front of the script: what is this host's own. */
static void add_facts(const struct slurm_setup *setup, const char *host,
		      const struct slurm_setup_group *group, struct buf *buf)
{
	bool leads = strcmp(host, setup->controller) == 0;

	buf_printf(buf,
		   "#!/bin/sh\n# Written by `strata slurm setup`.\nhost=%s\ncontroller=%s\n"
		   "cluster=%s\nroles='%s%s'\nhosts='",
		   host, setup->controller, setup->cluster, leads ? "controller " : "",
		   group ? "node" : "");
	if (!leads)
		buf_add(buf, setup->controller);
	for (size_t i = 0; leads && i < setup->group_count; i++)
		for (size_t k = 0; k < setup->groups[i].host_count; k++)
			buf_printf(buf, "%s ", setup->groups[i].hosts[k]);
	buf_printf(buf,
		   "'\ncpus=%" PRId64 " memory_mib=%" PRId64 " gpus=%" PRId64 " gpu_device=%s\n",
		   group ? group->cpus : 0, group ? group->memory_bytes >> 20 : 0,
		   group ? group->gpus : 0, group ? group->gpu_device : "-");
}

static int write_script(const struct writing *writing, const char *host,
			const struct slurm_setup_group *group)
{
	struct cli *cli = writing->cli;
	struct buf text, name;

	buf_init(&text, &cli->memory, 0);
	buf_init(&name, &cli->memory, 0);
	add_facts(writing->setup, host, group, &text);
	buf_add(&text, slurm_host_templates[0].files[0].text);
	buf_printf(&name, "install-%s.sh", host);
	int rc = buf_check(&text, &cli->err);

	if (rc == 0)
		rc = buf_check(&name, &cli->err);
	if (rc == 0)
		rc = env_write_file(env_system(), writing->dir, name.text, text.text, text.length,
				    0755, &cli->err);
	buf_fini(&text);
	buf_fini(&name);
	return rc;
}

static int write_all(const struct writing *writing)
{
	const struct slurm_setup *setup = writing->setup;
	bool leads = false;
	int rc = write_key(writing);

	if (rc == 0)
		rc = write_conf(writing, "slurm.conf", slurm_setup_slurm_conf);
	if (rc == 0)
		rc = write_conf(writing, "gres.conf", slurm_setup_gres_conf);
	if (rc == 0)
		rc = write_conf(writing, "cgroup.conf", slurm_setup_cgroup_conf);
	for (size_t i = 0; i < setup->group_count; i++)
		for (size_t k = 0; rc == 0 && k < setup->groups[i].host_count; k++) {
			const char *host = setup->groups[i].hosts[k];

			leads |= strcmp(host, setup->controller) == 0;
			rc = write_script(writing, host, &setup->groups[i]);
		}
	return rc || leads ? rc : write_script(writing, setup->controller, NULL);
}

/* It holds a key: nobody else may look into it. */
static int open_dir(struct cli *cli, const char *path, int *ret_dir)
{
	struct stat status;

	if (mkdir(path, 0700) && errno != EEXIST)
		return strata_fail(&cli->err, -errno, "cannot make the directory %.200s: %s", path,
				   strerror(errno));
	*ret_dir = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (*ret_dir < 0)
		return strata_fail(&cli->err, -errno, "cannot open the directory %.200s: %s", path,
				   strerror(errno));
	if (fstat(*ret_dir, &status) == 0 && status.st_uid == geteuid() &&
	    !(status.st_mode & (S_IWGRP | S_IWOTH)))
		return 0;
	close(*ret_dir);
	return strata_fail(&cli->err, -EPERM,
			   "others may write into %.200s, and a key is to be kept there; name a "
			   "directory of your own, or `chmod go-w %.200s`",
			   path, path);
}

static int print_next(struct cli *cli, const struct slurm_setup *setup, const char *path)
{
	if (cli->globals.json)
		return cli_print_json(cli, json_pack("{s:s, s:s, s:s, s:I}", "directory", path,
						     "cluster", setup->cluster, "controller",
						     setup->controller, "hosts",
						     (json_int_t)setup->host_count));
	cli_printf(
		cli,
		"%s has slurm.conf, gres.conf, cgroup.conf, munge.key and a script for each of %zu "
		"host%s. On every one, %s first:\n"
		"  scp -rp %s root@HOST:/root/slurm-setup\n"
		"  ssh root@HOST sh /root/slurm-setup/install-HOST.sh\n"
		"On %s it also sets executor = slurm for the service.\n",
		path, setup->host_count, cli_plural(setup->host_count), setup->controller, path,
		setup->controller);
	return 0;
}

static int run(struct cli *cli, const void *conf_any, char **operands, size_t operand_count)
{
	const struct setup_conf *conf = conf_any;
	struct slurm_setup setup = { .cluster = conf->cluster, .cgroup = conf->cgroup };
	struct writing writing = { .cli = cli, .setup = &setup, .path = conf->output };

	(void)operands, (void)operand_count;
	if (!conf->nodes)
		return strata_fail(&cli->err, -EINVAL,
				   "--nodes is missing; expected hosts such as "
				   "--nodes a,b,c:gpus=4");
	int rc = slurm_setup_read(conf->nodes, &cli->arena, &setup, &cli->err);

	if (rc)
		return rc;
	setup.controller = conf->controller ? conf->controller : setup.groups[0].hosts[0];
	rc = slurm_setup_check_name("controller", setup.controller, &cli->err);
	if (rc == 0)
		rc = slurm_setup_check_name("cluster", setup.cluster, &cli->err);
	if (rc == 0)
		rc = fill_in(cli, &setup);
	if (rc == 0)
		rc = open_dir(cli, conf->output, &writing.dir);
	if (rc)
		return rc;
	rc = write_all(&writing);
	close(writing.dir);
	if (rc)
		return rc;
	for (size_t i = 0; i < setup.group_count; i++)
		for (size_t k = 0; k < setup.groups[i].host_count; k++)
			say_unknown(cli, setup.groups[i].hosts[k]);
	return print_next(cli, &setup, conf->output);
}

const struct cli_command cli_slurm_setup = {
	.name = "slurm setup",
	.summary = "write all that makes hosts a Slurm cluster below the service",
	.about =
		"DIR gets slurm.conf, gres.conf, cgroup.conf, a key for munge, and a script for "
		"each "
		"host, which installs Debian's\n"
		"packages, compares the machine with slurm.conf, puts the files in their places "
		"and "
		"starts what does not run; the\n"
		"controller's also sets executor = slurm for the service. Scripts may be run "
		"again; "
		"with --check they change nothing\n"
		"and say what is wrong. Hosts: cpus, memory, gpus, gpu_type, gpu_device, features.",
	.examples = "  strata slurm setup --nodes 'a,b,c:gpus=4:gpu_type=a100' -o cluster\n"
		    "  strata slurm setup --nodes 'n[01-16]:cpus=64:memory=512G' --controller head",
	.options = &setup_schema,
	.run = run,
};
