/* What is read off a certificate, against what openssl says of the same one. */
#include "test.h"

#include "client/certificate.h"

#include <errno.h>
#include <string.h>

/* openssl req -x509 -newkey ec …; the pin by openssl x509 -pubkey | openssl pkey -pubin -outform der
 * | openssl dgst -sha256 -binary | base64 */
static const char pem[] =
	"-----BEGIN CERTIFICATE-----\n"
	"MIIBezCCASGgAwIBAgIUA1CkaPcUfGW0dAXQkYy8137QoFIwCgYIKoZIzj0EAwIw\n"
	"EjEQMA4GA1UEAwwHZ3B1LmxhYjAgFw0yNjExMTgyMDQyMzBaGA8yMTI2MTAyNTIw\n"
	"NDIzMFowEjEQMA4GA1UEAwwHZ3B1LmxhYjBZMBMGByqGSM49AgEGCCqGSM49AwEH\n"
	"A0IABMtABM51rLqjcOYH+qqkFJ06UEV0A8ugXEQSRwdAyTeER1Pz9OXSVz3ZNqb5\n"
	"eo443mPf2D7QxCfZtdkxo3e2DFyjUzBRMB0GA1UdDgQWBBQGRnNofDw8FagEJ/UP\n"
	"mQYSylTAsTAfBgNVHSMEGDAWgBQGRnNofDw8FagEJ/UPmQYSylTAsTAPBgNVHRMB\n"
	"Af8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIGynS3QOIhjyBObFDcy35i/V0sfe\n"
	"XkOnfZFq3v1J3MJQAiEAics7bwuNimUIJXrFjtjdsGsDObDdJL5YCI04VvYmdIM=\n"
	"-----END CERTIFICATE-----\n";
static const char pin[] = "sha256//OlG5qLhoPQYTzigefMilahPqfaEcCN/rAwBhBek6kNs=";

TEST(the_pin_is_openssl_s)
{
	char got[CERTIFICATE_PIN_BYTES];
	struct strata_error err = { 0 };
	int64_t ends_ns = 0;

	CHECK_OK(certificate_read(pem, strlen(pem), got, &ends_ns, &err));
	CHECK_TEXT(got, pin);
	CHECK_INT(ends_ns / 1000000000, 4948634550);
}

TEST(what_is_no_certificate_is_refused)
{
	static const char *const bad[] = { "", "nothing", "-----BEGIN CERTIFICATE-----\nAAAA\n"
							  "-----END CERTIFICATE-----\n" };
	char got[CERTIFICATE_PIN_BYTES] = "as before";
	int64_t ends_ns = 7;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct strata_error err = { 0 };

		CHECK_ERROR(certificate_read(bad[i], strlen(bad[i]), got, &ends_ns, &err),
			    -EBADMSG, "cannot be read");
	}
	for (size_t length = 0; length + 1 < strlen(pem) - 24; length += 7) {
		struct strata_error err = { 0 };

		CHECK(certificate_read(pem, length, got, &ends_ns, &err) < 0);
	}
	CHECK_TEXT(got, "as before");
	CHECK_INT(ends_ns, 7);
}
