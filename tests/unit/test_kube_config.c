/* Where an API server is: kubeconfig files, and what a pod finds. */
#include "test.h"

#include "kubernetes/kube_config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct strata_memory memory;
static struct strata_error err;

static const char usual[] =
	"apiVersion: v1\nkind: Config\ncurrent-context: one\n"
	"clusters:\n"
	"- name: c1\n  cluster: {server: 'https://k8s.example:6443/', certificate-authority-data: "
	"Y2E=}\n"
	"- name: c2\n  cluster: {server: 'http://127.0.0.1:8001', certificate-authority: "
	"pki/ca.crt}\n"
	"- name: bare\n  cluster: {server: 'http://k8s.example:8080'}\n"
	"- name: open\n  cluster: {server: 'https://k8s.example', insecure-skip-tls-verify: true}\n"
	"contexts:\n"
	"- name: one\n  context: {cluster: c1, user: u1, namespace: ml}\n"
	"- name: two\n  context: {cluster: c2, user: u2}\n"
	"- name: bare\n  context: {cluster: bare, user: u1}\n"
	"- name: open\n  context: {cluster: open, user: u1}\n"
	"- name: runs\n  context: {cluster: c1, user: u3}\n"
	"- name: half\n  context: {cluster: c1, user: u4}\n"
	"- name: nobody\n  context: {cluster: c1, user: none}\n"
	"users:\n"
	"- name: u1\n  user: {token: abc}\n"
	"- name: u2\n  user: {client-certificate: /c.crt, client-key-data: a2V5, token: old, "
	"tokenFile: t}\n"
	"- name: u3\n  user: {exec: {command: aws}}\n"
	"- name: u4\n  user: {client-certificate: /c.crt}\n";

static int read_usual(const char *context, bool insecure_ok, struct strata_arena *arena,
		      struct kube_config *config)
{
	const struct kube_config_from from = { .context = context, .insecure_ok = insecure_ok };

	err = (struct strata_error){ 0 };
	return kube_config_read(usual, strlen(usual), &from, "/etc/kube", arena, config, &err);
}

TEST(contexts_name_a_cluster_and_a_user)
{
	struct strata_arena arena;
	struct kube_config config;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(read_usual(NULL, false, &arena, &config));
	CHECK_TEXT(config.server, "https://k8s.example:6443");
	CHECK_TEXT(config.space, "ml");
	CHECK_TEXT(config.token, "abc");
	CHECK_BYTES(config.authority.bytes, "ca", 3);
	CHECK_INT(config.authority.count, 2);
	CHECK_OK(read_usual("two", false, &arena, &config));
	CHECK_TEXT(config.server, "http://127.0.0.1:8001");
	CHECK_TEXT(config.space, "default");
	CHECK_TEXT(config.authority.file, "/etc/kube/pki/ca.crt");
	CHECK_TEXT(config.certificate.file, "/c.crt");
	CHECK_TEXT(config.key.bytes, "key");
	CHECK_TEXT(config.token_file, "/etc/kube/t");
	CHECK(!config.token); /* the file is kept up to date, the other is not */
	strata_arena_fini(&arena);
}

TEST(what_would_be_unsafe_or_cannot_be_done_is_refused)
{
	struct strata_arena arena;
	struct kube_config config = { .server = "untouched" };

	strata_arena_init(&arena, &memory, 0);
	CHECK_ERROR(read_usual("bare", false, &arena, &config), -ENOTSUP, "https:// only");
	CHECK_ERROR(read_usual("open", false, &arena, &config), -ENOTSUP, "anybody who answers");
	CHECK_ERROR(read_usual("runs", false, &arena, &config), -ENOTSUP, "kubectl create token");
	CHECK_ERROR(read_usual("half", false, &arena, &config), -EBADMSG, "one of");
	CHECK_ERROR(read_usual("nobody", false, &arena, &config), -ENOENT, "no user none");
	CHECK_ERROR(read_usual("three", false, &arena, &config), -ENOENT, "no context three");
	CHECK_TEXT(config.server, "untouched");
	CHECK_OK(read_usual("open", true, &arena, &config));
	CHECK(config.insecure);
	strata_arena_fini(&arena);
}

static void write_file(const char *dir, const char *name, const char *text)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *file = fopen(path, "w");

	CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

TEST(a_pod_finds_its_cluster)
{
	const char *dir = test_temp_dir();
	const struct kube_config_from from = { .account_dir = dir };
	struct strata_arena arena;
	struct kube_config config;

	strata_arena_init(&arena, &memory, 0);
	write_file(dir, "namespace", "batch\n");
	setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
	setenv("KUBERNETES_SERVICE_PORT", "443", 1);
	CHECK_OK(kube_config_load(&from, env_system(), &arena, &config, &err));
	CHECK_TEXT(config.server, "https://[fd00::1]:443");
	CHECK_TEXT(config.space, "batch");
	CHECK(strstr(config.token_file, "/token") && strstr(config.authority.file, "/ca.crt"));
	unsetenv("KUBERNETES_SERVICE_HOST");
	unsetenv("KUBECONFIG");
	CHECK_ERROR(kube_config_load(&from, env_system(), &arena, &config, &err), -ENOENT,
		    "no Kubernetes cluster is named");
	strata_arena_fini(&arena);
}

TEST(a_file_is_named_in_what_is_wrong_with_it)
{
	const char *dir = test_temp_dir();
	struct strata_arena arena;
	struct kube_config config;
	char path[512];

	strata_arena_init(&arena, &memory, 0);
	snprintf(path, sizeof(path), "%s/config", dir);
	const struct kube_config_from from = { .path = path };

	write_file(dir, "config", usual);
	CHECK_OK(kube_config_load(&from, env_system(), &arena, &config, &err));
	CHECK_TEXT(config.space, "ml");
	write_file(dir, "config", "a: [\n");
	CHECK_ERROR(kube_config_load(&from, env_system(), &arena, &config, &err), -EBADMSG,
		    "/config: line");
	strata_arena_fini(&arena);
}

static int every(struct strata_memory *own, void *context, struct strata_error *error)
{
	const struct kube_config_from from = { .context = "two" };
	struct strata_arena arena;
	struct kube_config config;

	(void)context;
	strata_arena_init(&arena, own, 0);
	int rc = kube_config_read(usual, strlen(usual), &from, "/etc/kube", &arena, &config, error);

	if (rc == 0) {
		test_result_text(config.server);
		test_result_text(config.token_file);
	}
	strata_arena_fini(&arena);
	return rc;
}

TEST(every_allocation_may_fail)
{
	test_every_allocation(every, NULL);
}
