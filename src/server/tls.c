/*
 * The pair that the service shows to who connects by TLS: see tls.h. libmicrohttpd asks for it at
 * each handshake and gives no context, so the pair is the process's. Each connection gets copies: a
 * pair that is exchanged can go at once, whoever is in the middle of a handshake.
 */
#include "server/tls.h"

#include "core/env_log.h"
#include "core/env_trust.h"
#include "server/tls_pair.h"

#include <strata/limits.h>
#include <strata/text.h>

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RENEW_BEFORE_NS (30 * STRATA_DAY_NS)
enum { NAMES_MAX = 3, NAME_BYTES = 256 };

static struct {
	pthread_rwlock_t lock; /* of all below */
	bool is_open;
	const struct env *env;
	const struct server_conf *conf; /* borrowed until tls_close; what is read of it is fixed */
	struct tls_pair pair;
	char pin[CERTIFICATE_PIN_BYTES];
} own = { .lock = PTHREAD_RWLOCK_INITIALIZER };

/* ---- files ---- */

int tls_check_key_file(const char *path, struct strata_error *err)
{
	struct stat info;
	int rc = env_trust_check(path, ENV_TRUST_FILE, "the key for TLS", err);

	if (rc)
		return rc;
	if (stat(path, &info) < 0)
		return strata_fail_at(err, -errno, "tls_key", "cannot read the key %s: %s", path,
				      strerror(errno));
	if (info.st_mode & 077)
		return strata_fail_at(err, -EACCES, "tls_key",
				      "others can read the key %s; `chmod 600 %s` mends it", path,
				      path);
	return 0;
}

static int read_file(const struct env *env, const char *path, struct strata_arena *arena,
		     char **ret_text, struct strata_error *err)
{
	size_t count;

	return env_read_file(env, AT_FDCWD, path, STRATA_TLS_FILE_BYTES_MAX, arena, ret_text,
			     &count, err);
}

static int load_files(const struct env *env, const char *certificate, const char *key,
		      struct strata_arena *arena, struct tls_pair *ret_pair,
		      struct strata_error *err)
{
	char *texts[2];
	int rc = tls_check_key_file(key, err);

	if (rc == 0)
		rc = env_trust_check(certificate, ENV_TRUST_FILE, "the certificate for TLS", err);
	if (rc == 0)
		rc = read_file(env, certificate, arena, &texts[0], err);
	if (rc == 0)
		rc = read_file(env, key, arena, &texts[1], err);
	if (rc)
		return rc;
	struct strata_error why = { 0 };

	rc = tls_pair_read(texts[0], texts[1], ret_pair, &why);
	return rc ? strata_fail_at(err, rc, "tls_cert", "%s: %s", certificate, why.text) : 0;
}

/* ---- a pair of our own ---- */

/* What the service may be called: its machine's name, with and without its domain, and the host it
 * listens on. */
static size_t find_names(const struct server_conf *conf, char (*texts)[NAME_BYTES],
			 const char **names)
{
	const char *colon = conf->listen ? strrchr(conf->listen, ':') : NULL;
	size_t count = 0;

	if (gethostname(texts[0], NAME_BYTES - 1) == 0 && texts[0][0])
		names[count++] = texts[0];
	if (count && strchr(texts[0], '.')) {
		snprintf(texts[1], NAME_BYTES, "%.*s", (int)strcspn(texts[0], "."), texts[0]);
		names[count++] = texts[1];
	}
	if (colon) {
		const char *host = conf->listen + (conf->listen[0] == '[');
		size_t length = (size_t)(colon - host) - (conf->listen[0] == '[');

		snprintf(texts[2], NAME_BYTES, "%.*s", (int)length, host);
		if (texts[2][0] && strcmp(texts[2], "0.0.0.0") != 0 && strcmp(texts[2], "::") != 0)
			names[count++] = texts[2];
	}
	return count;
}

static int make_own(const struct env *env, const struct server_conf *conf, const char *path,
		    gnutls_x509_privkey_t key, struct strata_arena *arena, char **ret_text,
		    struct strata_error *err)
{
	char texts[NAMES_MAX][NAME_BYTES] = { "", "", "" };
	const char *names[NAMES_MAX];
	size_t count = find_names(conf, texts, names);
	int rc = tls_pair_make(names, count, key, env_now_ns(env, ENV_REALTIME), arena, ret_text,
			       err);

	return rc ? rc
		  : env_write_file(env, AT_FDCWD, path, *ret_text, strlen(*ret_text), 0600, err);
}

/* The key stays, and with it what clients know us by; the certificate is made anew in time. */
static int load_own(const struct env *env, const struct server_conf *conf,
		    struct strata_arena *arena, struct tls_pair *ret_pair,
		    struct strata_error *err)
{
	const char *path = strata_arena_printf(arena, "%s/tls.pem", conf->state_dir);
	char *text = NULL;

	if (!path)
		return strata_fail_memory(err);
	if (access(path, F_OK) < 0 && errno == ENOENT) {
		int rc = make_own(env, conf, path, NULL, arena, &text, err);

		return rc ? rc : tls_pair_read(text, text, ret_pair, err);
	}
	int rc = load_files(env, path, path, arena, ret_pair, err);

	if (rc == 0 && tls_pair_ends_ns(ret_pair) <
			       env_now_ns(env, ENV_REALTIME) + RENEW_BEFORE_NS) {
		struct tls_pair old = *ret_pair;

		rc = make_own(env, conf, path, old.key, arena, &text, err);
		if (rc == 0)
			rc = tls_pair_read(text, text, ret_pair, err);
		tls_pair_free(&old);
	}
	return rc;
}

