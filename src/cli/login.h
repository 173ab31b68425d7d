/* Signing in to a server: what strata login was told. */
#ifndef CLI_LOGIN_H
#define CLI_LOGIN_H

#include "cli/service.h"

struct login_conf {
	const char *name;        /* of the context; NULL: the host's */
	const char *fingerprint; /* that the key must have; NULL: not said */
	bool pin;                /* pin the key although an authority vouches for it */
};

/* terminal_secret.c: a line from the terminal that is not shown, or from a pipe; without the line's
 * end, in the arena. `what` is what is asked for. -ENOKEY: there was none. */
int terminal_secret(struct cli *cli, const char *what, const char **ret_text);
/* Asks on the terminal; false: no, or there is no terminal to ask on (*ret_asked). */
bool terminal_agrees(const char *question, bool *ret_asked);

#endif
