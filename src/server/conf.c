/* What can be configured of the service: one table for the file, the variables and the flags. */
#include "server/server.h"

#include <strata/text.h>

#include <stddef.h>

#define OFFSET(field) offsetof(struct server_conf, field)
#define SECOND INT64_C(1000000000)

static const struct strata_option node_text = { .type = STRATA_TEXT, .value = "NODE" };

static const struct strata_option server_options[] = {
	{ "state_dir", STRATA_TEXT, OFFSET(state_dir), .value = "DIR", .aliases = "state",
	  .help = "where everything is kept" },
	{ "store", STRATA_TEXT, OFFSET(store), .value = "ADDRESS",
	  .help = "sqlite:PATH or postgresql://…; a file in the state directory when left out" },
	{ "socket", STRATA_TEXT, OFFSET(socket), .value = "PATH",
	  .help = "Unix socket to listen on" },
	{ "listen", STRATA_TEXT, OFFSET(listen), .value = "HOST:PORT",
	  .help = "TCP address to listen on as well, for callers with a token; loopback only" },
	{ "checkpoint_dir", STRATA_TEXT, OFFSET(checkpoint_dir), .value = "DIR",
	  .help = "where jobs keep checkpoints" },
	{ "cluster_name", STRATA_TEXT, OFFSET(cluster_name), .text = { "strata", 64 },
	  .help = "what to call this cluster" },
	{ "nodes", STRATA_LIST, OFFSET(nodes), .list = { &node_text, 4096 },
	  .help = "NAME:cpus=8:memory=64G:gpus=4:gpu_type=a100; this machine when left out",
	  .aliases = "node" },
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
	  .help = "ended jobs are forgotten after so long; 0: never" },
	{ "inventory_url", STRATA_TEXT, OFFSET(inventory_url), .value = "URL",
	  .help = "inventory service to read nodes from and to reserve GPUs with: http://… or "
		  "unix:PATH" },
	{ "inventory_token_file", STRATA_TEXT, OFFSET(inventory_token_file), .value = "FILE",
	  .help = "with the token for it" },
	{ "request_timeout", STRATA_DURATION, OFFSET(request_timeout_ns),
	  .integer = { 60 * SECOND, SECOND, STRATA_DURATION_NS_MAX }, .unit = "s",
	  .help = "within which a caller has to say what it wants" },
	{ "http_threads", STRATA_INT, OFFSET(http_threads), .integer = { 2, 1, 64 },
	  .help = "threads that read requests" },
	{ 0 }
};

const struct strata_schema server_schema = {
	.name = "serve",
	.summary = "what the service does",
	.conf_size = sizeof(struct server_conf),
	.options = server_options,
};
