/*
 * kubeconfig files and what pods find. A kubeconfig has lists of clusters, users and contexts by
 * name; a context names one of each. What would run a program for credentials (exec,
 * auth-provider) is refused with what to do instead: a service has nobody to sign in.
 */
#include "kubernetes/kube_config.h"

#include "kubernetes/kube_base64.h"
#include "kubernetes/kube_yaml.h"

#include <strata/limits.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

struct reader {
	const struct kube_config_from *from;
	const char *dir;
	struct strata_arena *arena;
	struct kube_config config;
	struct strata_error *err;
};

/* ---- values ---- */

/* A text member, in the arena; NULL when there is none. */
static int take_text(struct reader *reader, const json_t *from, const char *name,
		     const char **ret_text)
{
	const json_t *value = json_object_get(from, name);

	*ret_text = NULL;
	if (!value || json_is_null(value) || (json_is_string(value) && !json_string_length(value)))
		return 0;
	if (!json_is_string(value))
		return strata_fail(reader->err, -EBADMSG, "%s is not a text", name);
	*ret_text = strata_arena_text(reader->arena, json_string_value(value),
				      json_string_length(value));
	return *ret_text ? 0 : strata_fail_memory(reader->err);
}

static int take_path(struct reader *reader, const json_t *from, const char *name,
		     const char **ret_path)
{
	const char *text;
	int rc = take_text(reader, from, name, &text);

	*ret_path = text;
	if (rc == 0 && text && text[0] != '/') {
		*ret_path = strata_arena_printf(reader->arena, "%s/%s", reader->dir, text);
		rc = *ret_path ? 0 : strata_fail_memory(reader->err);
	}
	return rc;
}

/* "certificate-authority-data" and "certificate-authority": the first counts. */
static int take_pem(struct reader *reader, const json_t *from, const char *name,
		    struct kube_pem *ret_pem)
{
	const char *member = strata_arena_printf(reader->arena, "%s-data", name);
	const char *text;
	int rc = member ? take_text(reader, from, member, &text) : strata_fail_memory(reader->err);

	if (rc || !text)
		return rc ? rc : take_path(reader, from, name, &ret_pem->file);
	char *bytes = strata_arena_get(reader->arena, strlen(text) + 1);

	if (!bytes)
		return strata_fail_memory(reader->err);
	if (!kube_base64_read(text, strlen(text), bytes, &ret_pem->count) || !ret_pem->count)
		return strata_fail(reader->err, -EBADMSG, "%s is not base64", member);
	ret_pem->bytes = bytes;
	return 0;
}

static int take_bool(struct reader *reader, const json_t *from, const char *name, bool *ret_value)
{
	const char *text;
	int rc = take_text(reader, from, name, &text);

	if (rc || !text)
		return rc;
	if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
		return strata_fail(reader->err, -EBADMSG, "%s is \"%.40s\"; expected true or false",
				   name, text);
	*ret_value = strcmp(text, "true") == 0;
	return 0;
}

/* ---- its three lists ---- */

/* The entry of this name in the list "contexts", and in it "context". */
static int find_entry(struct reader *reader, const json_t *root, const char *kind, const char *name,
		      const json_t **ret_entry)
{
	const char *list = strata_arena_printf(reader->arena, "%ss", kind);
	const json_t *entries = list ? json_object_get(root, list) : NULL;

	if (!list)
		return strata_fail_memory(reader->err);
	for (size_t i = 0; i < json_array_size(entries); i++) {
		const json_t *entry = json_array_get(entries, i);
		const char *own = json_string_value(json_object_get(entry, "name"));

		if (!own || strcmp(own, name) != 0)
			continue;
		*ret_entry = json_object_get(entry, kind);
		return json_is_object(*ret_entry)
			       ? 0
			       : strata_fail(reader->err, -EBADMSG, "the %s %.100s is empty", kind,
					     name);
	}
	return strata_fail(reader->err, -ENOENT, "there is no %s %.100s in it", kind, name);
}

static bool is_loopback(const char *host)
{
	static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t length = strlen(names[i]);

		if (strncmp(host, names[i], length) == 0 &&
		    (!host[length] || host[length] == ':' || host[length] == '/'))
			return true;
	}
	return false;
}

