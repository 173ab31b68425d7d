/*
 * Rulers: see svg_axis.h. Ticks are at 1, 2 or 5 times a power of ten, those of time at what clocks
 * and calendars divide by, those of a logarithmic axis at powers of ten. Steps are found by
 * multiplying, not by logarithms, so that they are the same on every machine.
 */
#include "plot/svg_axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- numbers ---- */

/* Digits with a point where the locale has none of its own say; zeros at the end left out. */
static void print_decimals(int64_t value, int decimals, const char *suffix, char *ret_text)
{
	char digits[SVG_TICK_BYTES];
	uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value, unit = 1;

	for (; decimals > 0 && size % 10 == 0; decimals--)
		size /= 10;
	for (int i = 0; i < decimals; i++)
		unit *= 10;
	uint64_t whole = size / unit;

	if (whole >= 1000)
		snprintf(digits, sizeof(digits), "%llu,%03llu", (unsigned long long)(whole / 1000),
			 (unsigned long long)(whole % 1000));
	else
		snprintf(digits, sizeof(digits), "%llu", (unsigned long long)whole);
	size_t used =
		(size_t)snprintf(ret_text, SVG_TICK_BYTES, "%s%s", value < 0 ? "-" : "", digits);

	if (decimals > 0)
		used += (size_t)snprintf(ret_text + used, SVG_TICK_BYTES - used, ".%0*llu",
					 decimals, (unsigned long long)(size % unit));
	snprintf(ret_text + used, SVG_TICK_BYTES - used, "%s", suffix);
}

void svg_number(double value, double largest, char ret_text[SVG_TICK_BYTES])
{
	static const struct {
		double from, unit;
		const char *suffix;
	} units[] = { { 1e16, 0, "" },   { 1e12, 1e12, "T" }, { 1e9, 1e9, "G" },
		      { 1e6, 1e6, "M" }, { 1e4, 1e3, "k" },   { 0, 1, "" } };
	double size = fabs(value);
	size_t i = 0;

	if (!isfinite(value) || size >= units[0].from || (size > 0 && size < 1e-4)) {
		snprintf(ret_text, SVG_TICK_BYTES, "%.0e", value);
		return;
	}
	while (fabs(largest) < units[i].from || units[i].unit == 0)
		i++;
	double scaled = value / units[i].unit, scale = 1;
	int decimals = 0;

	size = fabs(scaled);
	for (; size > 0 && size * scale < 99.95 && decimals < 6; decimals++)
		scale *= 10;
	print_decimals((int64_t)llrint(scaled * scale), decimals, value == 0 ? "" : units[i].suffix,
		       ret_text);
}

/* ---- ticks ---- */

static const double factors[] = { 1, 2, 5 }; /* of powers of ten */

static void add_tick(struct svg_ruler *ruler, double value, double label, double largest)
{
	if (ruler->tick_count == SVG_TICKS_MAX)
		return;
	ruler->ticks[ruler->tick_count] = value;
	svg_number(label, largest, ruler->labels[ruler->tick_count++]);
}

/* The smallest of 1, 2, 5, 10, 20 … (and 0.5, 0.2 …) that is at least so much. */
static double nice_step(double least)
{
	double power = 1;

	while (power < least && power < 1e300)
		power *= 10;
	while (power > least && power > 1e-300)
		power /= 10;
	for (size_t i = 0; i < 3; i++)
		if (power * factors[i] >= least * (1 - 1e-9))
			return power * factors[i];
	return power * 10;
}

/* Ticks at multiples of the step; label = value / unit. */
static void even_ticks(struct svg_ruler *ruler, double step, double unit, bool whole)
{
	if (whole) {
		ruler->min = floor(ruler->min / step + 1e-9) * step;
		ruler->max = ceil(ruler->max / step - 1e-9) * step;
	}
	double first = ceil(ruler->min / step - 1e-9);
	double largest = fmax(fabs(ruler->min), fabs(ruler->max)) / unit;

	for (size_t i = 0; i < SVG_TICKS_MAX; i++) {
		double value = (first + (double)i) * step, label = value / unit;

		if (value > ruler->max + step * 1e-9)
			break;
		/* value carries the error of step itself: near 0 it must not show */
		add_tick(ruler, value, fabs(label) < step / unit * 1e-6 ? 0 : label, largest);
	}
}

