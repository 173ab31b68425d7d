/*
 * Memory that nobody may touch, as far as AddressSanitizer can be told: what an arena has not handed out lies
 * inside a block that malloc gave, so without this an overrun in it goes unseen. In other builds all of this
 * is nothing.
 */
#ifndef CORE_POISON_H
#define CORE_POISON_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISON 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define POISON 1
#endif

#ifdef POISON
#include <sanitizer/asan_interface.h>
/* Left behind each piece, so that the next is not what an overrun meets. */
enum { POISON_GAP_BYTES = 16 };
#define poison(start, size_bytes) ASAN_POISON_MEMORY_REGION(start, size_bytes)
#define unpoison(start, size_bytes) ASAN_UNPOISON_MEMORY_REGION(start, size_bytes)
#else
enum { POISON_GAP_BYTES = 0 };
#define poison(start, size_bytes) ((void)(start), (void)(size_bytes))
#define unpoison(start, size_bytes) ((void)(start), (void)(size_bytes))
#endif

#endif
