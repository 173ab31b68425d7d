/* What strata doctor says of the ways out of this machine: the key and certificate that callers
 * from elsewhere see, and the credentials for copies of checkpoints. */
#include "cli/doctor.h"

#include "client/certificate.h"
#include "core/env.h"
#include "s3/s3_address.h"
#include "server/mirror_process.h"
#include "server/tls.h"

#include <strata/limits.h>

#include <string.h>

#define SOON_NS (30 * STRATA_DAY_NS)

static int read_certificate(struct doctor *doctor, const char *path,
			    char ret_pin[CERTIFICATE_PIN_BYTES], int64_t *ret_ends_ns,
			    struct strata_error *err)
{
	char *text;
	size_t length;
	int rc = env_read_file(env_system(), AT_FDCWD, path, STRATA_TLS_FILE_BYTES_MAX,
			       &doctor->cli->arena, &text, &length, err);

	return rc ? rc : certificate_read(text, length, ret_pin, ret_ends_ns, err);
}

static void check_tls(struct doctor *doctor)
{
	const struct server_conf *conf = &doctor->serve;
	struct strata_arena *arena = &doctor->cli->arena;
	const char *own = strata_arena_printf(arena, "%s/tls.pem", conf->state_dir);
	const char *certificate = conf->tls_cert ? conf->tls_cert : own;
	char pin[CERTIFICATE_PIN_BYTES], end[STRATA_FORM_BYTES];
	struct strata_error err = { 0 };
	int64_t ends_ns = 0, now_ns = when_now_ns();

	if ((conf->tls == TLS_OFF && !conf->tls_cert) || !own)
		return;
	int rc = read_certificate(doctor, certificate, pin, &ends_ns, &err);

	if (rc == 0)
		rc = tls_check_key_file(conf->tls_key ? conf->tls_key : own, &err);
	if (rc) {
		doctor_say(doctor, DOCTOR_BAD, "TLS", "docs/remote.md says what is expected", "%s",
			   err.text);
		return;
	}
	when_print(ends_ns, now_ns, end);
	if (ends_ns < now_ns + SOON_NS)
		doctor_say(doctor, ends_ns < now_ns ? DOCTOR_BAD : DOCTOR_WARN, "TLS",
			   conf->tls_cert ? "put a new one in its place, then `systemctl reload "
					    "strata`"
					  : "`systemctl reload strata` makes a new one for the key",
			   "the certificate %s on %s", ends_ns < now_ns ? "ended" : "ends", end);
	else
		doctor_say(doctor, DOCTOR_OK, "TLS", NULL,
			   "the key's fingerprint is %s; the certificate ends on %s", pin, end);
}

static void check_copies(struct doctor *doctor)
{
	struct s3_credentials credentials;
	struct strata_error err = { 0 };

	if (!doctor->serve.checkpoint_path)
		return;
	if (mirror_credentials(&doctor->serve, &doctor->cli->arena, &credentials, &err))
		doctor_say(doctor, DOCTOR_BAD, "copies",
			   "docs/operating.md says what checkpoint_path needs", "%s", err.text);
	else
		doctor_say(doctor, DOCTOR_OK, "copies", NULL,
			   "checkpoints are copied to %s at %s; the credentials can be read",
			   doctor->serve.checkpoint_path, doctor->serve.s3_endpoint);
}

void doctor_outside(struct doctor *doctor)
{
	check_tls(doctor);
	check_copies(doctor);
}
