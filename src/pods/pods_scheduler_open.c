/* How the scheduler begins. */
#include "pods/pods_scheduler_int.h"

#include "core/env_log.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static int name_self(struct scheduler *scheduler, struct strata_error *err)
{
	const struct pods_scheduler_conf *conf = scheduler->conf;
	char host[65] = "strata";
	uint32_t number;
	int rc;

	snprintf(scheduler->usage_name, sizeof(scheduler->usage_name), "%.250s-usage", conf->lease);
	if (conf->self) {
		snprintf(scheduler->self, sizeof(scheduler->self), "%s", conf->self);
		return 0;
	}
	rc = env_random(conf->env, &number, sizeof(number), err);
	(void)gethostname(host, sizeof(host) - 1);
	snprintf(scheduler->self, sizeof(scheduler->self), "%s_%08" PRIx32, host, number);
	return rc;
}

static int open_signals(struct scheduler *scheduler, struct strata_error *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	scheduler->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return scheduler->signals < 0
		       ? strata_fail(err, -errno, "cannot wait for signals: %s", strerror(errno))
		       : 0;
}

static int open_watch(struct scheduler *scheduler, int source, const char *path,
		      struct strata_error *err)
{
	struct kube_watch_conf conf = {
		.config = scheduler->conf->config,
		.env = scheduler->conf->env,
		.path = path,
	};

	return kube_watch_open(&conf, &scheduler->watches[source], err);
}

static int open_ports(struct scheduler *scheduler, struct strata_error *err)
{
	uint16_t port;
	int rc;

	if (!scheduler->conf->listen)
		return 0;
	rc = pods_ports_open(scheduler->conf->listen, &scheduler->figures, scheduler->conf->env,
			     &scheduler->ports, &port, err);
	if (rc == 0)
		log_info("scheduler", "listening on port %u", (unsigned)port);
	return rc;
}

int scheduler_open(struct scheduler *scheduler, struct strata_error *err)
{
	const struct pods_scheduler_conf *conf = scheduler->conf;
	struct pods_lease_conf lease = { conf->config, conf->env,       conf->space,
					 conf->lease,  scheduler->self, conf->lease_ns };
	int rc = open_signals(scheduler, err);

	if (rc == 0)
		rc = name_self(scheduler, err);
	if (rc == 0)
		rc = open_ports(scheduler, err);
	if (rc == 0)
		rc = open_watch(scheduler, ON_NODES, "/api/v1/nodes", err);
	if (rc == 0)
		rc = open_watch(scheduler, ON_PODS, "/api/v1/pods", err);
	if (rc == 0)
		rc = pods_lease_open(&lease, &scheduler->lease, err);
	if (rc)
		return rc;
	struct pods_ask_conf ask = {
		.config = conf->config,
		.env = conf->env,
		.name = conf->rules.scheduler,
		.threads = (unsigned)conf->threads,
		.talk_per_second = (unsigned)conf->talk_per_second,
		.leads = pods_lease_leads(scheduler->lease),
	};

	return pods_ask_open(&ask, &scheduler->ask, err);
}
