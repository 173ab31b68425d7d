/* Handshakes to see who is there, by libcurl: one that believes anything and reads the certificate,
 * one that believes what this machine does. */
#include "client/web_probe.h"

#include <curl/curl.h>
#include <errno.h>
#include <string.h>

enum { CONNECT_SECONDS = 10 };

static CURL *open_handle(const char *url, bool strict)
{
	CURL *curl = curl_easy_init();

	if (!curl)
		return NULL;
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https");
	curl_easy_setopt(curl, CURLOPT_CONNECT_ONLY, 1L);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
	curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(curl, CURLOPT_CERTINFO, 1L);
	curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, strict ? 1L : 0L);
	curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, strict ? 2L : 0L);
	return curl;
}

static int read_probe(CURL *curl, const char *url, struct web_probe *ret_probe,
		      struct strata_error *err)
{
	struct curl_certinfo *found = NULL;

	curl_easy_getinfo(curl, CURLINFO_CERTINFO, &found);
	for (struct curl_slist *at = found && found->num_of_certs ? found->certinfo[0] : NULL; at;
	     at = at->next)
		if (strncmp(at->data, "Cert:", 5) == 0)
			return certificate_read(at->data + 5, strlen(at->data + 5), ret_probe->pin,
						&ret_probe->ends_ns, err);
	return strata_fail(err, -EBADMSG, "%s shows no certificate", url);
}

static int fail(const char *url, CURLcode code, const char *problem, struct strata_error *err)
{
	const char *why = *problem ? problem : curl_easy_strerror(code);

	if (code == CURLE_OUT_OF_MEMORY)
		return strata_fail_memory(err);
	if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL)
		return strata_fail_at(err, -EINVAL, "server", "%s is not an address: %s", url, why);
	if (code == CURLE_SSL_CONNECT_ERROR)
		return strata_fail(err, -ECONNRESET, "%s cannot be spoken to by TLS 1.2 or 1.3: %s",
				   url, why);
	return strata_fail(err, -ECONNREFUSED, "no server at %s: %s", url, why);
}

int web_probe(const char *url, struct web_probe *ret_probe, struct strata_error *err)
{
	struct web_probe probe = { 0 };
	char problem[CURL_ERROR_SIZE] = "";
	CURL *curl = open_handle(url, false), *strict;

	if (!curl)
		return strata_fail_memory(err);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, problem);
	CURLcode code = curl_easy_perform(curl);
	int rc = code ? fail(url, code, problem, err) : read_probe(curl, url, &probe, err);

	curl_easy_cleanup(curl);
	strict = rc ? NULL : open_handle(url, true);
	if (rc == 0 && !strict)
		rc = strata_fail_memory(err);
	if (rc)
		return rc;
	/* whom the authority vouches for must have the key that was seen before */
	curl_easy_setopt(strict, CURLOPT_PINNEDPUBLICKEY, probe.pin);
	probe.vouched = curl_easy_perform(strict) == CURLE_OK;
	curl_easy_cleanup(strict);
	*ret_probe = probe;
	return 0;
}
