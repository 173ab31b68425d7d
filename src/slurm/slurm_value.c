/*
 * Values of Slurm's options: limits of time, memory, numbers of nodes, GPUs, signals, kinds of mail.
 * Narrower than core's text forms on purpose: what Slurm refuses ("2h", "1.5G") is refused, so that
 * a script means the same in both places.
 */
#include "slurm/slurm_value.h"

#include "core/text.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>

static bool only_of(const struct scan *scan, const char *letters)
{
	for (const char *p = scan->at; p < scan->end; p++)
		if (*p == '\0' || !strchr(letters, *p))
			return false;
	return !scan_ended(scan);
}

int slurm_keep(struct buf *buf, struct strata_arena *arena, const char **ret_text,
	       struct strata_error *err)
{
	const char *text = buf->failed ? NULL : strata_arena_text(arena, buf->text, buf->length);

	if (text)
		*ret_text = text;
	buf_fini(buf);
	return text ? 0 : strata_fail_memory(err);
}

int strata_slurm_time_parse(const char *text, size_t length, int64_t *ret_ns,
			    struct strata_error *err)
{
	static const char *const unlimited[] = { "-1", "infinite", "unlimited" };
	static const char expected[] = "is not a time limit; expected minutes, m:s, h:m:s, d-h, "
				       "d-h:m, d-h:m:s or UNLIMITED";
	struct scan scan;
	int64_t ns;

	scan_init(&scan, text, length);
	length = (size_t)(scan.end - scan.at);
	for (size_t i = 0; i < sizeof(unlimited) / sizeof(unlimited[0]); i++)
		if (text_same(scan.at, length, unlimited[i])) {
			*ret_ns = STRATA_DURATION_UNLIMITED;
			return 0;
		}
	if (!only_of(&scan, "0123456789:-") ||
	    strata_duration_parse(scan.at, length, STRATA_MINUTE_NS, 0, &ns, NULL))
		return scan_fail(&scan, err, -EINVAL, expected);
	ns = (ns + STRATA_MINUTE_NS - 1) / STRATA_MINUTE_NS * STRATA_MINUTE_NS;
	*ret_ns = ns ? ns : STRATA_DURATION_UNLIMITED;
	return 0;
}

int strata_slurm_memory_parse(const char *text, size_t length, int64_t *ret_bytes,
			      struct strata_error *err)
{
	static const char expected[] = "is not a size of memory; expected a whole number of MB, or "
				       "one with K, M, G or T behind it";
	const int64_t mb = 1 << 20;
	struct scan scan, ahead;
	uint64_t number;
	int64_t bytes;

	scan_init(&scan, text, length);
	ahead = scan;
	bool form = scan_digits(&ahead, 1, SIZE_MAX, &number);
	bool unit = form && !scan_ended(&ahead) && *ahead.at && strchr("kKmMgGtT", *ahead.at);

	if (unit) {
		ahead.at++;
		(void)(scan_char(&ahead, 'B') || scan_char(&ahead, 'b'));
	}
	if (!form || !scan_ended(&ahead))
		return scan_fail(&scan, err, -EINVAL, expected);
	int rc = strata_size_parse(scan.at, (size_t)(scan.end - scan.at), mb, STRATA_SIZE_BINARY,
				   &bytes, err);

	if (rc)
		return rc;
	if (bytes > INT64_MAX - mb)
		return scan_fail(&scan, err, -ERANGE, expected);
	*ret_bytes = (bytes + mb - 1) / mb * mb;
	return 0;
}

/* A number of nodes: digits and k or m. */
static bool node_count(struct scan *scan, int64_t *ret_count)
{
	uint64_t number;

	if (!scan_digits(scan, 1, SIZE_MAX, &number) || number > INT32_MAX)
		return false;
	if (scan_char(scan, 'k') || scan_char(scan, 'K'))
		number <<= 10;
	else if (scan_char(scan, 'm') || scan_char(scan, 'M'))
		number <<= 20;
	*ret_count = (int64_t)number;
	return number <= INT32_MAX;
}

int slurm_nodes_parse(const char *text, int64_t *ret_min, int64_t *ret_max,
		      struct strata_error *err)
{
	int64_t min = 1, max;
	struct scan scan;
	char excerpt[TEXT_EXCERPT_BYTES];

	scan_init(&scan, text, STRATA_TEXT_NUL);
	bool good = *text == '-' || node_count(&scan, &min);

