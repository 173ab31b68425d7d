/*
 * Text forms of what people write and read: durations, sizes, rates, times, numbers. One reader and
 * one set of printers for each, used by options, files, the CLI, the API and the Slurm commands.
 *
 * Readers take a pointer and a length and never read past it; STRATA_TEXT_NUL as length means the
 * text ends with a NUL. The whole text must be of the form: blanks at either end, trailing
 * characters and empty text are refused. They return 0, -EINVAL (not of the form) or -ERANGE (of
 * the form, but too large or too small) with a sentence that names the text and what was expected;
 * the output is untouched on failure. Letters may be of either case unless said.
 *
 * Printers write into the caller's array and return it, so that several may stand in one call of
 * printf. What the exact printers write, the readers read back as the same value. Nothing here
 * depends on the locale, the clock or the time zone of the machine. All functions are thread-safe.
 */
#ifndef STRATA_TEXT_H
#define STRATA_TEXT_H

#include <strata/error.h>
#include <strata/limits.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

enum { STRATA_FORM_BYTES = 64 }; /* what every printer needs, the NUL included */
#define STRATA_TEXT_NUL SIZE_MAX /* as a length: up to the NUL */

/* Durations: 0 to STRATA_DURATION_NS_MAX. */

#define STRATA_US_NS INT64_C(1000)
#define STRATA_MS_NS INT64_C(1000000)
#define STRATA_SECOND_NS INT64_C(1000000000)
#define STRATA_MINUTE_NS (60 * STRATA_SECOND_NS)
#define STRATA_HOUR_NS (60 * STRATA_MINUTE_NS)
#define STRATA_DAY_NS (24 * STRATA_HOUR_NS)
#define STRATA_WEEK_NS (7 * STRATA_DAY_NS)

#define STRATA_DURATION_UNLIMITED INT64_MAX

enum { STRATA_DURATION_UNLIMITED_OK = 1 };

/*
 * Reads a duration in one of these forms:
 *
 *	90, 1.5			a number of bare_unit_ns, as in Slurm's --time=90 (minutes);
 *				refused when that is 0
 *	2h30m, 1h 30min, 1.5h	numbers with units, from large to small: ns us ms s m h d w and
 *				their words (sec, minutes, hours …); rounded to the nearest ns
 *	10:00, 1:02:03		minutes:seconds, hours:minutes:seconds
 *	1-02, 1-02:03:04	days-hours[:minutes[:seconds]]
 *	unlimited, infinite, -1	STRATA_DURATION_UNLIMITED; only when flags has
 *				STRATA_DURATION_UNLIMITED_OK
 *
 * In the forms with colons and dashes each field is a whole number of any size, as in Slurm:
 * 0-48:00 is two days.
 */
int strata_duration_parse(const char *text, size_t length, int64_t bare_unit_ns, unsigned flags,
			  int64_t *ret_ns, struct strata_error *err);

/* Exact: "2h30m", "1m0.5s", "250ms", "3d4h", "0s", "unlimited". A negative one has a "-" in front
 * (and is not read back). */
char *strata_duration_print(int64_t ns, char ret_text[STRATA_FORM_BYTES]);

/* As Slurm writes them: "00:10:00", "1-02:03:04", "UNLIMITED". Parts of a second are cut off. */
char *strata_duration_print_slurm(int64_t ns, char ret_text[STRATA_FORM_BYTES]);

/* Rounded, for tables and messages: "2h 30m", "3d 4h", "1.5 s", "250 ms", "unlimited". */
char *strata_duration_print_short(int64_t ns, char ret_text[STRATA_FORM_BYTES]);

/* Sizes: 0 to INT64_MAX bytes. */

/* kB, MB, GB … count in 1024 too, as in Slurm. */
enum { STRATA_SIZE_BINARY = 1 };

/*
 * Reads a number, perhaps with a fraction, and a unit:
 *
 *	1024		a number of bare_unit_bytes (1 for bytes, 1 << 20 for Slurm's --mem);
 *			refused when that is 0
 *	4B, 4 bytes	bytes
 *	4k 512M 2G 1T	powers of 1024, as in Slurm and most tools; so are 4Ki and 4KiB … P, E
 *	4kB 10 MB 1.5GB	powers of 1000, unless flags has STRATA_SIZE_BINARY
 *
 * What is finer than one byte is rounded to the nearest.
 */
