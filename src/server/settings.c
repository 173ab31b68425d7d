/* The table of settings.h, and what can be said of settings before anything is opened. */
#include "server/settings.h"

#include "core/log.h"
#include "exec/exec.h"
#include "machine/inventory.h"
#include "s3/s3_address.h"
#include "server/baseline.h"
#include "webhook/webhook_address.h"

#include <strata/cluster.h>
#include <strata/pool.h>
#include <strata/text.h>

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define OFFSET(field) offsetof(struct server_conf, field)
#define SECOND INT64_C(1000000000)

static const struct strata_option node_text = { .type = STRATA_TEXT, .value = "NODE" };

static const struct strata_choice log_forms[] = {
	{ "auto", LOG_FORM_AUTO, "text on a terminal, else logfmt" },
	{ "text", LOG_FORM_TEXT, "strata: job 17.1: …" },
	{ "logfmt", LOG_FORM_LOGFMT, "time=… level=warning component=supervisor job=17 msg=\"…\"" },
	{ "json", LOG_FORM_JSON, "the same as an object a line" },
	{ NULL, 0, NULL },
};

static const struct strata_choice log_levels[] = {
	{ "error", LOG_LEVEL_ERROR, "what the service cannot mend itself" },
	{ "warning", LOG_LEVEL_WARNING, "what went wrong and is tried again, or is one job's" },
	{ "info", LOG_LEVEL_INFO, "beginnings, ends, changes of the leader" },
	{ "debug", LOG_LEVEL_DEBUG, "everything" },
	{ NULL, 0, NULL },
};

static const struct strata_choice tls_modes[] = {
	{ "off", TLS_OFF, "not encrypted, unless tls_cert is set" },
	{ "auto", TLS_AUTO, "by a pair in the state directory, made when it is not there" },
	{ NULL, 0, NULL },
};

static const struct strata_choice pool_scopes[] = {
	{ "model", POOL_SCOPE_MODEL, "each model has its own share" },
	{ "shared", POOL_SCOPE_SHARED, "what a user used of one model counts in the lines of all" },
	{ NULL, 0, NULL },
};

