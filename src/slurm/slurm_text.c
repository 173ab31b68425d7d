/* Spans of time, sizes and lists as Slurm writes them. */
#include "slurm/slurm_text.h"

#include <inttypes.h>
#include <string.h>

enum { MINUTE_S = 60, HOUR_S = 3600, DAY_S = 86400 };

void slurm_span(struct buf *buf, int64_t seconds)
{
	int64_t days = seconds / DAY_S, hours = seconds % DAY_S / HOUR_S;
	int minutes = (int)(seconds % HOUR_S / MINUTE_S), rest = (int)(seconds % MINUTE_S);

	if (days)
		buf_printf(buf, "%" PRId64 "-%02" PRId64 ":%02d:%02d", days, hours, minutes, rest);
	else if (hours)
		buf_printf(buf, "%" PRId64 ":%02d:%02d", hours, minutes, rest);
	else
		buf_printf(buf, "%d:%02d", minutes, rest);
}

void slurm_clock(struct buf *buf, int64_t seconds)
{
	int64_t days = seconds / DAY_S;

	if (days)
		buf_printf(buf, "%" PRId64 "-", days);
	buf_printf(buf, "%02d:%02d:%02d", (int)(seconds % DAY_S / HOUR_S),
		   (int)(seconds % HOUR_S / MINUTE_S), (int)(seconds % MINUTE_S));
}

void slurm_size(struct buf *buf, int64_t bytes)
{
	static const char units[] = "MGTPE";
	int64_t count = (bytes + (1 << 20) - 1) >> 20;
	size_t unit = 0;

	while (count && count % 1024 == 0 && units[unit + 1]) {
		count /= 1024;
		unit++;
	}
	buf_printf(buf, "%" PRId64, count);
	if (count)
		buf_add_char(buf, units[unit]);
}

void slurm_size_in(struct buf *buf, int64_t bytes, char unit)
{
	static const char units[] = "KMGTPE";
	const char *at = unit ? strchr(units, unit) : NULL;
	double count = (double)bytes / 1024;

	if (!unit) {
		slurm_size(buf, bytes);
		return;
	}
	if (!at) {
		int64_t whole = (bytes + (1 << 20) - 1) >> 20;

		buf_printf(buf, whole ? "%" PRId64 "M" : "%" PRId64, whole);
		return;
	}
	for (const char *less = units; less < at; less++)
		count /= 1024;
	buf_printf(buf, count == (double)(int64_t)count ? "%.0f%c" : "%.2f%c", count, unit);
}

bool slurm_listed(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = list; at && *at;) {
		size_t span = strcspn(at, ",");

		if (span == length && strncmp(at, word, length) == 0)
			return true;
		at += span + (at[span] == ',');
	}
	return false;
}
