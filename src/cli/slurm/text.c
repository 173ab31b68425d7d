/* Times, sizes and lists as Slurm writes them. */
#include "cli/slurm/jobs.h"

#include <strata/slurm.h>

#include <inttypes.h>
#include <string.h>
#include <time.h>

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

void slurm_date(struct buf *buf, int64_t ns, const char *otherwise)
{
	time_t seconds = (time_t)(ns / STRATA_SECOND_NS);
	struct tm parts;
	char text[32];

	if (!ns || !localtime_r(&seconds, &parts) ||
	    !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts))
		buf_add(buf, otherwise);
	else
		buf_add(buf, text);
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

void slurm_tres(struct buf *buf, const struct slurm_job *job)
{
	buf_printf(buf, "cpu=%" PRId64, job->cpus);
	if (job->memory_bytes) {
		buf_add(buf, ",mem=");
		slurm_size(buf, job->memory_bytes);
	}
	buf_printf(buf, ",node=%" PRId64 ",billing=%" PRId64, job->nodes, job->cpus);
	if (job->gpus)
		buf_printf(buf, ",gres/gpu=%" PRId64, job->gpus);
}

const char *slurm_hosts(struct cli *cli, const char *const *names, size_t count)
{
	const char *text = "";

	if (count && strata_hostlist_compress(names, count, &cli->arena, &text, &cli->err))
		return NULL;
	return text;
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