static const struct strata_option server_options[] = {
	{ "state_dir", STRATA_TEXT, OFFSET(state_dir), .value = "DIR", .aliases = "state",
	  .help = "where everything is kept" },
	{ "store", STRATA_TEXT, OFFSET(store), .value = "ADDRESS",
	  .help = "sqlite:PATH or postgresql://…; a file in the state directory when left out" },
	{ "socket", STRATA_TEXT, OFFSET(socket), .value = "PATH",
	  .help = "Unix socket to listen on" },
	{ "listen", STRATA_TEXT, OFFSET(listen), .value = "HOST:PORT",
	  .help = "TCP address to listen on as well, for callers with a token; beyond the "
		  "loopback with TLS only" },
	{ "tls", STRATA_ENUM, OFFSET(tls), .choice = { tls_modes, TLS_OFF },
	  .help = "encrypt what goes over `listen` with a key pair that the service makes" },
	{ "tls_cert", STRATA_TEXT, OFFSET(tls_cert), .text = { NULL, STRATA_PATH_BYTES_MAX },
	  .value = "FILE",
	  .help = "encrypt it with this certificate (PEM, with those between it and its root)" },
	{ "tls_key", STRATA_TEXT, OFFSET(tls_key), .text = { NULL, STRATA_PATH_BYTES_MAX },
	  .value = "FILE", .help = "and its key (PEM), which nobody else may read" },
	{ "checkpoint_dir", STRATA_TEXT, OFFSET(checkpoint_dir), .value = "DIR",
	  .help = "where jobs keep checkpoints" },
	{ "checkpoint_path", STRATA_TEXT, OFFSET(checkpoint_path), .text = { NULL, 1024 },
	  .value = "ADDRESS",
	  .help = "where copies of them are kept: s3://BUCKET/PREFIX; none when left out" },
	{ "s3_endpoint", STRATA_TEXT, OFFSET(s3_endpoint),
	  .text = { "https://s3.us-east-1.amazonaws.com", 1024 }, .value = "URL",
	  .help = "the S3 service of checkpoint_path" },
	{ "s3_region", STRATA_TEXT, OFFSET(s3_region), .text = { "us-east-1", 64 },
	  .help = "the region that requests to it are signed for" },
	{ "s3_credentials", STRATA_TEXT, OFFSET(s3_credentials),
	  .text = { NULL, STRATA_PATH_BYTES_MAX }, .value = "FILE",
	  .help = "with aws_access_key_id and aws_secret_access_key, which nobody else may read; "
		  "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY when left out" },
	{ "s3_part", STRATA_BYTES, OFFSET(s3_part_bytes),
	  .integer = { 16 << 20, 5 << 20, INT64_C(5) << 30 },
	  .help = "files larger than this are sent in parts of this size" },
	{ "cluster_name", STRATA_TEXT, OFFSET(cluster_name), .text = { "strata", 64 },
	  .help = "what to call this cluster" },
	{ "nodes", STRATA_LIST, OFFSET(nodes), .list = { &node_text, 4096 },
	  .help = "NAME:cpus=8:memory=64G:gpus=4:gpu_type=a100; this machine when left out",
	  .aliases = "node" },
	{ "executor", STRATA_TEXT, OFFSET(executor), .text = { "local" }, .value = "SPEC",
	  .help = "who runs jobs: local, or slurm or kubernetes, whose nodes are then those of the "
		  "cluster" },
	{ "order", STRATA_TEXT, OFFSET(order), .text = { "fair_share" }, .value = "SPEC",
	  .help = "order of the queue" },
	{ "placement", STRATA_TEXT, OFFSET(placement), .text = { "best_fit" }, .value = "SPEC",
	  .help = "choice of nodes" },
	{ "backfill", STRATA_TEXT, OFFSET(backfill), .text = { "easy:high=no" }, .value = "SPEC",
	  .help = "who may start out of order" },
	{ "predict", STRATA_TEXT, OFFSET(predict), .text = { "requested" }, .value = "SPEC",
	  .help = "how long jobs are taken to run" },
	{ "preempt", STRATA_TEXT, OFFSET(preempt), .text = { "least_lost" }, .value = "SPEC",
	  .help = "whom to stop for jobs of a higher band; none: nobody" },
	{ "pool_policy", STRATA_TEXT, OFFSET(pool_policy), .text = { "fair:within=priority" },
	  .value = "SPEC", .help = "which generation task is next" },
	{ "pool_scope", STRATA_ENUM, OFFSET(pool_scope),
	  .choice = { pool_scopes, POOL_SCOPE_MODEL },
	  .help = "over what users share: the pictures of each model, or of all of them" },
	{ "pool_preempt", STRATA_BOOL, OFFSET(pool_preempt),
	  .help = "a generation task gives way between two steps to one that goes before it" },
	{ "task_queue_max", STRATA_INT, OFFSET(task_queue_max),
	  .integer = { 1000, 1, STRATA_TASKS_MAX },
	  .help = "generation tasks that one user may have waiting or running" },
	{ "worker_user", STRATA_TEXT, OFFSET(worker_user), .text = { NULL, STRATA_NAME_BYTES_MAX },
	  .value = "USER",
	  .help = "whom workers run as; when left out strata if there is such a user, else the "
		  "service's own, and nobody when that is root" },
	{ "worker_program", STRATA_TEXT, OFFSET(worker_program),
	  .text = { NULL, STRATA_PATH_BYTES_MAX }, .value = "PATH",
	  .help = "run as `PATH worker --model NAME`; this program when left out" },
	{ "worker_python", STRATA_TEXT, OFFSET(worker_python),
	  .text = { NULL, STRATA_PATH_BYTES_MAX }, .value = "PATH",
	  .help = "the Python that has the package strata, torch and diffusers, for models with "
		  "`--worker python`; python3 when left out" },
	{ "worker_idle", STRATA_DURATION, OFFSET(worker_idle_ns),
	  .integer = { 300 * SECOND, 0, STRATA_DURATION_NS_MAX }, .unit = "s",
	  .help = "a worker without tasks ends after so long" },
	{ "worker_wait_target", STRATA_DURATION, OFFSET(worker_wait_target_ns),
	  .integer = { 30 * SECOND, SECOND, STRATA_DURATION_NS_MAX }, .unit = "s",
	  .help = "a model gets another worker when its line is expected to take longer" },
	{ "worker_lease", STRATA_DURATION, OFFSET(worker_lease_ns),
	  .integer = { 30 * SECOND, SECOND, 86400 * SECOND }, .unit = "s",
	  .help = "a worker that is not heard of for so long has lost its tasks" },
	{ "webhook_allow", STRATA_TEXT, OFFSET(webhook_allow), .text = { NULL, 4096 },
	  .value = "ADDRESSES",
	  .help = "webhooks may be there although messages go to no loopback or link-local "
		  "address: 127.0.0.1,169.254.7.0/24" },
	{ "mail_program", STRATA_TEXT, OFFSET(mail_program),
	  .text = { "/usr/sbin/sendmail", STRATA_PATH_BYTES_MAX }, .value = "FILE",
	  .help = "what mail to users is handed to" },
	{ "webhook_retry", STRATA_DURATION, OFFSET(webhook_retry_ns),
	  .integer = { 10 * SECOND, 0, 3600 * SECOND }, .unit = "s",
	  .help = "a message that did not arrive is sent again after so long, then after three "
		  "times that, and so on, up to ten times" },
	{ "worker_save", STRATA_DURATION, OFFSET(worker_save_ns),
	  .integer = { 30 * SECOND, 0, STRATA_DURATION_NS_MAX }, .unit = "s",
	  .help = "a worker saves the latents of a task so often; 0: after each round" },
	{ "result_keep", STRATA_DURATION, OFFSET(result_keep_ns),
	  .integer = { 0, 0, STRATA_DURATION_NS_MAX }, .unit = "s",
	  .help = "pictures are removed after so long, their tasks stay; 0: with their tasks" },
	{ "result_max", STRATA_BYTES, OFFSET(result_bytes_max),
	  .integer = { INT64_C(64) << 30, 0, INT64_MAX },
	  .help = "when all pictures take more the oldest are removed; 0: any size" },
	{ "result_user_max", STRATA_BYTES, OFFSET(result_user_bytes_max),
	  .integer = { 0, 0, INT64_MAX },
	  .help = "who has so many bytes of pictures asks for no more; 0: any size" },
	{ "record", STRATA_TEXT, OFFSET(record), .value = "FILE",
	  .help = "everything the scheduler is told and decides, for `strata sim rerun`; none when "
		  "left out" },
	{ "record_max", STRATA_BYTES, OFFSET(record_bytes_max),
	  .integer = { INT64_C(1) << 30, 1 << 20, INT64_MAX },
	  .help = "a record of this size is put aside as FILE.old when the service starts, and "
		  "grows no further" },
	{ "half_life", STRATA_DURATION, OFFSET(half_life_ns),
	  .integer = { 86400 * SECOND, SECOND, STRATA_DURATION_NS_MAX }, .unit = "s",
	  .help = "after so long half of what was used is forgotten" },
	{ "time_limit", STRATA_DURATION, OFFSET(time_limit_ns),
	  .integer = { 3600 * SECOND, SECOND, STRATA_DURATION_NS_MAX }, .unit = "s",
	  .help = "of jobs that ask for none" },
	{ "time_limit_max", STRATA_DURATION, OFFSET(time_limit_ns_max),
	  .integer = { 30 * 86400 * SECOND, SECOND, STRATA_DURATION_NS_MAX }, .unit = "s",
	  .help = "that jobs may ask for" },
	{ "grace", STRATA_DURATION, OFFSET(grace_ns), .integer = { 30 * SECOND, 0, 86400 * SECOND },
	  .unit = "s", .help = "between the request to end and the end" },
	{ "checkpoint_max", STRATA_BYTES, OFFSET(checkpoint_bytes_max),
	  .help = "larger checkpoints are not recorded; any size when 0" },
	{ "keep", STRATA_DURATION, OFFSET(keep_ns),
	  .integer = { 90 * 86400 * SECOND, 0, STRATA_DURATION_NS_MAX }, .unit = "s",
	  .help = "ended jobs and tasks are forgotten after so long; 0: never" },
	{ "regression_days", STRATA_INT, OFFSET(regression_days),
	  .integer = { 3, 1, BASELINE_WINDOW_MAX },
	  .help = "a key figure has changed when so many days of the last regression_of are out" },
	{ "regression_of", STRATA_INT, OFFSET(regression_of),
	  .integer = { 4, 1, BASELINE_WINDOW_MAX }, .help = "see regression_days" },
	{ "regression_deviation", STRATA_REAL, OFFSET(regression_deviation), .real = { 4, 0, 1000 },
	  .help = "a day is out so many standard deviations, by the median absolute one, from "
		  "what is usual …" },
	{ "regression_ratio", STRATA_REAL, OFFSET(regression_ratio), .real = { 1.5, 1, 1000 },
	  .help = "… if that is this factor or more" },
	{ "regression_window", STRATA_INT, OFFSET(regression_window),
	  .integer = { BASELINE_WINDOW_MAX, 1, BASELINE_WINDOW_MAX },
	  .help = "what is usual is the median of so many days, and a change is told for as long" },
	{ "regression_warm_up", STRATA_INT, OFFSET(regression_warm_up),
	  .integer = { 10, 1, BASELINE_WINDOW_MAX },
	  .help = "nothing is usual before there are so many days" },
	{ "regression_samples", STRATA_INT, OFFSET(regression_samples),
	  .integer = { 5, 1, 1000000 }, .help = "a day with fewer values of a figure has none" },
	{ "inventory_url", STRATA_TEXT, OFFSET(inventory_url), .value = "URL",
	  .help = "inventory service to read nodes from and to reserve GPUs with: http://…, "
		  "https://… or unix:/PATH" },
	{ "inventory_token_file", STRATA_TEXT, OFFSET(inventory_token_file), .value = "FILE",
	  .help = "with the token for it" },
	{ "request_timeout", STRATA_DURATION, OFFSET(request_timeout_ns),
	  .integer = { 60 * SECOND, SECOND, STRATA_DURATION_NS_MAX }, .unit = "s",
	  .help = "within which a caller has to say what it wants" },
	{ "http_threads", STRATA_INT, OFFSET(http_threads), .integer = { 2, 1, 64 },
	  .help = "threads that read requests" },
	{ "log_format", STRATA_ENUM, OFFSET(log_form), .choice = { log_forms, LOG_FORM_AUTO },
	  .help = "form of the log's lines on standard error" },
	{ "log_level", STRATA_ENUM, OFFSET(log_level), .choice = { log_levels, LOG_LEVEL_INFO },
	  .help = "what is logged: this and what is worse" },
	{ "token_from_token", STRATA_BOOL, OFFSET(token_from_token),
	  .help = "a token may make tokens: for its own user, of its role or below, that end with "
		  "it" },
	{ "web_hosts", STRATA_TEXT, OFFSET(web_hosts), .text = { NULL, 1024 }, .value = "NAMES",
	  .help = "names that the page is served under beside localhost, as a, b; of a TLS proxy "
		  "in front" },
	{ "accept_store", STRATA_BOOL, OFFSET(accept_store),
	  .help = "take a store that is not what it was, such as an older copy, as it is" },
	{ 0 }
};