	max = min;
	if (good && scan_char(&scan, '-')) {
		max = -1; /* nothing behind it is Slurm's -1, and so refused below */
		good = scan_ended(&scan) || node_count(&scan, &max);
	}
	if (!good || !scan_ended(&scan)) {
		text_excerpt(text, strlen(text), excerpt);
		return strata_fail(err, -EINVAL, "\"%s\" is not a valid node count", excerpt);
	}
	if (max < min)
		return strata_fail(err, -EINVAL,
				   "Maximum node count %" PRId64
				   " is less than minimum node count %" PRId64,
				   max, min);
	*ret_min = min;
	*ret_max = max;
	return 0;
}

static int fail_gres(struct strata_error *err)
{
	return strata_fail(err, -EBADMSG, "Invalid generic resource (gres) specification");
}

enum { TYPES_MAX = 16 };

/* GPUs by type; "" is any. */
struct types {
	struct {
		const char *name;
		size_t length;
		int64_t count;
	} items[TYPES_MAX];
	size_t count;
};

/* Digits with perhaps a k (1024): the count of an item. */
static bool gpu_count(const char *text, size_t length, int64_t *ret_count)
{
	struct scan scan;
	uint64_t number;

	scan_init(&scan, text, length);
	if (!scan_digits(&scan, 1, SIZE_MAX, &number) || number > INT32_MAX)
		return false;
	if (scan_char(&scan, 'k') || scan_char(&scan, 'K'))
		number <<= 10;
	*ret_count = (int64_t)number;
	return scan_ended(&scan) && number <= INT32_MAX;
}

/* count, type or type:count. A type named twice has its last count, as in Slurm. */
static int add_type(struct types *types, const char *text, size_t length, struct strata_error *err)
{
	const char *colon = memchr(text, ':', length);
	size_t name = colon ? (size_t)(colon - text) : length, i = 0;
	int64_t count = 1;

	if (colon) {
		if (name == 0 || !gpu_count(colon + 1, length - name - 1, &count))
			return fail_gres(err);
	} else if (gpu_count(text, length, &count)) {
		name = 0;
	} else if (length == 0 || (*text >= '0' && *text <= '9')) {
		return fail_gres(err);
	}
	while (i < types->count &&
	       (types->items[i].length != name || memcmp(types->items[i].name, text, name) != 0))
		i++;
	if (i == TYPES_MAX)
		return strata_fail(err, -E2BIG, "GPUs of more than %d types", TYPES_MAX);
	types->items[i].name = text;
	types->items[i].length = name;
	types->items[i].count = count;
	types->count += i == types->count;
	return 0;
}

static int sum_types(const struct types *types, const char *text, struct strata_arena *arena,
		     struct strata_sbatch_gpus *ret_gpus, struct strata_error *err)
{
	struct strata_sbatch_gpus gpus = { .text = strata_arena_text(arena, text, strlen(text)) };

	for (size_t i = 0; i < types->count; i++) {
		gpus.count += types->items[i].count;
		if (types->count > 1 && types->items[i].length == 0)
			return strata_fail(err, -EBADMSG,
					   "Invalid GRES specification (with and without type "
					   "identification)");
	}
	if (gpus.count > INT32_MAX)
		return fail_gres(err);
	if (types->count == 1 && types->items[0].length > 0) {
		gpus.type = strata_arena_text(arena, types->items[0].name, types->items[0].length);
		if (!gpus.type)
			return strata_fail_memory(err);
	}
	if (!gpus.text)
		return strata_fail_memory(err);
	*ret_gpus = gpus;
	return 0;
}

int slurm_gpus_parse(const char *text, struct strata_arena *arena,
		     struct strata_sbatch_gpus *ret_gpus, struct strata_error *err)
{
	struct types types = { .count = 0 };

	for (const char *item = text;; item++) {
		size_t length = strcspn(item, ",");
		int rc = add_type(&types, item, length, err);

		if (rc)
			return rc;
		item += length;
		if (*item == '\0')
			break;
	}
	return sum_types(&types, text, arena, ret_gpus, err);
}

int slurm_gres_parse(const char *text, struct strata_arena *arena,
		     struct strata_sbatch_gpus *ret_gpus, struct strata_error *err)
{
	struct types types = { .count = 0 };

	if (text_same(text, strlen(text), "none")) {
		*ret_gpus = (struct strata_sbatch_gpus){ 0 };
		return 0;
	}
	for (const char *item = text;; item++) {
		size_t length = strcspn(item, ",");
		size_t skip = length > 5 && memcmp(item, "gres:", 5) == 0 ? 5 : 0;
		int rc;

		/* The only resource of this kind that we count. */
		if (length - skip < 3 || memcmp(item + skip, "gpu", 3) != 0)
			return fail_gres(err);
		skip += 3;
		if (length == skip)
			rc = add_type(&types, "1", 1, err);
		else if (item[skip] == ':')
			rc = add_type(&types, item + skip + 1, length - skip - 1, err);
		else
			rc = fail_gres(err);
		if (rc)
			return rc;
		item += length;
		if (*item == '\0')
			break;
	}
	return sum_types(&types, text, arena, ret_gpus, err);
}

