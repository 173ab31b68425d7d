/* Times as people read them: local, and no longer than is clear. */
#include "cli/service.h"

#include "core/env.h"

#include <errno.h>
#include <string.h>
#include <time.h>

int64_t when_now_ns(void)
{
	return env_now_ns(env_system(), ENV_REALTIME);
}

int32_t when_zone(int64_t ns)
{
	time_t seconds = (time_t)(ns / STRATA_SECOND_NS);
	struct tm local;

	return localtime_r(&seconds, &local) ? (int32_t)local.tm_gmtoff : 0;
}

char *when_print(int64_t ns, int64_t now_ns, char ret_text[STRATA_FORM_BYTES])
{
	time_t seconds = (time_t)(ns / STRATA_SECOND_NS), now = (time_t)(now_ns / STRATA_SECOND_NS);
	struct tm local, today;
	double away_s = difftime(seconds, now);
	const char *format = "%Y-%m-%d %H:%M";

	if (!localtime_r(&seconds, &local) || !localtime_r(&now, &today))
		return strata_time_print(ns, ret_text);
	if (local.tm_year == today.tm_year && local.tm_yday == today.tm_yday)
		format = "%H:%M";
	else if (away_s < 6 * 86400.0 && away_s > -6 * 86400.0)
		format = "%a %H:%M";
	if (strftime(ret_text, STRATA_FORM_BYTES, format, &local) == 0)
		return strata_time_print(ns, ret_text);
	return ret_text;
}

int64_t when_json(const json_t *object, const char *key)
{
	const char *text = grid_string(object, key);
	int64_t ns = 0;

	if (text)
		strata_time_parse(text, STRATA_TEXT_NUL, STRATA_TIME_NO_NOW, 0, &ns, NULL);
	return ns;
}

int when_since(struct cli *cli, const char *text, char ret_text[STRATA_FORM_BYTES])
{
	int64_t now_ns = when_now_ns(), ns;

	if (strata_duration_parse(text, STRATA_TEXT_NUL, 0, 0, &ns, NULL) == 0)
		ns = now_ns - ns;
	else if (strata_time_parse(text, STRATA_TEXT_NUL, now_ns, when_zone(now_ns), &ns, NULL))
		return strata_fail_at(&cli->err, -EINVAL, "since",
				      "--since is '%.60s'; expected a duration such as 7d or a "
				      "time such as 2026-03-01",
				      text);
	strata_time_print(ns - ns % STRATA_SECOND_NS, ret_text);
	return 0;
}
