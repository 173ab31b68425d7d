/* What tools/python-cdef is tried on. */
#ifndef STRATA_SAMPLE_H
#define STRATA_SAMPLE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define SAMPLE_LONG \
	(INT64_C(1) << 40) /* a comment; with { brackets */
#define SAMPLE_PART 1e-6
#define SAMPLE_TEXT "not a number"

enum sample_kind {
	SAMPLE_A, /* the first, which is 0 */
	SAMPLE_B = SAMPLE_A + 5,
};

struct sample {
	char name[SAMPLE_B + 1];
	union {
		int a;
		double b;
	};
};

int sample_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

static inline int sample_twice(int value)
{
	if (value > 0) {
		return 2 * value;
	}
	return 0;
}

void sample_fill(unsigned char ret_bytes[SAMPLE_B]);

#ifdef __clang_analyzer__
#define sample_print(...) 0
#endif
#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