const struct strata_schema server_schema = {
	.name = "serve",
	.summary = "what the service does",
	.conf_size = sizeof(struct server_conf),
	.options = server_options,
};

bool conf_is_live(const char *name)
{
	static const char *const live[] = { "checkpoint_max",    "grace",       "keep",
					    "log_format",        "log_level",   "request_timeout",
					    "result_keep",       "result_max",  "result_user_max",
					    "task_queue_max",    "time_limit",  "time_limit_max",
					    "token_from_token",  "worker_idle", "worker_save",
					    "worker_wait_target" };

	for (size_t i = 0; i < sizeof(live) / sizeof(live[0]); i++)
		if (strcmp(live[i], name) == 0)
			return true;
	return false;
}

/* ---- do they make sense? ---- */

int conf_registry(const struct server_conf *conf, const struct strata_kind *kind,
		  struct strata_memory *memory, struct strata_registry **ret_registry,
		  struct strata_error *err)
{
	const char *const *paths = conf->plugins.items;
	struct strata_registry *registry;
	struct strata_arena arena;
	int rc = strata_registry_new(kind, memory, &registry, err);

	if (rc)
		return rc;
	strata_arena_init(&arena, memory, 0);
	for (size_t i = 0; rc == 0 && i < conf->plugins.count; i++) {
		const char *of_kind;

		rc = strata_plugin_kind(paths[i], &arena, &of_kind, err);
		if (rc == 0 && strcmp(of_kind, kind->name) == 0)
			rc = strata_registry_load(registry, paths[i], err);
	}
	strata_arena_fini(&arena);
	if (rc) {
		strata_registry_free(registry);
		return rc;
	}
	*ret_registry = registry;
	return 0;
}