int strata_size_parse(const char *text, size_t length, int64_t bare_unit_bytes, unsigned flags,
		      int64_t *ret_bytes, struct strata_error *err);

/* Exact, in the largest power of 1024 that divides it: "512MiB", "1000", "0". */
char *strata_size_print(int64_t bytes, char ret_text[STRATA_FORM_BYTES]);

/* Rounded to three digits: "1.5 GiB", "512 MiB", "999 B". */
char *strata_size_print_short(int64_t bytes, char ret_text[STRATA_FORM_BYTES]);

/*
 * Rates: 0 to INT64_MAX bytes per second. A size as above, or bits: "10Gbit/s", "10Gb/s", "10Gbps",
 * where a small b stands for bits and a large one for bytes ("1.5GB/s", "200MiB/s"). "/s" may be
 * left out; a bare number is in bytes.
 */
int strata_rate_parse(const char *text, size_t length, int64_t *ret_bytes_per_s,
		      struct strata_error *err);

/* Exact: "200MiB/s", "1000B/s". */
char *strata_rate_print(int64_t bytes_per_s, char ret_text[STRATA_FORM_BYTES]);

/* Rounded to three digits, in powers of 1000, as makers of disks and networks do: "1.5 GB/s". */
char *strata_rate_print_short(int64_t bytes_per_s, char ret_text[STRATA_FORM_BYTES]);

/* Times: nanoseconds since 1970-01-01T00:00:00Z, up to STRATA_TIME_NS_MAX (the end of 2261). */

#define STRATA_TIME_NO_NOW INT64_C(-1) /* as now_ns: forms relative to now are refused */

/*
 * Reads a time in one of these forms:
 *
 *	2026-03-01T12:30:00.5Z	ISO 8601; a blank may stand for the T; the seconds, their fraction
 *				(up to nine digits) and the whole clock may be left out. The zone
 *				is Z, +01:00, +0100 or +01; without one the time is local
 *	16:00, 4:30 PM		the next such time after now; also midnight, elevenses (11:00),
 *				noon, fika (15:00), teatime (16:00)
 *	today, tomorrow		the day's first moment, or with a clock behind it: "tomorrow 16:00",
 *				"today noon"
 *	now, now+2h, now-1day	a duration from now, a bare number being seconds
 *	@1767225600		seconds since the epoch, perhaps with a fraction
 *
 * Local means zone_seconds east of UTC (0: UTC), which must lie within a day. 24:00, a second 60
 * and days that do not exist are refused.
 */
int strata_time_parse(const char *text, size_t length, int64_t now_ns, int32_t zone_seconds,
		      int64_t *ret_ns, struct strata_error *err);

/* ISO 8601 in UTC with 0, 3, 6 or 9 digits of fraction, whichever is exact: "2026-03-01T12:30:00Z".
 * Any value prints. */
char *strata_time_print(int64_t ns, char ret_text[STRATA_FORM_BYTES]);

/* Numbers. */

/* A whole number in decimal with an optional sign; -ERANGE names the range when it is outside min …
 * max. */
int strata_int_parse(const char *text, size_t length, int64_t min, int64_t max, int64_t *ret_value,
		     struct strata_error *err);

/* A finite number: "3", "-0.5", ".5", "1e-3"; rounded correctly. -ERANGE when it is too large for a
 * double. At most STRATA_NUMBER_BYTES_MAX characters. */
int strata_real_parse(const char *text, size_t length, double *ret_value, struct strata_error *err);

/* The shortest of the forms with 15, 16 or 17 digits that reads back as the same value, with a
 * point from 0.0001 to 1e16 and with an exponent elsewhere: "0.1", "3", "-2.5e-7", "1e22". Also
 * "inf", "-inf" and "nan", which are not read back. */
char *strata_real_print(double value, char ret_text[STRATA_FORM_BYTES]);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
