/* Tokens: see token.h. */
#include "server/token.h"

#include "server/os_user.h"
#include "server/session.h"

#include <strata/text.h>

#include <errno.h>
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
	uint64_t round;   /* of token_recover */
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
	struct os_user user;

	if (!os_user_by_name(token->user, &user))
		return;
	token->uid = user.uid;
	token->gid = user.gid;
	token->known = true;
}

/* The text behind what `at` points to, which moves on; NULL stays NULL. */
static const char *keep_text(char **at, const char *text)
{
	const char *kept = text ? *at : NULL;

	if (text)
		*at = stpcpy(*at, text) + 1;
	return kept;
}

static size_t text_bytes(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

/* One block with its texts. NULL: out of memory. */
static struct token *copy_token(const struct token *like)
{
	struct token *token = calloc(1, sizeof(*token) + text_bytes(like->id) +
						text_bytes(like->hash) + text_bytes(like->user) +
						text_bytes(like->comment) +
						text_bytes(like->made_by));

	if (!token)
		return NULL;
	char *at = (char *)(token + 1);

	token->id = keep_text(&at, like->id);
	token->hash = keep_text(&at, like->hash);
	token->user = keep_text(&at, like->user);
	token->comment = keep_text(&at, like->comment);
	token->made_by = keep_text(&at, like->made_by);
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

static void put_token(struct decider *decider, struct token *token, int64_t revoked_ns)
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
				   .comment = token->comment,
				   .made_by = token->made_by };

	token->kept_ns = used_ns;
	batch_put(decider, STORE_PUT(&row));
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
	struct decider *decider = context;
	const struct store_token *row = row_any;
	struct token like = { .id = row->id,
			      .hash = row->hash,
			      .user = row->user,
			      .comment = row->comment,
			      .made_by = row->made_by,
			      .role = role_find(row->role),
			      .created_ns = row->created_ns,
			      .expires_ns = row->expires_ns };
	int64_t number;

	if (strata_int_parse(row->id, STRATA_TEXT_NUL, 1, INT64_MAX - 1, &number, NULL) == 0 &&
	    number >= decider->tokens->next_id)
		decider->tokens->next_id = number + 1; /* numbers are not used twice */
	if (row->revoked_ns)
		return 0;
	/* a server that stands by reads them again and again */
	struct token *token = map_text_get(&decider->tokens->by_hash, row->hash, strlen(row->hash));

	if (token) {
		token->round = decider->tokens->round;
		return 0;
	}
	token = copy_token(&like);
	if (!token)
		return strata_fail_memory(err);
	atomic_store(&token->used_ns, row->used_ns);
	token->kept_ns = row->used_ns;
	token->round = decider->tokens->round;
	return add_token(decider->tokens, token, err);
}

int token_recover(struct decider *decider, struct strata_error *err)
{
	struct token_table *table = decider->tokens;

	table->round++;
	int rc = store_load(decider->store, STORE_TOKEN, NULL, recover_one, decider, err);

	for (struct token *token = table->first, *next; rc == 0 && token; token = next) {
		next = token->next;
		if (token->round != table->round)
			drop_token(table, token); /* revoked, or deleted since */
	}
	return rc;
}

static bool has_expired(const struct token *token, int64_t now_ns)
{
	return token->expires_ns && now_ns >= token->expires_ns;
}

/* May there be one more? */
static int check_count(const struct decider *decider, const char *user, struct strata_error *err)
{
	int64_t now_ns = decider_now_ns(decider);
	size_t all = 0, own = 0;

	for (const struct token *at = decider->tokens->first; at; at = at->next) {
		all += !has_expired(at, now_ns);
		own += !has_expired(at, now_ns) && strcmp(at->user, user) == 0;
	}
	if (own >= STRATA_USER_TOKENS_MAX)
		return strata_fail(
			err, -EDQUOT,
			"%.60s has %zu tokens, and may have no more; `strata token list` "
			"shows them, `strata token revoke ID` makes room",
			user, own);
	if (all >= STRATA_TOKENS_MAX)
		return strata_fail(
			err, -EDQUOT,
			"there are %zu tokens, and may be no more; an administrator makes "
			"room with `strata token revoke ID`",
			all);
	return 0;
}