static int check_class(const struct server_conf *conf, const struct strata_kind *kind,
		       const char *name, const char *text, struct strata_memory *memory,
		       struct strata_error *err)
{
	struct strata_registry *registry;
	struct strata_arena arena;
	struct strata_spec spec;
	int rc = conf_registry(conf, kind, memory, &registry, err);

	if (rc)
		return rc;
	strata_arena_init(&arena, memory, 0);
	rc = strata_spec_read(registry, text, strlen(text), &arena, &spec, err);
	strata_arena_fini(&arena);
	strata_registry_free(registry);
	return rc ? strata_fail_under(err, rc, "%s", name) : 0;
}

static int check_nodes(const struct server_conf *conf, struct strata_memory *memory,
		       struct strata_error *err)
{
	const char *const *texts = conf->nodes.items;
	struct strata_arena arena;
	int rc = 0;

	strata_arena_init(&arena, memory, 0);
	for (size_t i = 0; rc == 0 && i < conf->nodes.count; i++) {
		const char *whole = strata_arena_printf(&arena, "name=%s", texts[i]);
		struct inventory_declared node;

		rc = whole ? strata_schema_defaults(&inventory_declared_schema, &arena, &node, err)
			   : strata_fail_memory(err);
		if (rc == 0)
			rc = strata_schema_read_text(&inventory_declared_schema, whole,
						     strlen(whole), &arena, &node, err);
		if (rc)
			strata_fail_under(err, rc, "nodes[%zu]", i);
	}
	strata_arena_fini(&arena);
	return rc;
}

