/*
 * Mail: letters that tell a user of a job, handed to the machine's sendmail by a thread of their
 * own, one after the other, each as the user whom it is about. What became of each is a result as
 * that of a webhook (webhook_process.h). Letters and results are handed over under a lock.
 */
#ifndef SERVER_MAILER_H
#define SERVER_MAILER_H

#include "server/webhook_process.h"

#include <jansson.h>

struct mailer_conf {
	const char *program; /* sendmail, by its path */
	struct inbox *inbox; /* woken when something became of a letter */
};

struct mailer;
/* The text of conf is copied. */
int mailer_start(const struct mailer_conf *conf, struct mailer **ret_mailer,
		 struct strata_error *err);
/* The letter under way is given up. NULL is nothing. */
void mailer_stop(struct mailer *mailer);
/* Sends it, some time soon; the text is malloc's and taken over. False: no memory. */
bool mailer_put(struct mailer *mailer, const char *id, const char *user, char *text);
/* What has become of letters since the last call; free each with webhook_result_free. */
struct webhook_result *mailer_take(struct mailer *mailer);

/* Is it "mailto:" and an address? */
bool mailer_is_address(const char *url);
/* -EINVAL: it is no address that a letter can go to: name@host, or the name of a user here. */
int mailer_address_check(const char *address, struct strata_error *err);
/* The letter to a mailto: URL about a message of a webhook, with its headers; malloc's. NULL: no
 * memory. Pure. */
char *mailer_letter(const char *url, const char *body);

#endif
