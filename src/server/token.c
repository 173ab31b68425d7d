/* Tokens: see token.h. */
#include "server/token.h"

#include <strata/text.h>

#include <errno.h>
#include <pwd.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "strata_"
#define KEEP_USE_NS STRATA_HOUR_NS

struct token_table {
	pthread_rwlock_t lock; /* of the map: HTTP threads read it */
	struct strata_memory memory;
	struct map_text by_hash;
	struct token *first; /* newest first; the decider's */
	int64_t next_id;
	atomic_bool used; /* since token_keep_uses looked */
};

int token_table_new(struct token_table **ret_table, struct strata_error *err)
{
	struct token_table *table = calloc(1, sizeof(*table));

	if (!table)
		return strata_fail_memory(err);
	pthread_rwlock_init(&table->lock, NULL);
	map_text_init(&table->by_hash, &table->memory);
	table->next_id = 1;
	*ret_table = table;
	return 0;
}

void token_table_free(struct token_table *table)
{
	if (!table)
		return;
	while (table->first) {
		struct token *token = table->first;

		table->first = token->next;
		free(token);
	}
	map_text_fini(&table->by_hash);
	pthread_rwlock_destroy(&table->lock);
	free(table);
}

static void find_user(struct token *token)
{
	struct passwd entry, *found = NULL;
	char text[4096];

	if (getpwnam_r(token->user, &entry, text, sizeof(text), &found) || !found)
		return;
	token->uid = found->pw_uid;
	token->gid = found->pw_gid;
	token->known = true;
}

/* One block with its texts. NULL: out of memory. */
static struct token *copy_token(const struct token *like, const char *id, const char *hash)
{
	size_t id_bytes = strlen(id) + 1, hash_bytes = strlen(hash) + 1;
	size_t user_bytes = strlen(like->user) + 1;
	size_t comment_bytes = like->comment ? strlen(like->comment) + 1 : 0;
	struct token *token =
		calloc(1, sizeof(*token) + id_bytes + hash_bytes + user_bytes + comment_bytes);

	if (!token)
		return NULL;
	char *to = (char *)(token + 1);

	token->id = memcpy(to, id, id_bytes);
	token->hash = memcpy(to + id_bytes, hash, hash_bytes);
	token->user = memcpy(to + id_bytes + hash_bytes, like->user, user_bytes);
	if (like->comment)
		token->comment = memcpy(to + id_bytes + hash_bytes + user_bytes, like->comment,
					comment_bytes);
	token->role = like->role;
	token->created_ns = like->created_ns;
	token->expires_ns = like->expires_ns;
	find_user(token);
	return token;
}

static int add_token(struct token_table *table, struct token *token, struct strata_error *err)
{
	pthread_rwlock_wrlock(&table->lock);
	int rc = map_text_put(&table->by_hash, token->hash, strlen(token->hash), token, NULL);

	pthread_rwlock_unlock(&table->lock);
	if (rc) {
		free(token);
		return strata_fail_memory(err);
	}
	token->next = table->first;
	table->first = token;
	return 0;
}

static void put_token(struct server *server, struct token *token, int64_t revoked_ns)
{
	int64_t used_ns = atomic_load(&token->used_ns);
	struct store_token row = { .id = token->id,
				   .hash = token->hash,
				   .user = token->user,
				   .role = role_name(token->role),
				   .created_ns = token->created_ns,
				   .expires_ns = token->expires_ns,
				   .revoked_ns = revoked_ns,
				   .used_ns = used_ns,
				   .comment = token->comment };

	token->kept_ns = used_ns;
	batch_put(server, STORE_PUT(&row));
}

static void drop_token(struct token_table *table, const struct token *gone)
{
	struct token **at = &table->first, *token;

	while (*at != gone)
		at = &(*at)->next;
	token = *at;
	pthread_rwlock_wrlock(&table->lock);
	map_text_remove(&table->by_hash, token->hash, strlen(token->hash));
	pthread_rwlock_unlock(&table->lock);
	*at = token->next;
	free(token);
}

