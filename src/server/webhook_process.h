/*
 * The process that sends messages to webhooks (src/webhook), and the thread that talks with it. It
 * is started with the first message and ends when there has been none for a while; when it ends
 * early, the messages that it had have failed. Messages and what became of them are handed over
 * under a lock.
 */
#ifndef SERVER_WEBHOOK_PROCESS_H
#define SERVER_WEBHOOK_PROCESS_H

#include <strata/error.h>

#include <stdbool.h>

struct inbox;

struct webhook_process_conf {
	const char *program;   /* strata-webhooks */
	const char *addresses; /* that an operator allows; NULL: none */
	struct inbox *inbox;   /* woken when something became of a message */
};

/* What became of a message. */
struct webhook_result {
	struct webhook_result *next;
	int status;  /* of HTTP; 0: there was no answer */
	char *error; /* NULL: it arrived */
	char id[];
};

struct webhook_process;
/* The texts of conf are copied. */
int webhook_process_start(const struct webhook_process_conf *conf,
			  struct webhook_process **ret_process, struct strata_error *err);
/* What is under way is given up. NULL is nothing. */
void webhook_process_stop(struct webhook_process *process);
/* Sends it, some time soon: a line of JSON without its end, malloc's, which is taken over.
 * False: no memory. */
bool webhook_process_put(struct webhook_process *process, const char *id, char *line);
/* What has become of messages since the last call; free each with webhook_result_free. */
struct webhook_result *webhook_process_take(struct webhook_process *process);
void webhook_result_free(struct webhook_result *result);

#endif
