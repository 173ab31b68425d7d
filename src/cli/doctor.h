/* What the files of strata doctor share: doctor_run.c asks the server and prints,
 * doctor_local.c looks at this machine, doctor_outside.c at its ways out. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "cli/service.h"

enum doctor_result { DOCTOR_OK, DOCTOR_WARN, DOCTOR_BAD };

struct doctor {
	struct cli *cli;
	struct server_conf serve;  /* as strata serve would have it here */
	struct client_place place; /* of the server */
	bool reached;              /* it answers */
	const char *limits;        /* of jobs, as it keeps them; NULL: it did not say */
	pid_t pid;                 /* of the server on this machine's socket; 0: not known */
	json_t *rows;
	size_t counts[DOCTOR_BAD + 1];
};

/* One more line. advice says what to do; NULL: nothing. */
void doctor_say(struct doctor *doctor, enum doctor_result result, const char *check,
		const char *advice, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* doctor_local.c: what only this machine knows. */
void doctor_store(struct doctor *doctor);
void doctor_devices(struct doctor *doctor);
void doctor_engine(struct doctor *doctor);
void doctor_directories(struct doctor *doctor);
void doctor_process(struct doctor *doctor);

/* doctor_outside.c: its ways out of this machine; nothing where there are none. */
void doctor_outside(struct doctor *doctor);

#endif
