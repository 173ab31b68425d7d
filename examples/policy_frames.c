/*
 * A queue policy as a plug-in: the task with the fewest frames goes first. The pool knows nothing
 * of frames; they are in the payload of whoever added the task, who has told the pool how to ask
 * for something in it by name (struct strata_pool_conf, attribute).
 *
 *	cc -shared -fPIC -o policy_frames.so policy_frames.c $(pkg-config --cflags --libs strata)
 *	STRATA_PLUGINS=./policy_frames.so strata classes policy
 *	STRATA_PLUGINS=./policy_frames.so strata sim pool requests.csv --policy frames:attribute=n_images
 */
#include <strata/pool.h>

struct frames_conf {
	const char *attribute;
	int64_t otherwise;
};

static const struct strata_option frames_options[] = {
	{ "attribute", STRATA_TEXT, offsetof(struct frames_conf, attribute),
	  .text = { "num_frames" }, .help = "what the payload calls its frames" },
	{ "otherwise", STRATA_INT, offsetof(struct frames_conf, otherwise),
	  .integer = { 1, 0, 1000000 }, .help = "frames of a task that does not say" },
	{ 0 }
};

static int64_t frames_key(const void *conf_any, const struct strata_policy_task *task)
{
	const struct frames_conf *conf = conf_any;
	double frames = strata_policy_attribute(task, conf->attribute, (double)conf->otherwise);

	/* Anything a payload may say becomes a number that can be compared. */
	return frames > 0 && frames < 1e15 ? (int64_t)(frames * 1000) : 0;
}

static const struct strata_policy_class frames = {
	.base = {
		.name = "frames",
		.aliases = "shortest_by_frames",
		.summary = "the fewest frames first",
		.conf_size = sizeof(struct frames_conf),
		.options = frames_options,
	},
	.key = frames_key,
};

static const struct strata_class *const classes[] = { &frames.base, NULL };

const struct strata_plugin strata_plugin = {
	.abi = STRATA_ABI,
	.kind = "policy",
	.classes = classes,
};
