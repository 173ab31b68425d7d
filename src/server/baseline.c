/* Has a figure changed? See baseline.h. */
#include "server/baseline.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Of a normal distribution: the standard deviation over the median absolute one. */
#define SIGMA_OF_MAD 1.4826
#define FEW_DAYS 5.0

struct walk {
	const struct baseline_conf *conf;
	size_t count;
	double logs[BASELINE_DAYS_MAX];
	bool apart[BASELINE_DAYS_MAX]; /* of a change: not part of what is usual */
	/* the usual, as far as it is known, and how far from it is out */
	double middle, reach;
	size_t days; /* it is made of; 0: not known */
	enum baseline_state state;
	size_t since; /* higher or lower: the first day */
};

static double median(double *values, size_t count)
{
	for (size_t i = 1; i < count; i++) { /* a few dozen at most */
		double one = values[i];
		size_t at = i;

		for (; at > 0 && values[at - 1] > one; at--)
			values[at] = values[at - 1];
		values[at] = one;
	}
	return count == 0       ? 0
	       : count % 2 != 0 ? values[count / 2]
				: (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* What was usual before this day. */
static void learn(struct walk *walk, size_t end)
{
	double values[BASELINE_WINDOW_MAX];
	size_t count = 0;

	for (size_t i = end; i > 0 && count < (size_t)walk->conf->window_days; i--)
		if (!walk->apart[i - 1])
			values[count++] = walk->logs[i - 1];
	walk->days = 0;
	if (count < (size_t)walk->conf->warm_up_days)
		return;
	walk->middle = median(values, count);
	for (size_t i = 0; i < count; i++)
		values[i] = fabs(values[i] - walk->middle);
	/* that of a few days is often too small by chance */
	double sigma = SIGMA_OF_MAD * median(values, count) * (1 + FEW_DAYS / (double)count);

	walk->reach = fmax(walk->conf->deviation * sigma, log(walk->conf->ratio));
	walk->days = count;
}

/* 1: higher than is usual, -1: lower, 0: usual. */
static int side_of(const struct walk *walk, size_t day)
{
	double off = walk->logs[day] - walk->middle;

	return off > walk->reach ? 1 : off < -walk->reach ? -1 : 0;
}

/* How many of the days of [from, until) are on a side, and the first of them. */
static size_t count_side(const struct walk *walk, size_t from, size_t until, int side,
			 size_t *ret_first)
{
	size_t count = 0;

	for (size_t i = until; i > from; i--)
		if (side_of(walk, i - 1) == side) {
			count++;
			*ret_first = i - 1;
		}
	return count;
}

static void set_apart(struct walk *walk, size_t from, size_t until, bool apart)
{
	for (size_t i = from; i < until; i++)
		walk->apart[i] = apart;
}

/* A day more, while all was as usual. */
static void look_for_change(struct walk *walk, size_t day)
{
	size_t recent = (size_t)walk->conf->of_days, from = day + 1 > recent ? day + 1 - recent : 0;
	size_t first = 0;

	learn(walk, from);
	if (!walk->days)
		return;
	walk->state = BASELINE_STEADY;
	for (int side = -1; side <= 1; side += 2) {
		if (count_side(walk, from, day + 1, side, &first) < (size_t)walk->conf->out_days)
			continue;
		walk->state = side > 0 ? BASELINE_HIGHER : BASELINE_LOWER;
		walk->since = first;
		set_apart(walk, first, day + 1, true);
		return;
	}
}

/* A day more of something that has changed: is it over, or has it become the usual? */
static void look_for_end(struct walk *walk, size_t day)
{
	size_t recent = (size_t)walk->conf->of_days, from = day + 1 - recent, first = 0;
	int side = walk->state == BASELINE_HIGHER ? 1 : -1;
	size_t out = count_side(walk, from, day + 1, side, &first);

	set_apart(walk, day, day + 1, true);
	if (recent - out >= (size_t)walk->conf->out_days) {
		walk->state = BASELINE_STEADY;
	} else if (day + 1 - walk->since >= (size_t)walk->conf->window_days) {
		set_apart(walk, 0, walk->since, true);
		set_apart(walk, walk->since, day + 1, false);
		learn(walk, day + 1);
		walk->state = walk->days ? BASELINE_STEADY : BASELINE_WARMING_UP;
	}
}

void baseline_judge(const struct baseline_day *days, size_t count, const struct baseline_conf *conf,
		    double floor, struct baseline_verdict *ret_verdict)
{
	struct walk walk = { .conf = conf };
	double recent[BASELINE_WINDOW_MAX];
	size_t recent_count = 0;

	if (count > BASELINE_DAYS_MAX) {
		days += count - BASELINE_DAYS_MAX;
		count = BASELINE_DAYS_MAX;
	}
	walk.count = count;
	for (size_t i = 0; i < count; i++)
		walk.logs[i] = log(fmax(days[i].value, 0) + floor);
	for (size_t i = 0; i < count; i++)
		if (walk.state == BASELINE_HIGHER || walk.state == BASELINE_LOWER)
			look_for_end(&walk, i);
		else
			look_for_change(&walk, i);
	for (size_t i = count; i > 0 && recent_count < (size_t)conf->of_days; i--)
		recent[recent_count++] = walk.logs[i - 1];
	*ret_verdict = (struct baseline_verdict){ .state = walk.state, .days = walk.days };
	if (recent_count)
		ret_verdict->now = fmax(exp(median(recent, recent_count)) - floor, 0);
	if (walk.days)
		ret_verdict->usual = fmax(exp(walk.middle) - floor, 0);
	if (walk.state == BASELINE_HIGHER || walk.state == BASELINE_LOWER)
		ret_verdict->since_day = days[walk.since].day;
}