int conf_check_url(const char *url, struct strata_error *err)
{
	static const char *const schemes[] = { "http://", "https://", "unix:/" };

	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (strncmp(url, schemes[i], strlen(schemes[i])) == 0)
			return 0;
	return strata_fail_at(err, -EINVAL, "inventory_url",
			      "inventory_url is %.100s; expected http://…, https://… or unix:/PATH",
			      url);
}

int conf_check_tls(const struct server_conf *conf, struct strata_error *err)
{
	if (!conf->tls_cert != !conf->tls_key)
		return strata_fail_at(err, -EINVAL, conf->tls_cert ? "tls_key" : "tls_cert",
				      "%s is not set; tls_cert and tls_key belong together",
				      conf->tls_cert ? "tls_key" : "tls_cert");
	if (conf->tls == TLS_AUTO && conf->tls_cert)
		return strata_fail_at(err, -EINVAL, "tls",
				      "tls = auto makes a certificate, and tls_cert names one; "
				      "leave out one of them");
	if ((conf->tls == TLS_AUTO || conf->tls_cert) && !conf->listen)
		return strata_fail_at(err, -EINVAL, "listen",
				      "listen is not set, so there is nothing to encrypt; say "
				      "where to listen, as in --listen 0.0.0.0:8470");
	return 0;
}

int conf_check_copies(const struct server_conf *conf, struct strata_error *err)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;
	const char *bucket, *prefix;

	if (!conf->checkpoint_path)
		return 0;
	strata_arena_init(&arena, &memory, 0);
	int rc = s3_address_read(conf->checkpoint_path, &arena, &bucket, &prefix, err);

	strata_arena_fini(&arena);
	if (rc == 0 && strncmp(conf->s3_endpoint, "http://", 7) != 0 &&
	    strncmp(conf->s3_endpoint, "https://", 8) != 0)
		rc = strata_fail_at(err, -EINVAL, "s3_endpoint",
				    "s3_endpoint is '%.100s'; expected https://HOST or http://HOST",
				    conf->s3_endpoint);
	return rc;
}

