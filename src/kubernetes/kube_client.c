/* What a client keeps: its connection, and the token as its file had it. A token file is read again
 * after a minute, as Kubernetes asks of its clients, and when the token was refused. */
#include "kubernetes/kube_transfer.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "kubernetes/kube_client_int.h"

#define TOKEN_AGE_NS STRATA_MINUTE_NS

int kube_client_open(const struct kube_config *config, const struct env *env,
		     struct strata_memory *memory, struct kube_client **ret_client,
		     struct strata_error *err)
{
	struct kube_client *client = strata_memory_get(memory, sizeof(*client));

	if (!client)
		return strata_fail_memory(err);
	*client = (struct kube_client){
		.config = config, .env = env, .memory = memory, .curl = curl_easy_init()
	};
	if (!client->curl) {
		strata_memory_put(memory, client, sizeof(*client));
		return strata_fail_memory(err);
	}
	*ret_client = client;
	return 0;
}

static void drop_token(struct kube_client *client)
{
	if (client->token)
		explicit_bzero(client->token, strlen(client->token));
	free(client->token);
	client->token = NULL;
}

void kube_client_close(struct kube_client *client)
{
	if (!client)
		return;
	curl_easy_cleanup(client->curl);
	drop_token(client);
	strata_memory_put(client->memory, client, sizeof(*client));
}

void kube_client_stop(struct kube_client *client)
{
	if (client)
		atomic_store(&client->stops, true);
}

struct strata_memory *kube_client_memory(const struct kube_client *client)
{
	return client->memory;
}

/* ---- the token ---- */

/* It goes into a header: one line of what can be seen. */
static int check_token(const struct kube_client *client, const char *token,
		       struct strata_error *err)
{
	bool good = *token;

	for (const char *at = token; *at; at++)
		good = good && *at > ' ' && *at < 127;
	return good ? 0
		    : strata_fail(err, -EACCES, "%.200s has no token in it",
				  client->config->token_file ? client->config->token_file
							     : "the kubeconfig");
}

static int read_token_file(struct kube_client *client, struct strata_error *err)
{
	struct strata_arena arena;
	char *text = NULL, *token = NULL;
	size_t length = 0;

	strata_arena_init(&arena, client->memory, 0);
	int rc = env_read_file(client->env, AT_FDCWD, client->config->token_file,
			       STRATA_KUBE_TOKEN_BYTES_MAX, &arena, &text, &length, err);

	while (rc == 0 && length && (unsigned char)text[length - 1] <= ' ')
		text[--length] = '\0';
	if (rc == 0)
		rc = check_token(client, text, err);
	if (rc == 0 && !(token = strdup(text)))
		rc = strata_fail_memory(err);
	if (text)
		explicit_bzero(text, length);
	strata_arena_fini(&arena);
	if (rc)
		return rc;
	drop_token(client);
	client->token = token;
	client->token_read_ns = env_now_ns(client->env, ENV_MONOTONIC);
	return 0;
}

int kube_client_token(struct kube_client *client, const char **ret_token, struct strata_error *err)
{
	const struct kube_config *config = client->config;
	int64_t now_ns = env_now_ns(client->env, ENV_MONOTONIC);
	int rc = 0;

	*ret_token = config->token;
	if (!config->token_file)
		return config->token ? check_token(client, config->token, err) : 0;
	if (!client->token || now_ns - client->token_read_ns > TOKEN_AGE_NS)
		rc = read_token_file(client, err);
	if (rc && client->token) /* the file is being replaced: the one known may do */
		rc = 0;
	*ret_token = client->token;
	return rc;
}

bool kube_client_renew(struct kube_client *client)
{
	char *old = client->token ? strdup(client->token) : NULL;
	bool other;

	if (!client->config->token_file || read_token_file(client, NULL)) {
		free(old);
		return false;
	}
	other = !old || strcmp(old, client->token) != 0;
	if (old)
		explicit_bzero(old, strlen(old));
	free(old);
	return other;
}

/* ---- a call ---- */

static int call_once(struct kube_client *client, const struct kube_request *request,
		     struct kube_answer *answer, struct strata_error *err)
{
	struct kube_transfer transfer;
	int rc = kube_transfer_init(&transfer, client, client->curl, request, err);

	if (rc == 0)
		rc = kube_transfer_end(&transfer, curl_easy_perform(client->curl), answer, err);
	kube_transfer_fini(&transfer);
	return rc;
}

int kube_call(struct kube_client *client, const struct kube_request *request,
	      struct kube_answer *answer, struct strata_error *err)
{
	*answer = (struct kube_answer){ 0 };
	int rc = call_once(client, request, answer, err);

	if (rc && answer->status == 401 && kube_client_renew(client)) {
		kube_answer_fini(answer);
		*answer = (struct kube_answer){ 0 };
		rc = call_once(client, request, answer, err);
	}
	return rc;
}

void kube_answer_fini(struct kube_answer *answer)
{
	json_decref(answer->body);
	free(answer->text);
	answer->body = NULL;
	answer->text = NULL;
}