/* Secrets go to it, so it is asked by TLS, or is on this machine. */
static int check_server(struct reader *reader)
{
	struct kube_config *config = &reader->config;
	const char *server = config->server;
	size_t length = server ? strlen(server) : 0;
	bool tls = length > 8 && strncmp(server, "https://", 8) == 0;
	bool plain = length > 7 && strncmp(server, "http://", 7) == 0;

	if (!tls && !plain)
		return strata_fail(reader->err, -EBADMSG,
				   "server is \"%.100s\"; expected https://HOST[:PORT]",
				   server ? server : "");
	for (const char *at = server; *at; at++)
		if ((unsigned char)*at <= ' ' || strchr("?#@", *at))
			return strata_fail(reader->err, -EBADMSG,
					   "server is \"%.100s\"; expected https://HOST[:PORT]",
					   server);
	if (plain && !is_loopback(server + 7))
		return strata_fail(reader->err, -ENOTSUP,
				   "server is %.100s: secrets are sent by https:// only, but for a "
				   "server on this machine",
				   server);
	while (server[length - 1] == '/')
		length--;
	config->server = strata_arena_text(reader->arena, server, length);
	return config->server ? 0 : strata_fail_memory(reader->err);
}

static int take_cluster(struct reader *reader, const json_t *cluster)
{
	struct kube_config *config = &reader->config;
	int rc = take_text(reader, cluster, "server", &config->server);

	if (rc == 0)
		rc = check_server(reader);
	if (rc == 0)
		rc = take_pem(reader, cluster, "certificate-authority", &config->authority);
	if (rc == 0 && json_object_get(cluster, "tls-server-name"))
		rc = strata_fail(reader->err, -ENOTSUP,
				 "tls-server-name is not done here; name the server as its "
				 "certificate does");
	if (rc == 0)
		rc = take_text(reader, cluster, "proxy-url", &config->proxy);
	if (rc == 0)
		rc = take_bool(reader, cluster, "insecure-skip-tls-verify", &config->insecure);
	if (rc == 0 && config->insecure && !reader->from->insecure_ok)
		rc = strata_fail(reader->err, -ENOTSUP,
				 "insecure-skip-tls-verify would give the token to anybody who "
				 "answers; name the server's certificate-authority instead");
	return rc;
}

static int take_user(struct reader *reader, const json_t *user)
{
	static const char *const refused[][2] = {
		{ "exec", "runs a program for its token" },
		{ "auth-provider", "runs a program for its token" },
		{ "username", "signs in by a password, which Kubernetes does not take any more" },
		{ "as", "acts as somebody else" },
	};
	struct kube_config *config = &reader->config;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (json_object_get(user, refused[i][0]))
			return strata_fail(reader->err, -ENOTSUP,
					   "its user has \"%s\", which %s; give it a token "
					   "(kubectl create token) or a client certificate",
					   refused[i][0], refused[i][1]);
	int rc = take_pem(reader, user, "client-certificate", &config->certificate);

	if (rc == 0)
		rc = take_pem(reader, user, "client-key", &config->key);
	if (rc == 0)
		rc = take_text(reader, user, "token", &config->token);
	if (rc == 0)
		rc = take_path(reader, user, "tokenFile", &config->token_file);
	if (rc == 0 && config->token_file)
		config->token = NULL; /* the file is what is kept up to date */
	bool certificate = config->certificate.file || config->certificate.bytes;

	if (rc == 0 && certificate != (config->key.file || config->key.bytes))
		rc = strata_fail(reader->err, -EBADMSG,
				 "its user has one of client-certificate and client-key only");
	return rc;
}

static int read_root(struct reader *reader, const json_t *root)
{
	const json_t *context = NULL, *cluster = NULL, *user = NULL;
	const char *name = reader->from->context, *of_cluster = NULL, *of_user = NULL;
	int rc = name ? 0 : take_text(reader, root, "current-context", &name);

	if (rc == 0 && !name)
		rc = strata_fail(reader->err, -ENOENT,
				 "it has no current-context; name one of its contexts");
	if (rc == 0)
		rc = find_entry(reader, root, "context", name, &context);
	if (rc == 0)
		rc = take_text(reader, context, "cluster", &of_cluster);
	if (rc == 0)
		rc = take_text(reader, context, "user", &of_user);
	if (rc == 0)
		rc = take_text(reader, context, "namespace", &reader->config.space);
	if (rc == 0)
		rc = find_entry(reader, root, "cluster", of_cluster ? of_cluster : "", &cluster);
	if (rc == 0)
		rc = take_cluster(reader, cluster);
	if (rc == 0 && of_user)
		rc = find_entry(reader, root, "user", of_user, &user);
	if (rc == 0 && user)
		rc = take_user(reader, user);
	if (rc == 0 && !reader->config.space)
		reader->config.space = "default";
	return rc;
}

