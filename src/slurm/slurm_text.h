/* Spans of time, sizes and lists as Slurm writes them. */
#ifndef SLURM_SLURM_TEXT_H
#define SLURM_SLURM_TEXT_H

#include "core/buf.h"

void slurm_span(struct buf *buf, int64_t seconds);  /* "0:05", "1:00:00", "1-00:00:00" */
void slurm_clock(struct buf *buf, int64_t seconds); /* "01:00:00", "7-00:00:00" */
void slurm_size(struct buf *buf, int64_t bytes);    /* "1G", "1536M" */
/* The same in that unit, "1.46G" for 'G'; SLURM_UNIT_OWN: always "1024M"; 0: as slurm_size. */
#define SLURM_UNIT_OWN '-'
void slurm_size_in(struct buf *buf, int64_t bytes, char unit);
/* Is the word one of a list "a,b"? */
bool slurm_listed(const char *list, const char *word);

#endif
