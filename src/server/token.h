/*
 * Tokens: what stands for a user where the kernel does not say who calls. The text is shown once
 * and kept nowhere; its hash, with whom it stands for, what it may do and until when, is in the
 * store and here in memory.
 *
 * HTTP threads look tokens up, the decider alone changes them.
 */
#ifndef SERVER_TOKEN_H
#define SERVER_TOKEN_H

#include "server/decider.h"
#include "server/front.h"
#include "server/request.h"

enum { TOKEN_TEXT_BYTES = 7 + 43 + 1 }; /* "strata_", 32 bytes in base64url, NUL */

struct token {
	const char *id, *hash, *user; /* in the token's own block */
	const char *comment;          /* likewise; NULL: none */
	const char *made_by;          /* likewise: the token it was made with; NULL: none */
	uid_t uid;
	gid_t gid;
	bool known;                 /* the system has this user */
	atomic_bool gone;           /* it has not any more, or means somebody else by the name */
	_Atomic int64_t checked_ns; /* when the system was asked last */
	enum role role;
	int64_t created_ns, expires_ns; /* expires_ns 0: never */
	_Atomic int64_t used_ns;
	int64_t kept_ns; /* as used_ns is in the store */
	uint64_t round;  /* of token_recover that found it in the store */
	struct token *next;
};

struct token_table;
int token_table_new(struct token_table **ret_table, struct strata_error *err);
void token_table_free(struct token_table *table);

/* What the store has; again: what has changed there since. */
int token_recover(struct decider *decider, struct strata_error *err);

/* A new one, in the round's batch. The text is only here. -EDQUOT: its user, or all together, have
 * as many as there may be. */
int token_make(struct decider *decider, const struct token *like, char ret_text[TOKEN_TEXT_BYTES],
	       const struct token **ret_token, struct strata_error *err);
/* It is good no more, from now on, nor are those that were made with it. */
void token_revoke(struct decider *decider, const struct token *token, const char *by);
/* Forgets those that have expired; of the store's, and of those that were revoked, up to
 * `limit`. */
int token_forget(struct decider *decider, size_t limit, size_t *ret_count,
		 struct strata_error *err);
const struct token *token_at(const struct decider *decider, const char *id); /* NULL: none */
const struct token *token_first(const struct decider *decider);
/* Uses that the store does not know of yet go into the batch, once an hour for each. */
void token_keep_uses(struct decider *decider);

/* Who the bearer is; false: nobody, or too late. Any thread. */
bool token_identify(struct front *front, const char *text, struct identity *ret_who);

#endif