static void time_ticks(struct svg_ruler *ruler, size_t ticks, bool whole)
{
	static const struct {
		double seconds;
		const char *name;
		double steps[6]; /* in the unit, ended by 0 */
	} units[] = {
		{ 1, "s", { 1, 2, 5, 10, 20, 30 } },
		{ 60, "min", { 1, 2, 5, 10, 15, 30 } },
		{ 3600, "h", { 1, 2, 3, 6, 12, 24 } },
		{ 86400, "days", { 1, 2, 0 } },
	};
	double span = ruler->max - ruler->min, least = span / (double)ticks, step = 0;
	size_t i = span < 180 ? 0 : span < 3 * 3600 ? 1 : span < 4 * 86400 ? 2 : 3;

	ruler->unit = units[i].name;
	for (size_t k = 0; step == 0 && k < 6 && units[i].steps[k] > 0; k++)
		if (units[i].steps[k] * units[i].seconds >= least && least >= units[i].seconds / 2)
			step = units[i].steps[k] * units[i].seconds;
	if (step == 0)
		step = nice_step(least / units[i].seconds) * units[i].seconds;
	even_ticks(ruler, step, units[i].seconds, whole);
}

/* From a power of ten to 1, 2 or 5 times one. */
static void widen_log(struct svg_ruler *ruler, double power)
{
	double high = power;

	for (size_t i = 0; high < ruler->max * (1 - 1e-9); i++)
		high = i % 3 == 2 ? high * 2 : i % 3 == 1 ? high / 2 * 5 : high * 2;
	ruler->min = power;
	ruler->max = high > power ? high : power * 10;
}

/* Ticks at powers of ten, and at 2 and 5 times them where there are few. */
static void log_ticks(struct svg_ruler *ruler, size_t ticks, bool whole)
{
	double power = 1;
	size_t decades = 0, index = 0;

	while (power > ruler->min * (1 + 1e-9))
		power /= 10;
	while (power * 10 <= ruler->min * (1 + 1e-9))
		power *= 10;
	if (whole) {
		widen_log(ruler, power);
		power = ruler->min;
	}
	for (double high = power; high * 10 <= ruler->max * (1 + 1e-9); decades++)
		high *= 10;
	size_t per_decade = decades * 3 <= ticks + 1 ? 3 : 1, every = 1 + decades / (ticks + 1);

	while (power <= ruler->max * (1 + 1e-9)) {
		for (size_t i = 0; i < per_decade && index % every == 0; i++) {
			double value = power * factors[i];

			if (value >= ruler->min * (1 - 1e-9) && value <= ruler->max * (1 + 1e-9))
				add_tick(ruler, value, value, value);
		}
		power *= 10;
		index++;
	}
}

static void choose_range(struct svg_ruler *ruler, const struct svg_axis *axis, double low,
			 double high)
{
	bool given = axis->min != 0 || axis->max != 0;

	if (given) {
		low = axis->min;
		high = axis->max;
	} else if (low > high) {
		low = axis->scale == SVG_LOG;
		high = 1;
	} else if (axis->scale != SVG_LOG && low > 0) {
		low = 0;
	}
	if (axis->scale == SVG_LOG && high <= 0)
		high = 1;
	if (axis->scale == SVG_LOG && low <= 0)
		low = high < 1 ? high / 10 : 1;
	if (!(high > low))
		high = axis->scale == SVG_LOG ? low * 10 : low + fmax(1, fabs(low) / 100);
	ruler->min = low;
	ruler->max = high;
}

void svg_ruler_init(struct svg_ruler *ruler, const struct svg_axis *axis, double low, double high,
		    size_t ticks, bool whole)
{
	bool given = axis->min != 0 || axis->max != 0;

	memset(ruler, 0, sizeof(*ruler));
	ruler->scale = axis->scale;
	choose_range(ruler, axis, low, high);
	whole = whole && !given;
	if (axis->scale == SVG_LOG)
		log_ticks(ruler, ticks, whole);
	else if (axis->scale == SVG_TIME)
		time_ticks(ruler, ticks, whole);
	else
		even_ticks(ruler, nice_step((ruler->max - ruler->min) / (double)ticks), 1, whole);
}

double svg_ruler_at(const struct svg_ruler *ruler, double value)
{
	double at;

	if (ruler->scale == SVG_LOG)
		at = value <= ruler->min ? 0
					 : log(value / ruler->min) / log(ruler->max / ruler->min);
	else
		at = (value - ruler->min) / (ruler->max - ruler->min);
	return at < 0 ? 0 : at > 1 ? 1 : at;
}