/* A new secret: as text, and its hash. */
static int make_secret(const struct decider *decider, char ret_text[TOKEN_TEXT_BYTES],
		       char ret_hash[STORE_HASH_BYTES], struct strata_error *err)
{
	unsigned char secret[32];
	int rc = env_random(decider->env, secret, sizeof(secret), err);

	if (rc)
		return rc;
	strcpy(ret_text, PREFIX);
	sodium_bin2base64(ret_text + strlen(PREFIX), TOKEN_TEXT_BYTES - strlen(PREFIX), secret,
			  sizeof(secret), sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	sodium_memzero(secret, sizeof(secret));
	store_blob_hash(ret_text, strlen(ret_text), ret_hash);
	return 0;
}

/* Is the user one that this service serves? */
static int check_user(const struct token *token, struct strata_error *err)
{
	if (!token->known)
		return strata_fail_at(err, -ENOENT, "user",
				      "there is no user '%.60s' on this machine; expected one that "
				      "`getent passwd` lists",
				      token->user);
	if (geteuid() != 0 && token->uid != geteuid())
		return strata_fail_at(err, -EPERM, "user",
				      "the service does not run as root, so it serves its own user "
				      "only, not %.60s",
				      token->user);
	return 0;
}

int token_make(struct decider *decider, const struct token *like, char ret_text[TOKEN_TEXT_BYTES],
	       const struct token **ret_token, struct strata_error *err)
{
	struct token wanted = { .user = like->user,
				.comment = like->comment,
				.made_by = like->made_by,
				.role = like->role,
				.created_ns = like->created_ns,
				.expires_ns = like->expires_ns };
	char hash[STORE_HASH_BYTES], id[24];
	int rc = check_count(decider, like->user, err);

	if (rc == 0)
		rc = make_secret(decider, ret_text, hash, err);
	if (rc)
		return rc;
	snprintf(id, sizeof(id), "%lld", (long long)decider->tokens->next_id);
	wanted.id = id;
	wanted.hash = hash;
	struct token *token = copy_token(&wanted);

	if (!token)
		return strata_fail_memory(err);
	rc = check_user(token, err);
	if (rc) {
		free(token);
		return rc;
	}
	token->round = decider->tokens->round;
	rc = add_token(decider->tokens, token, err);
	if (rc)
		return rc;
	decider->tokens->next_id++;
	put_token(decider, token, 0);
	*ret_token = token;
	return 0;
}

/* Was it made, or signed in, with the token of this id? */
static bool is_made_by(const struct token *token, const char *id)
{
	const char *parent = session_parent(token->made_by);

	parent = parent ? parent : token->made_by;
	return parent && strcmp(parent, id) == 0;
}

static const struct token *find_made_by(const struct token_table *table, const char *id)
{
	const struct token *token = table->first;

	while (token && !is_made_by(token, id))
		token = token->next;
	return token;
}

void token_revoke(struct decider *decider, const struct token *gone, const char *by)
{
	const struct token *next;
	char id[24];

	snprintf(id, sizeof(id), "%s", gone->id);
	batch_event(decider, 0, "token.revoked",
		    json_pack("{s:s,s:s,s:s}", "id", gone->id, "user", gone->user, "by", by));
	put_token(decider, (struct token *)gone,
		  decider_now_ns(decider)); /* which is the decider's */
	drop_token(decider->tokens, gone);
	while ((next = find_made_by(decider->tokens, id))) /* of the same user: they are few */
		token_revoke(decider, next, by);
}

int token_forget(struct decider *decider, size_t limit, size_t *ret_count, struct strata_error *err)
{
	int64_t now_ns = decider_now_ns(decider);

	for (struct token *token = decider->tokens->first, *next; token; token = next) {
		next = token->next;
		if (has_expired(token, now_ns))
			drop_token(decider->tokens, token);
	}
	return store_forget_tokens(decider->store, now_ns, limit, decider->epoch, ret_count, err);
}

const struct token *token_first(const struct decider *decider)
{
	return decider->tokens->first;
}

const struct token *token_at(const struct decider *decider, const char *id)
{
	const struct token *token = decider->tokens->first;

	while (token && strcmp(token->id, id) != 0)
		token = token->next;
	return token;
}

void token_keep_uses(struct decider *decider)
{
	struct token_table *table = decider->tokens;

	if (!atomic_exchange(&table->used, false))
		return;
	for (struct token *token = table->first; token; token = token->next)
		if (atomic_load(&token->used_ns) >= token->kept_ns + KEEP_USE_NS)
			put_token(decider, token, 0);
}

/* The table is asked for the hash of the text, which says nothing about texts that are nearly
 * right. */
#define CHECK_NS (10 * STRATA_SECOND_NS)

/* A user that was deleted has no rights any more, and one that was made anew under the same name is
 * another. Asked now and then. */
static bool still_stands(struct token *token, int64_t now_ns)
{
	struct token now = { .user = token->user };

	if (!token->known || atomic_load(&token->gone))
		return false;
	int64_t passed_ns = now_ns - atomic_load(&token->checked_ns);

	if (passed_ns >= 0 && passed_ns < CHECK_NS)
		return true;
	atomic_store(&token->checked_ns, now_ns);
	find_user(&now);
	if (now.known && now.uid == token->uid)
		return true;
	atomic_store(&token->gone, true);
	return false;
}

bool token_identify(struct front *front, const char *text, struct identity *ret_who)
{
	struct token_table *table = front->tokens;
	int64_t now_ns = common_now_ns(front->common);
	char hash[STORE_HASH_BYTES];
	bool good;

	if (strncmp(text, PREFIX, strlen(PREFIX)) != 0 || strlen(text) != TOKEN_TEXT_BYTES - 1)
		return false;
	store_blob_hash(text, strlen(text), hash);
	pthread_rwlock_rdlock(&table->lock);
	struct token *token = map_text_get(&table->by_hash, hash, strlen(hash));

	good = token && !has_expired(token, now_ns) && still_stands(token, now_ns);
	if (good) {
		snprintf(ret_who->user, sizeof(ret_who->user), "%s", token->user);
		ret_who->uid = token->uid;
		ret_who->gid = token->gid;
		ret_who->role = token->role;
		ret_who->expires_ns = token->expires_ns;
		ret_who->session = session_parent(token->made_by);
		ret_who->link = token->made_by && strcmp(token->made_by, SESSION_LINK) == 0;
		snprintf(ret_who->token, sizeof(ret_who->token), "%s", token->id);
		atomic_store(&token->used_ns, now_ns);
		atomic_store(&table->used, true);
	}
	pthread_rwlock_unlock(&table->lock);
	return good;
}