static int load(const struct env *env, const struct server_conf *conf, struct tls_pair *ret_pair,
		char ret_pin[CERTIFICATE_PIN_BYTES], struct strata_error *err)
{
	struct strata_memory memory = { 0 };
	struct strata_arena arena;

	strata_arena_init(&arena, &memory, 0);
	int rc = conf->tls_cert
			 ? load_files(env, conf->tls_cert, conf->tls_key, &arena, ret_pair, err)
			 : load_own(env, conf, &arena, ret_pair, err);

	strata_arena_fini(&arena);
	if (rc)
		return rc;
	rc = certificate_pin(ret_pair->chain[0], ret_pin, err);
	if (rc)
		tls_pair_free(ret_pair);
	else if (tls_pair_ends_ns(ret_pair) < env_now_ns(env, ENV_REALTIME))
		log_warning("service", "the certificate for TLS has expired: clients refuse it");
	return rc;
}

/* ---- the pair that counts ---- */

int tls_open(const struct env *env, const struct server_conf *conf, struct strata_error *err)
{
	struct tls_pair pair;
	char pin[CERTIFICATE_PIN_BYTES];

	int rc = conf_check_tls(conf, err);

	if (rc || (conf->tls == TLS_OFF && !conf->tls_cert))
		return rc;
	rc = load(env, conf, &pair, pin, err);

	if (rc)
		return rc;
	pthread_rwlock_wrlock(&own.lock);
	own.is_open = true;
	own.env = env;
	own.conf = conf;
	own.pair = pair;
	memcpy(own.pin, pin, sizeof(own.pin));
	pthread_rwlock_unlock(&own.lock);
	return 0;
}

void tls_close(void)
{
	pthread_rwlock_wrlock(&own.lock);
	tls_pair_free(&own.pair);
	own.is_open = false;
	own.pin[0] = '\0';
	pthread_rwlock_unlock(&own.lock);
}

bool tls_is_open(void)
{
	pthread_rwlock_rdlock(&own.lock);
	bool is_open = own.is_open;

	pthread_rwlock_unlock(&own.lock);
	return is_open;
}

int tls_reload(struct strata_error *err)
{
	struct tls_pair pair, old;
	char pin[CERTIFICATE_PIN_BYTES];

	if (!tls_is_open())
		return 0;
	int rc = load(own.env, own.conf, &pair, pin, err);

	if (rc)
		return rc;
	pthread_rwlock_wrlock(&own.lock);
	old = own.pair;
	own.pair = pair;
	memcpy(own.pin, pin, sizeof(own.pin));
	pthread_rwlock_unlock(&own.lock);
	tls_pair_free(&old);
	return 0;
}

void tls_pin(char ret_pin[CERTIFICATE_PIN_BYTES])
{
	pthread_rwlock_rdlock(&own.lock);
	memcpy(ret_pin, own.pin, CERTIFICATE_PIN_BYTES);
	pthread_rwlock_unlock(&own.lock);
}

bool tls_has_name(const char *name, size_t length)
{
	char text[NAME_BYTES];

	if (length && name[0] == '[' && name[length - 1] == ']')
		name++, length -= 2;
	if (length == 0 || length >= sizeof(text) || memchr(name, '\0', length))
		return false;
	memcpy(text, name, length);
	text[length] = '\0';
	pthread_rwlock_rdlock(&own.lock);
	bool has = own.is_open && gnutls_x509_crt_check_hostname(own.pair.chain[0], text);

	pthread_rwlock_unlock(&own.lock);
	return has;
}

/* ---- a handshake ---- */

/* Copies the chain; GnuTLS gives it back. */
static int copy_chain(const struct tls_pair *pair, gnutls_pcert_st **ret_chain)
{
	gnutls_pcert_st *chain = gnutls_calloc(pair->chain_length, sizeof(*chain));
	int code = chain ? 0 : GNUTLS_E_MEMORY_ERROR;
	unsigned done = 0;

	for (; code == 0 && done < pair->chain_length; done++)
		code = gnutls_pcert_import_x509(&chain[done], pair->chain[done], 0);
	if (code == 0) {
		*ret_chain = chain;
		return 0;
	}
	for (unsigned i = 0; done && i + 1 < done; i++)
		gnutls_pcert_deinit(&chain[i]);
	gnutls_free(chain);
	return code;
}

static int copy_key(const struct tls_pair *pair, gnutls_privkey_t *ret_key)
{
	gnutls_privkey_t key;
	int code = gnutls_privkey_init(&key);

	if (code)
		return code;
	code = gnutls_privkey_import_x509(key, pair->key, GNUTLS_PRIVKEY_IMPORT_COPY);
	if (code) {
		gnutls_privkey_deinit(key);
		return code;
	}
	*ret_key = key;
	return 0;
}

int tls_retrieve(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
		 gnutls_pcert_st **ret_chain, unsigned *ret_chain_length,
		 gnutls_ocsp_data_st **ret_ocsp, unsigned *ret_ocsp_length,
		 gnutls_privkey_t *ret_key, unsigned *ret_flags)
{
	(void)session, (void)info;
	pthread_rwlock_rdlock(&own.lock);
	int code = own.is_open ? copy_key(&own.pair, ret_key) : GNUTLS_E_NO_CERTIFICATE_FOUND;

	if (code == 0) {
		code = copy_chain(&own.pair, ret_chain);
		if (code)
			gnutls_privkey_deinit(*ret_key);
	}
	*ret_chain_length = code ? 0 : own.pair.chain_length;
	pthread_rwlock_unlock(&own.lock);
	*ret_ocsp = NULL;
	*ret_ocsp_length = 0;
	*ret_flags = GNUTLS_CERT_RETR_DEINIT_ALL;
	return code ? -1 : 0;
}
