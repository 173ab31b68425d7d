/* From a node to the object that holds it: how intrusive containers (heap.h, tree.h) give back what
 * was put in. */
#ifndef CORE_CONTAINER_H
#define CORE_CONTAINER_H

#include <stddef.h>

/* The struct of `type` whose `member` is at `pointer`, which must not be NULL. */
#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))

#endif
