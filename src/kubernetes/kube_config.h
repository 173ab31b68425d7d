/*
 * Where a Kubernetes API server is and how it is asked: from a kubeconfig file, as kubectl has it,
 * or from what a pod finds in its file system. What a config says by file is read again by the
 * client, since tokens and certificates change while a service runs.
 */
#ifndef KUBERNETES_KUBE_CONFIG_H
#define KUBERNETES_KUBE_CONFIG_H

#include "core/env.h"

#include <strata/error.h>
#include <strata/memory.h>

#include <stdbool.h>

/* Something in PEM: a file, or its bytes. Both NULL: there is none. */
struct kube_pem {
	const char *file;
	const char *bytes; /* NUL behind them */
	size_t count;
};

/* Texts live in the arena it was read with. */
struct kube_config {
	const char *server; /* "https://host:port[/path]", without a slash at its end */
	const char *space;  /* the namespace; never NULL */
	const char *proxy;  /* URL; NULL: none */
	struct kube_pem authority, certificate, key;
	const char *token;      /* NULL: none … */
	const char *token_file; /* … or where it is */
	bool insecure;          /* the server's certificate is not looked at */
};

struct kube_config_from {
	/* a kubeconfig; NULL: what a pod finds, or else the file that KUBECONFIG names */
	const char *path;
	const char *context; /* of the kubeconfig; NULL: its current one */
	bool insecure_ok;    /* insecure-skip-tls-verify is taken; else refused */
	/* where a pod finds its token; NULL: /var/run/secrets/kubernetes.io/serviceaccount */
	const char *account_dir;
};

/* -ENOENT when there is no such file or context, -EBADMSG when it is none, -ENOTSUP when it asks
 * for what is not done here: programs that are run for a token, names and passwords. */
int kube_config_load(const struct kube_config_from *from, const struct env *env,
		     struct strata_arena *arena, struct kube_config *ret_config,
		     struct strata_error *err);

/* Pure: a kubeconfig's text; relative paths in it are of `dir`. */
int kube_config_read(const char *text, size_t length, const struct kube_config_from *from,
		     const char *dir, struct strata_arena *arena, struct kube_config *ret_config,
		     struct strata_error *err);

#endif