int kube_config_read(const char *text, size_t length, const struct kube_config_from *from,
		     const char *dir, struct strata_arena *arena, struct kube_config *ret_config,
		     struct strata_error *err)
{
	struct reader reader = { .from = from, .dir = dir, .arena = arena, .err = err };
	json_t *root = NULL;
	int rc = kube_yaml_read(text, length, &root, err);

	if (rc == 0 && !json_is_object(root))
		rc = strata_fail(err, -EBADMSG, "it is not a mapping");
	if (rc == 0)
		rc = read_root(&reader, root);
	json_decref(root);
	if (rc == 0)
		*ret_config = reader.config;
	return rc;
}

/* ---- files ---- */

static int load_file(const struct kube_config_from *from, const char *path, const struct env *env,
		     struct strata_arena *arena, struct kube_config *ret_config,
		     struct strata_error *err)
{
	struct strata_error own = { 0 };
	const char *slash = strrchr(path, '/');
	const char *dir = slash ? strata_arena_text(arena, path, (size_t)(slash - path)) : ".";
	size_t length;
	char *text;

	if (!dir)
		return strata_fail_memory(err);
	int rc = env_read_file(env, AT_FDCWD, path, STRATA_KUBE_CONFIG_BYTES_MAX, arena, &text,
			       &length, err);

	if (rc)
		return rc;
	rc = kube_config_read(text, length, from, dir, arena, ret_config, &own);
	explicit_bzero(text, length);
	return rc ? strata_fail(err, rc, "%.150s: %s", path, own.text) : 0;
}

/* What every pod has: a token that is renewed in its file, the authority of the cluster, and
 * where it is. */
static int load_account(const struct kube_config_from *from, const char *host,
			const struct env *env, struct strata_arena *arena,
			struct kube_config *ret_config, struct strata_error *err)
{
	const char *dir = from->account_dir ? from->account_dir : ACCOUNT_DIR;
	const char *port = getenv("KUBERNETES_SERVICE_PORT");
	bool is_six = strchr(host, ':') != NULL;
	struct kube_config config = { .space = "default" };
	const char *path = strata_arena_printf(arena, "%s/namespace", dir);
	size_t length = 0;
	char *space;

	config.server = strata_arena_printf(arena, "https://%s%s%s:%s", is_six ? "[" : "", host,
					    is_six ? "]" : "", port && *port ? port : "443");
	config.token_file = strata_arena_printf(arena, "%s/token", dir);
	config.authority.file = strata_arena_printf(arena, "%s/ca.crt", dir);
	if (!path || !config.server || !config.token_file || !config.authority.file)
		return strata_fail_memory(err);
	int rc = env_read_file(env, AT_FDCWD, path, STRATA_NAME_BYTES_MAX, arena, &space, &length,
			       err);

	while (rc == 0 && length && (unsigned char)space[length - 1] <= ' ')
		space[--length] = '\0';
	if (rc && rc != -ENOENT)
		return rc;
	if (length)
		config.space = space;
	*ret_config = config;
	return 0;
}

int kube_config_load(const struct kube_config_from *from, const struct env *env,
		     struct strata_arena *arena, struct kube_config *ret_config,
		     struct strata_error *err)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST"), *path = from->path;

	if (!path && host && *host)
		return load_account(from, host, env, arena, ret_config, err);
	if (!path)
		path = getenv("KUBECONFIG");
	if (!path || !*path)
		return strata_fail(err, -ENOENT,
				   "no Kubernetes cluster is named: this is no pod, and there is "
				   "neither a kubeconfig option nor KUBECONFIG");
	if (strchr(path, ':') && !from->path)
		return strata_fail(err, -ENOTSUP,
				   "KUBECONFIG names several files (%.150s); name one", path);
	return load_file(from, path, env, arena, ret_config, err);
}
