/*
 * easy_sjbf: as easy, but jobs behind the head are looked at in the order of their predicted run
 * times, shortest first (Tsafrir, Etsion and Feitelson, 2007).
 */
#include "cluster/backfill_easy.h"

static int easy_sjbf_pass(struct pass *pass, const void *conf, void *state)
{
	return backfill_easy_pass(pass, conf, state, true);
}

const struct backfill_class backfill_easy_sjbf = {
	.base = {
		.name = "easy_sjbf",
		.aliases = "sjbf, easy++",
		.summary = "the same, the shortest first",
		.conf_size = sizeof(struct easy_conf),
		.options = backfill_easy_options,
	},
	.state_size = sizeof(struct easy_state),
	.pass = easy_sjbf_pass,
};