int conf_check_regression(const struct server_conf *conf, struct strata_error *err)
{
	if (conf->regression_days > conf->regression_of)
		return strata_fail_at(err, -EINVAL, "regression_days",
				      "regression_days is %lld, more than the %lld days of "
				      "regression_of",
				      (long long)conf->regression_days,
				      (long long)conf->regression_of);
	if (conf->regression_warm_up > conf->regression_window)
		return strata_fail_at(err, -EINVAL, "regression_warm_up",
				      "regression_warm_up is %lld, more than the %lld days of "
				      "regression_window",
				      (long long)conf->regression_warm_up,
				      (long long)conf->regression_window);
	return 0;
}

int conf_check(const struct server_conf *conf, struct strata_error *err)
{
	struct strata_memory memory = { 0 };
	const struct {
		const struct strata_kind *kind;
		const char *name, *text;
	} classes[] = { { &exec_kind, "executor", conf->executor },
			{ &strata_order_kind, "order", conf->order },
			{ &strata_placement_kind, "placement", conf->placement },
			{ &strata_backfill_kind, "backfill", conf->backfill },
			{ &strata_prediction_kind, "predict", conf->predict },
			{ &strata_policy_kind, "pool_policy", conf->pool_policy },
			{ &strata_victims_kind, "preempt", conf->preempt } };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(classes) / sizeof(classes[0]); i++)
		if (classes[i].kind != &strata_victims_kind || strcmp(classes[i].text, "none") != 0)
			rc = check_class(conf, classes[i].kind, classes[i].name, classes[i].text,
					 &memory, err);
	if (rc == 0 && conf->time_limit_ns > conf->time_limit_ns_max)
		rc = strata_fail_at(err, -EINVAL, "time_limit",
				    "time_limit is longer than time_limit_max");
	if (rc == 0)
		rc = conf_check_regression(conf, err);
	if (rc == 0)
		rc = conf_check_tls(conf, err);
	if (rc == 0)
		rc = conf_check_copies(conf, err);
	if (rc == 0 && conf->inventory_url)
		rc = conf_check_url(conf->inventory_url, err);
	struct webhook_allowed allowed;

	if (rc == 0 && webhook_allowed_read(conf->webhook_allow, &allowed, err))
		rc = strata_fail_under(err, -EINVAL, "webhook_allow");
	return rc ? rc : check_nodes(conf, &memory, err);
}

/* ---- passwords ---- */

/* scheme://user:PASSWORD@host */
static bool find_in_url(const char *address, size_t from, size_t *ret_at, size_t *ret_length)
{
	const char *scheme = strstr(address, "://");
	const char *start = scheme ? scheme + 3 : NULL, *end, *colon;

	if (!start)
		return false;
	end = memrchr(start, '@', strcspn(start, "?"));
	colon = end ? memchr(start, ':', (size_t)(end - start)) : NULL;
	if (!colon || (size_t)(colon - address) < from || colon + 1 == end)
		return false;
	*ret_at = (size_t)(colon + 1 - address);
	*ret_length = (size_t)(end - colon - 1);
	return true;
}

/* …?password=PASSWORD&…, or "host=h password=PASSWORD", perhaps in quotes */
static bool find_by_name(const char *address, size_t from, size_t *ret_at, size_t *ret_length)
{
	static const char name[] = "password=";

	for (const char *at = address + from; (at = strcasestr(at, name)); at++) {
		const char *value = at + sizeof(name) - 1;
		size_t length = *value == '\'' ? 1 + strcspn(value + 1, "'") : strcspn(value, "& ");

		if (length == 0)
			continue;
		*ret_at = (size_t)(value - address);
		*ret_length = length;
		return true;
	}
	return false;
}

bool conf_find_password(const char *address, size_t from, size_t *ret_at, size_t *ret_length)
{
	return find_in_url(address, from, ret_at, ret_length) ||
	       find_by_name(address, from, ret_at, ret_length);
}

const char *conf_hide_password(const char *address, struct strata_arena *arena)
{
	const char *shown = strata_arena_text(arena, address, strlen(address));
	size_t from = 0, at, length;

	while (shown && conf_find_password(shown, from, &at, &length)) {
		shown = strata_arena_printf(arena, "%.*s***%s", (int)at, shown,
					    shown + at + length);
		from = at + 3;
	}
	return shown;
}