static int recover_one(void *context, const void *row_any, struct strata_error *err)
{
	struct server *server = context;
	const struct store_token *row = row_any;
	struct token like = { .user = row->user,
			      .comment = row->comment,
			      .role = role_find(row->role),
			      .created_ns = row->created_ns,
			      .expires_ns = row->expires_ns };
	int64_t number;

	if (strata_int_parse(row->id, STRATA_TEXT_NUL, 1, INT64_MAX - 1, &number, NULL) == 0 &&
	    number >= server->tokens->next_id)
		server->tokens->next_id = number + 1; /* numbers are not used twice */
	/* a server that stands by reads them again and again */
	const struct token *known =
		map_text_get(&server->tokens->by_hash, row->hash, strlen(row->hash));

	if (row->revoked_ns && known)
		drop_token(server->tokens, known);
	if (row->revoked_ns || known)
		return 0;
	struct token *token = copy_token(&like, row->id, row->hash);

	if (!token)
		return strata_fail_memory(err);
	atomic_store(&token->used_ns, row->used_ns);
	token->kept_ns = row->used_ns;
	return add_token(server->tokens, token, err);
}

int token_recover(struct server *server, struct strata_error *err)
{
	return store_load(server->store, STORE_TOKEN, NULL, recover_one, server, err);
}

int token_make(struct server *server, const struct token *like, char ret_text[TOKEN_TEXT_BYTES],
	       const struct token **ret_token, struct strata_error *err)
{
	unsigned char secret[32];
	char hash[STORE_HASH_BYTES], id[24];
	int rc = env_random(server->env, secret, sizeof(secret), err);

	if (rc)
		return rc;
	strcpy(ret_text, PREFIX);
	sodium_bin2base64(ret_text + strlen(PREFIX), TOKEN_TEXT_BYTES - strlen(PREFIX), secret,
			  sizeof(secret), sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	sodium_memzero(secret, sizeof(secret));
	store_blob_hash(ret_text, strlen(ret_text), hash);
	snprintf(id, sizeof(id), "%lld", (long long)server->tokens->next_id);
	struct token *token = copy_token(like, id, hash);

	if (!token)
		return strata_fail_memory(err);
	rc = token->known ? 0
			  : strata_fail_at(err, -ENOENT, "user", "this machine has no user %.60s",
					   like->user);
	if (rc == 0 && geteuid() != 0 && token->uid != geteuid())
		rc = strata_fail_at(err, -EPERM, "user",
				    "the service does not run as root, so it serves its own user "
				    "only, not %.60s",
				    like->user);
	if (rc) {
		free(token);
		return rc;
	}
	rc = add_token(server->tokens, token, err);
	if (rc)
		return rc;
	server->tokens->next_id++;
	put_token(server, token, 0);
	*ret_token = token;
	return 0;
}

void token_revoke(struct server *server, const struct token *gone)
{
	put_token(server, (struct token *)gone, server_now_ns(server)); /* which is the decider's */
	drop_token(server->tokens, gone);
}

const struct token *token_first(const struct server *server)
{
	return server->tokens->first;
}

const struct token *token_at(const struct server *server, const char *id)
{
	const struct token *token = server->tokens->first;

	while (token && strcmp(token->id, id) != 0)
		token = token->next;
	return token;
}

void token_keep_uses(struct server *server)
{
	struct token_table *table = server->tokens;

	if (!atomic_exchange(&table->used, false))
		return;
	for (struct token *token = table->first; token; token = token->next)
		if (atomic_load(&token->used_ns) >= token->kept_ns + KEEP_USE_NS)
			put_token(server, token, 0);
}

/* The table is asked for the hash of the text, which says nothing about texts that are nearly right. */
bool token_identify(struct server *server, const char *text, struct identity *ret_who)
{
	struct token_table *table = server->tokens;
	int64_t now_ns = server_now_ns(server);
	char hash[STORE_HASH_BYTES];
	bool good;

	if (strncmp(text, PREFIX, strlen(PREFIX)) != 0 || strlen(text) != TOKEN_TEXT_BYTES - 1)
		return false;
	store_blob_hash(text, strlen(text), hash);
	pthread_rwlock_rdlock(&table->lock);
	struct token *token = map_text_get(&table->by_hash, hash, strlen(hash));

	good = token && token->known && (token->expires_ns == 0 || now_ns < token->expires_ns);
	if (good) {
		snprintf(ret_who->user, sizeof(ret_who->user), "%s", token->user);
		ret_who->uid = token->uid;
		ret_who->gid = token->gid;
		ret_who->role = token->role;
		atomic_store(&token->used_ns, now_ns);
		atomic_store(&table->used, true);
	}
	pthread_rwlock_unlock(&table->lock);
	return good;
}
