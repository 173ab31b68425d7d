/* Pairs of key and certificate: those of others, those that are made, those that do not fit. */
#include "test.h"

#include "server/tls_pair.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char certificate[] =
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
static const char key[] =
	"-----BEGIN PRIVATE KEY-----\n"
	"MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgSehVDXBQkvA9kU8Y\n"
	"U+ZLQT+fBS34XsaEXuDOORvY5/WhRANCAATLQATOday6o3DmB/qqpBSdOlBFdAPL\n"
	"oFxEEkcHQMk3hEdT8/Tl0lc92Tam+XqOON5j39g+0MQn2bXZMaN3tgxc\n"
	"-----END PRIVATE KEY-----\n";
static const char other_key[] =
	"-----BEGIN PRIVATE KEY-----\n"
	"MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgHdXiFPZf/ObkI9fl\n"
	"SnUvacP5tkT7wCjUtwjMRemx60ehRANCAASrS06/RdwNReQB0ZkvVAX/fT1bxLJt\n"
	"MuzJL3EYJWJQOdfHWtT+/D8ouMZigllLFbj9awEYKmhbf3vm78LobWAZ\n"
	"-----END PRIVATE KEY-----\n";

static int read_pair(const char *certificates, const char *keys, struct strata_error *err)
{
	struct tls_pair pair;
	int rc = tls_pair_read(certificates, keys, &pair, err);

	if (rc == 0)
		tls_pair_free(&pair);
	return rc;
}

TEST(a_pair_is_read)
{
	struct strata_error err = { 0 };
	struct tls_pair pair;

	CHECK_OK(tls_pair_read(certificate, key, &pair, &err));
	CHECK_INT(pair.chain_length, 1);
	CHECK_INT(tls_pair_ends_ns(&pair) / STRATA_SECOND_NS, 4948634550);
	tls_pair_free(&pair);
	tls_pair_free(&pair); /* is nothing by now */
}

TEST(what_does_not_fit_is_said)
{
	struct strata_error err = { 0 };

	CHECK_ERROR(read_pair(certificate, other_key, &err), -EINVAL,
		    "the key is not that of the (first) certificate");
	CHECK_ERROR(read_pair("", key, &err), -EINVAL, "the certificate cannot be used");
	CHECK_ERROR(read_pair(certificate, "", &err), -EINVAL, "the key cannot be used");
	CHECK_ERROR(read_pair(certificate, certificate, &err), -EINVAL, "the key cannot be used");
}

/* Each signs itself, so none is the next one's; GnuTLS says so from the second on. What is tested is
 * that a long list is refused by its length or its order, and not taken. */
TEST(a_chain_is_in_order)
{
	char *many = calloc(STRATA_TLS_CHAIN_MAX + 2, sizeof(certificate));
	struct strata_error err = { 0 };

	for (int i = 0; i <= STRATA_TLS_CHAIN_MAX; i++)
		strcat(many, certificate);
	CHECK_ERROR(read_pair(many, key, &err), -EINVAL, "certificate");
	free(many);
}

/* A root and what it signed, one below the other, so many that the file has `count`. */
static char *make_chain(int count, char **ret_key)
{
	gnutls_x509_crt_t last = NULL;
	gnutls_x509_privkey_t last_key = NULL;
	char *text = calloc((size_t)count, 4096), name[32];

	for (int i = 0; i < count; i++) {
		gnutls_x509_crt_t own;
		gnutls_x509_privkey_t own_key;
		gnutls_datum_t pem = { 0 };

		CHECK_INT(gnutls_x509_crt_init(&own), 0);
		CHECK_INT(gnutls_x509_privkey_init(&own_key), 0);
		CHECK_INT(gnutls_x509_privkey_generate(
				  own_key, GNUTLS_PK_ECDSA,
				  GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0),
			  0);
		snprintf(name, sizeof(name), "level %d", i);
		gnutls_x509_crt_set_version(own, 3);
		gnutls_x509_crt_set_serial(own, &(unsigned char){ (unsigned char)(i + 1) }, 1);
		gnutls_x509_crt_set_activation_time(own, 0);
		gnutls_x509_crt_set_expiration_time(own, 4000000000);
		gnutls_x509_crt_set_dn_by_oid(own, GNUTLS_OID_X520_COMMON_NAME, 0, name,
					      (unsigned)strlen(name));
		gnutls_x509_crt_set_key(own, own_key);
		CHECK_INT(gnutls_x509_crt_sign2(own, last ? last : own,
						last_key ? last_key : own_key, GNUTLS_DIG_SHA256,
						0),
			  0);
		CHECK_INT(gnutls_x509_crt_export2(own, GNUTLS_X509_FMT_PEM, &pem), 0);
		memmove(text + pem.size, text, strlen(text) + 1); /* the lowest comes first */
		memcpy(text, pem.data, pem.size);
		gnutls_free(pem.data);
		if (last)
			gnutls_x509_crt_deinit(last);
		if (last_key)
			gnutls_x509_privkey_deinit(last_key);
		last = own, last_key = own_key;
	}
	gnutls_datum_t pem = { 0 };

	CHECK_INT(gnutls_x509_privkey_export2(last_key, GNUTLS_X509_FMT_PEM, &pem), 0);
	*ret_key = strndup((char *)pem.data, pem.size);
	gnutls_free(pem.data);
	gnutls_x509_crt_deinit(last);
	gnutls_x509_privkey_deinit(last_key);
	return text;
}

TEST(a_chain_has_a_limit)
{
	for (int more = 0; more < 2; more++) {
		struct strata_error err = { 0 };
		char *keys, *chain = make_chain(STRATA_TLS_CHAIN_MAX + more, &keys);

		if (more)
			CHECK_ERROR(read_pair(chain, keys, &err), -EINVAL, "expected at most 16");
		else
			CHECK_OK(read_pair(chain, keys, &err));
		free(chain);
		free(keys);
	}
}

TEST(one_that_is_made_can_be_read_and_has_the_names)
{
	static const char *const names[] = { "gpu.lab", "10.1.2.3", "fe80::1" };
	static const char *const held[] = { "gpu.lab", "10.1.2.3", "fe80::1", "localhost",
					    "127.0.0.1", "::1" };
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };
	struct strata_arena arena;
	struct tls_pair pair, again;
	char *pem, *renewed;

	strata_arena_init(&arena, &memory, 0);
	CHECK_OK(tls_pair_make(names, 3, NULL, 1000 * STRATA_DAY_NS, &arena, &pem, &err));
	CHECK_OK(tls_pair_read(pem, pem, &pair, &err));
	for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++)
		CHECK(gnutls_x509_crt_check_hostname(pair.chain[0], held[i]));
	CHECK(!gnutls_x509_crt_check_hostname(pair.chain[0], "evil.example"));
	CHECK_INT(tls_pair_ends_ns(&pair), (1000 + 3650) * STRATA_DAY_NS);
	/* renewed, it is the same key for longer */
	CHECK_OK(tls_pair_make(names, 1, pair.key, 2000 * STRATA_DAY_NS, &arena, &renewed, &err));
	CHECK_OK(tls_pair_read(renewed, pem, &again, &err));
	CHECK_INT(tls_pair_ends_ns(&again), (2000 + 3650) * STRATA_DAY_NS);
	tls_pair_free(&pair);
	tls_pair_free(&again);
	strata_arena_fini(&arena);
}
