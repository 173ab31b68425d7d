/* strata kubernetes scheduler, strata kubernetes jobs: what their options say, as those who do it
 * want it. */
#include "cli/kubernetes_options.h"

#include "core/env_log.h"
#include "cli/service.h"
#include "pods/pods_scheduler.h"
#include "stratajobs/stratajobs.h"

#include <curl/curl.h>
#include <errno.h>
#include <string.h>

enum { TALK_PER_SECOND = 50, TELL_MAX = 200 };
#define TELL_NS (30 * INT64_C(1000000000))
#define SAVE_NS (60 * INT64_C(1000000000))

static int read_specs(struct cli *cli, const struct kubernetes_scheduler_options *options,
		      struct strata_cluster_conf *cluster)
{
	int rc = cli_spec_read(cli, &strata_order_kind, options->order, &cluster->order);

	if (rc == 0)
		rc = cli_spec_read(cli, &strata_placement_kind, options->placement,
				   &cluster->placement);
	if (rc == 0)
		rc = cli_spec_read(cli, &strata_backfill_kind, options->backfill,
				   &cluster->backfill);
	if (rc == 0)
		rc = cli_spec_read(cli, &strata_prediction_kind, "requested", &cluster->prediction);
	if (rc == 0 && *options->preempt && strcmp(options->preempt, "none") != 0)
		rc = cli_spec_read(cli, &strata_victims_kind, options->preempt, &cluster->victims);
	cluster->half_life_ns = options->half_life_ns;
	return rc;
}

static int read_options(struct cli *cli, const struct kubernetes_scheduler_options *options,
			const struct kube_config *config, struct pods_scheduler_conf *ret_conf)
{
	if (options->low_priority > options->high_priority)
		return strata_fail_at(&cli->err, -EINVAL, "low_priority",
				      "--low-priority %lld is above --high-priority %lld",
				      (long long)options->low_priority,
				      (long long)options->high_priority);
	*ret_conf = (struct pods_scheduler_conf){
		.config = config,
		.env = env_system(),
		.rules = { options->name, options->gpu_resource },
		.round = { .time_limit_ns = options->time_limit_ns,
			   .high_from = options->high_priority,
			   .low_below = options->low_priority,
			   .gang_patience_ns = options->gang_patience_ns,
			   .weights = options->weights,
			   .tell_ns = TELL_NS,
			   .tell_max = TELL_MAX },
		.half_life_ns = options->half_life_ns,
		.space = options->lease_namespace ? options->lease_namespace : config->space,
		.lease = options->lease_name,
		.self = options->identity,
		.listen = options->listen,
		.lease_ns = options->lease_ns,
		.save_ns = SAVE_NS,
		.threads = options->connections,
		.talk_per_second = TALK_PER_SECOND,
	};
	return read_specs(cli, options, &ret_conf->round.cluster);
}

int kubernetes_scheduler_run(struct cli *cli, const void *conf_any, char **operands,
			     size_t operand_count)
{
	const struct kubernetes_scheduler_options *options = conf_any;
	struct kube_config_from from = { .path = options->kubeconfig,
					 .context = options->context,
					 .insecure_ok = options->insecure };
	struct pods_scheduler_conf conf;
	struct kube_config config;
	int rc = kube_config_load(&from, env_system(), &cli->arena, &config, &cli->err);

	(void)operands, (void)operand_count;
	if (rc == 0)
		rc = read_options(cli, options, &config, &conf);
	if (rc == 0 && curl_global_init(CURL_GLOBAL_DEFAULT))
		rc = strata_fail(&cli->err, -EIO, "libcurl does not start");
	if (rc)
		return rc;
	log_open(LOG_FORM_AUTO, LOG_LEVEL_INFO);
	return pods_scheduler_run(&conf, &cli->err);
}

int kubernetes_jobs_run(struct cli *cli, const void *conf_any, char **operands,
			size_t operand_count)
{
	const struct kubernetes_jobs_options *options = conf_any;
	struct kube_config_from from = { .path = options->kubeconfig,
					 .context = options->context,
					 .insecure_ok = options->insecure };
	struct stratajobs_conf conf = { .env = env_system(),
					.space = options->space,
					.look_ns = options->look_ns };
	struct kube_config config;
	int rc = kube_config_load(&from, env_system(), &cli->arena, &config, &cli->err);

	(void)operands, (void)operand_count;
	if (rc == 0)
		rc = service_open(cli, &conf.service);
	if (rc == 0 && curl_global_init(CURL_GLOBAL_DEFAULT))
		rc = strata_fail(&cli->err, -EIO, "libcurl does not start");
	if (rc)
		return rc;
	conf.config = &config;
	log_open(LOG_FORM_AUTO, LOG_LEVEL_INFO);
	return stratajobs_run(&conf, &cli->err);
}
