/* strata kubernetes jobs: StrataJobs of a Kubernetes cluster are jobs of the service.
 * kubernetes_run.c does it, in the full program. */
#include "cli/kubernetes_options.h"

#include <strata/text.h>

#define OFFSET(field) offsetof(struct kubernetes_jobs_options, field)
static const struct strata_option rows[] = {
	{ "kubeconfig", STRATA_TEXT, OFFSET(kubeconfig), .value = "FILE",
	  .help = "how the API server is reached; when left out: as in a pod, or KUBECONFIG" },
	{ "kube_context", STRATA_TEXT, OFFSET(context), .value = "NAME",
	  .help = "of the kubeconfig; its current one when left out" },
	{ "insecure", STRATA_BOOL, OFFSET(insecure),
	  .help = "take a kubeconfig with insecure-skip-tls-verify" },
	{ "namespace", STRATA_TEXT, OFFSET(space), .value = "NAME",
	  .help = "only StrataJobs of this namespace; of all when left out" },
	{ "look", STRATA_DURATION, OFFSET(look_ns),
	  .integer = { 5 * STRATA_SECOND_NS, 100 * STRATA_MS_NS, STRATA_HOUR_NS },
	  .help = "how often a job that has not ended is looked at" },
	{ 0 }
};
static const struct strata_schema schema = { "kubernetes jobs", NULL,
					     sizeof(struct kubernetes_jobs_options), rows };

const struct cli_command cli_kubernetes_jobs = {
	.name = "kubernetes jobs",
	.summary = "make jobs of the service from the StrataJobs of a Kubernetes cluster",
	.about =
		"A StrataJob's spec is a job as docs/api.md has it; its status says what became of "
		"it, and who deletes it\n"
		"cancels the job. All of them are jobs of the user that this command is to the "
		"service: who may make\n"
		"a StrataJob may run what that user may. It can be killed at any time: the "
		"object's "
		"uid is the key of its\n"
		"submission, so nothing is submitted twice.",
	.examples = "  strata kubernetes jobs --kubeconfig ~/.kube/config\n"
		    "  strata kubernetes jobs --namespace team-a",
	.options = &schema,
	.run = kubernetes_jobs_run,
};
