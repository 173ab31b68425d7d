/* strata kubernetes scheduler: schedules pods of a Kubernetes cluster. kubernetes_run.c does it, in
 * the full program. */
#include "cli/kubernetes_options.h"

#include <strata/text.h>

#define OFFSET(field) offsetof(struct kubernetes_scheduler_options, field)
static const struct strata_option weight = {
	.type = STRATA_REAL, .real = { 1, STRATA_SHARE_WEIGHT_MIN, STRATA_SHARE_WEIGHT_MAX }
};
static const struct strata_option rows[] = {
	{ "kubeconfig", STRATA_TEXT, OFFSET(kubeconfig), .value = "FILE",
	  .help = "how the API server is reached; when left out: as in a pod, or KUBECONFIG" },
	{ "kube_context", STRATA_TEXT, OFFSET(context), .value = "NAME",
	  .help = "of the kubeconfig; its current one when left out" },
	{ "insecure", STRATA_BOOL, OFFSET(insecure),
	  .help = "take a kubeconfig with insecure-skip-tls-verify" },
	{ "name", STRATA_TEXT, OFFSET(name), .text = { "strata" }, .value = "NAME",
	  .help = "pods with this schedulerName are scheduled" },
	{ "order", STRATA_TEXT, OFFSET(order), .text = { "fair_share:tree=true" }, .value = "SPEC",
	  .help = "order of the queue: `strata classes order`" },
	{ "placement", STRATA_TEXT, OFFSET(placement), .text = { "best_fit" }, .value = "SPEC",
	  .help = "choice of nodes" },
	{ "backfill", STRATA_TEXT, OFFSET(backfill), .text = { "easy" }, .value = "SPEC",
	  .help = "who may start out of order" },
	{ "preempt", STRATA_TEXT, OFFSET(preempt), .text = { "lowest:protect=0s" }, .value = "SPEC",
	  .help = "whom to delete for pods of a higher band; none: nobody" },
	{ "high_priority", STRATA_INT, OFFSET(high_priority),
	  .integer = { 1, INT32_MIN, INT32_MAX }, .value = "N",
	  .help = "pods with a priority from here on are of the band high" },
	{ "low_priority", STRATA_INT, OFFSET(low_priority), .integer = { 0, INT32_MIN, INT32_MAX },
	  .value = "N", .help = "those with one below this are of the band low" },
	{ "weights", STRATA_MAP, OFFSET(weights), .list = { .item = &weight },
	  .value = "NAMESPACE=W,…", .help = "shares of namespaces; 1 for those not named" },
	{ "half_life", STRATA_DURATION, OFFSET(half_life_ns),
	  .integer = { 24 * STRATA_HOUR_NS, STRATA_MINUTE_NS, STRATA_DURATION_NS_MAX },
	  .help = "what was used counts half after so long" },
	{ "time_limit", STRATA_DURATION, OFFSET(time_limit_ns),
	  .integer = { 24 * STRATA_HOUR_NS, STRATA_SECOND_NS, STRATA_DURATION_NS_MAX },
	  .help = "how long pods are taken to run that do not say" },
	{ "gang_patience", STRATA_DURATION, OFFSET(gang_patience_ns),
	  .integer = { STRATA_MINUTE_NS, STRATA_SECOND_NS, STRATA_HOUR_NS },
	  .help = "a gang that was bound in part is deleted when the rest has no place by then" },
	{ "gpu_resource", STRATA_TEXT, OFFSET(gpu_resource), .text = { "nvidia.com/gpu" },
	  .value = "NAME", .help = "the resource that is a GPU" },
	{ "listen", STRATA_TEXT, OFFSET(listen), .value = "ADDRESS:PORT",
	  .help = "for /healthz, /readyz and /metrics; nowhere when left out" },
	{ "lease_namespace", STRATA_TEXT, OFFSET(lease_namespace), .value = "NAME",
	  .help = "where the Lease and the usage are; the own namespace when left out" },
	{ "lease_name", STRATA_TEXT, OFFSET(lease_name), .text = { "strata-scheduler" },
	  .value = "NAME", .help = "of the Lease by which several schedulers agree who leads" },
	{ "lease", STRATA_DURATION, OFFSET(lease_ns),
	  .integer = { 15 * STRATA_SECOND_NS, STRATA_SECOND_NS, STRATA_HOUR_NS },
	  .help = "how long it is good for without being renewed" },
	{ "identity", STRATA_TEXT, OFFSET(identity), .text = { .length_max = 120 }, .value = "NAME",
	  .help = "who holds the Lease; host and a random number when left out" },
	{ "connections", STRATA_INT, OFFSET(connections), .integer = { 8, 1, 64 }, .value = "N",
	  .help = "requests to the API server at a time" },
	{ 0 }
};
static const struct strata_schema schema = { "kubernetes scheduler", NULL,
					     sizeof(struct kubernetes_scheduler_options), rows };

const struct cli_command cli_kubernetes_scheduler = {
	.name = "kubernetes scheduler",
	.summary = "schedule the pods of a Kubernetes cluster that ask for it",
	.about = "Pods with schedulerName: strata wait in one queue: fair share by namespace and "
		 "service account,\n"
		 "priority classes, backfill, preemption. Annotations say what Kubernetes has no "
		 "words for:\n"
		 "strata.io/gang and strata.io/gang-size (start together or not at all), "
		 "strata.io/time-limit,\n"
		 "strata.io/preemptible. Everything it knows is in the API server; several "
		 "replicas agree by a Lease.\n"
		 "Why a pod waits stands in its condition PodScheduled and in an event.",
	.examples =
		"  strata kubernetes scheduler --kubeconfig ~/.kube/config\n"
		"  strata kubernetes scheduler --listen 0.0.0.0:10260 --weights team-a=2,team-b=1",
	.options = &schema,
	.run = kubernetes_scheduler_run,
};