/* As Slurm names them; numbers up to SIGNAL_MAX are taken as they are. */
static const struct {
	const char *name;
	int number;
} signals[] = {
	{ "HUP", SIGHUP },   { "INT", SIGINT },   { "QUIT", SIGQUIT }, { "ABRT", SIGABRT },
	{ "KILL", SIGKILL }, { "ALRM", SIGALRM }, { "TERM", SIGTERM }, { "USR1", SIGUSR1 },
	{ "USR2", SIGUSR2 }, { "URG", SIGURG },   { "CONT", SIGCONT }, { "STOP", SIGSTOP },
	{ "TSTP", SIGTSTP }, { "TTIN", SIGTTIN }, { "TTOU", SIGTTOU },
};
enum { SIGNAL_MAX = 0xfff, SIGNAL_SECONDS = 60, SIGNAL_SECONDS_MAX = 0xffff };

static int signal_number(const char *text, size_t length)
{
	struct scan scan;
	uint64_t number;

	scan_init(&scan, text, length);
	if (scan_digits(&scan, 1, SIZE_MAX, &number))
		return scan_ended(&scan) && number <= SIGNAL_MAX ? (int)number : 0;
	if (length > 3 && text_same(text, 3, "sig")) {
		text += 3;
		length -= 3;
	}
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (text_same(text, length, signals[i].name))
			return signals[i].number;
	return 0;
}

bool slurm_signal_parse(const char *text, struct strata_sbatch_signal *ret_signal)
{
	struct strata_sbatch_signal signal = { .before_ns = SIGNAL_SECONDS * STRATA_SECOND_NS };
	const char *colon = strchr(text, ':');
	uint64_t seconds = 0;
	struct scan scan;

	for (; colon && text < colon; text++) {
		signal.batch_only |= text_lower(*text) == 'b';
		signal.reservation |= text_lower(*text) == 'r';
		if (!strchr("bBrR", *text))
			return false;
	}
	text += colon != NULL;
	size_t length = strcspn(text, "@");

	signal.number = signal_number(text, length);
	if (signal.number == 0)
		return false;
	if (text[length] == '@') {
		scan_init(&scan, text + length + 1, STRATA_TEXT_NUL);
		if (!scan_digits(&scan, 0, SIZE_MAX, &seconds) || !scan_ended(&scan) ||
		    seconds > SIGNAL_SECONDS_MAX)
			return false;
		signal.before_ns = (int64_t)seconds * STRATA_SECOND_NS;
	}
	*ret_signal = signal;
	return true;
}

/* By bit. */
static const char *const mail_names[] = {
	"BEGIN",          "END",           "FAIL",        "REQUEUE",
	"INVALID_DEPEND", "STAGE_OUT",     "TIME_LIMIT",  "TIME_LIMIT_90",
	"TIME_LIMIT_80",  "TIME_LIMIT_50", "ARRAY_TASKS",
};
enum { MAIL_NAMES = sizeof(mail_names) / sizeof(mail_names[0]) };

static bool mail_bits(const char *word, size_t length, unsigned *types)
{
	if (text_same(word, length, "none"))
		return true;
	if (text_same(word, length, "all")) {
		*types |= STRATA_MAIL_BEGIN | STRATA_MAIL_END | STRATA_MAIL_FAIL |
			  STRATA_MAIL_REQUEUE | STRATA_MAIL_INVALID_DEPEND | STRATA_MAIL_STAGE_OUT;
		return true;
	}
	for (unsigned i = 0; i < MAIL_NAMES; i++)
		if (text_same(word, length, mail_names[i])) {
			*types |= 1u << i;
			return true;
		}
	return false;
}

bool slurm_mail_parse(const char *text, unsigned *ret_types)
{
	unsigned types = 0;

	for (const char *word = text;; word++) {
		size_t length = strcspn(word, ",");

		if (!mail_bits(word, length, &types))
			return false;
		word += length;
		if (*word == '\0')
			break;
	}
	*ret_types = types;
	return true;
}

const char *slurm_mail_name(unsigned types)
{
	for (unsigned i = 0; i < MAIL_NAMES; i++)
		if (types & 1u << i)
			return mail_names[i];
	return NULL;
}
