/*
 * Settings that change while the service runs. A signal asks for it, the decider does it between
 * two rounds, so that nobody sees half of it; reading files is left to whoever opened the server.
 * What cannot change is named, and stays.
 */
#include "server/reload.h"

#include "core/option.h"
#include "server/server.h"
#include "server/tls.h"

#include <string.h>

void reload_ask(struct server *server)
{
	atomic_store(&server->common.renew, true);
	inbox_wake(&server->common.inbox);
}

void reload_look(struct common *common)
{
	if (atomic_exchange(&common->renew, false) && common->read_settings)
		common->read_settings(common->read_context);
}

/* Two values are the same when they print the same: texts and lists are compared by what they
 * say. */
static bool same(const struct strata_option *option, const void *a, const void *b,
		 struct strata_memory *memory)
{
	struct buf texts[2];
	bool equal;

	buf_init(&texts[0], memory, 0);
	buf_init(&texts[1], memory, 0);
	option_print(option, a, &texts[0]);
	option_print(option, b, &texts[1]);
	equal = strcmp(texts[0].text, texts[1].text) == 0;
	buf_fini(&texts[0]);
	buf_fini(&texts[1]);
	return equal;
}

void reload_front(struct front *front, const struct server_conf *conf)
{
	atomic_store(&front->request_timeout_ns, conf->request_timeout_ns);
	atomic_store(&front->token_from_token, conf->token_from_token);
}

int server_reload(struct server *server, const struct server_conf *conf, struct buf *ret_later,
		  struct strata_error *err)
{
	struct server_conf *settings = &server->settings;
	struct decider *decider = &server->decider;
	int rc = conf_check(conf, err);

	if (rc == 0)
		rc = tls_reload(err);
	if (rc)
		return rc;
	for (const struct strata_option *option = server_schema.options; option->name; option++) {
		char *old = (char *)settings + option->offset;
		const char *new = (const char *)conf + option->offset;

		if (conf_is_live(option->name))
			memcpy(old, new, option_size(option)); /* numbers: nothing is borrowed */
		else if (!same(option, old, new, &decider->memory))
			buf_printf(ret_later, "%s%s", ret_later->length ? " " : "", option->name);
	}
	reload_front(&server->front, settings);
	decider->rules.time_limit_ns = settings->time_limit_ns;
	decider->rules.time_limit_ns_max = settings->time_limit_ns_max;
	if (decider->cluster) /* one that stands by has none yet */
		strata_cluster_set_checkpoint_max(decider->cluster, settings->checkpoint_bytes_max);
	return 0;
}
