/*
 * Applying rows to a batch whose members may each stand at a different one. Work is cut into pieces, members by stretches of
 * elements, and each piece is done as if it were alone: so any number of workers gives the same bits. Nothing is allocated.
 */
#include "solver/row.h"
#include "solver/threshold.h"

enum {
	ITEMS_AT_ONCE = 64,       /* whose thresholds are kept on the stack */
	PIECE_ELEMENTS = 1 << 14, /* less is not worth another thread */
	PIECES_PER_WORKER = 4,    /* so that a slow one holds up little */
};

struct work {
	const struct strata_solver_item *items;
	size_t item_count;
	size_t element_count;
	const struct strata_solver_how *how;
	const struct kernel *kernel; /* NULL: the scalar reference */
	size_t piece_count;          /* of each item */
	size_t piece_elements;
	float most[ITEMS_AT_ONCE]; /* what y is limited to */
};

static void limit_item(void *work_any, size_t index)
{
	struct work *work = work_any;
	const struct strata_solver_item *item = &work->items[index];
	struct terms terms;

	work->most[index] = (float)item->row->limit;
	if (!(item->row->flags & STRATA_ROW_THRESHOLD))
		return;
	terms_of(item->row, &terms);
	work->most[index] =
		threshold_find(work->kernel, &terms, item, work->how->element, work->element_count);
}

static void apply_piece(void *work_any, size_t index)
{
	const struct work *work = work_any;
	const struct strata_solver_item *item = &work->items[index / work->piece_count];
	size_t first = index % work->piece_count * work->piece_elements;
	size_t left = work->element_count - first;
	size_t count = left < work->piece_elements ? left : work->piece_elements;
	float most = work->most[index / work->piece_count];
	struct terms terms;

	terms_of(item->row, &terms);
	if (work->kernel)
		kernel_apply(work->kernel, &terms, item, work->how->element, first, count, most);
	else
		row_apply(&terms, item, work->how->element, first, count, most);
}

/* Cuts each item into pieces, whole ones when there is nobody to share with. */
static void cut(struct work *work)
{
	const struct strata_workers *workers = work->how->workers;
	size_t elements = work->element_count, most = elements / PIECE_ELEMENTS;
	size_t pieces = 1;

	if (workers && workers->count > 1)
		pieces = (workers->count * PIECES_PER_WORKER + work->item_count - 1) /
			 work->item_count;
	if (pieces > most)
		pieces = most ? most : 1;
	/* Stretches begin at a cache line's boundary, counted from the item's first element. */
	work->piece_elements = ((elements + pieces - 1) / pieces + 63) / 64 * 64;
	work->piece_count = (elements + work->piece_elements - 1) / work->piece_elements;
}

static void each(struct work *work, void (*call)(void *arg, size_t index), size_t count)
{
	const struct strata_workers *workers = work->how->workers;

	if (workers && workers->count > 1 && count > 1 &&
	    work->element_count * work->item_count >= 2 * (size_t)PIECE_ELEMENTS) {
		workers->run(workers->context, call, work, count);
		return;
	}
	for (size_t i = 0; i < count; i++)
		call(work, i);
}

void strata_solver_apply(const struct strata_solver_item *items, size_t item_count,
			 size_t element_count, const struct strata_solver_how *how)
{
	struct work work = { .element_count = element_count,
			     .how = how,
			     .kernel = kernel_find(how->isa) };

	for (size_t i = 0; i < item_count && element_count; i += ITEMS_AT_ONCE) {
		size_t left = item_count - i;

		work.items = items + i;
		work.item_count = left < ITEMS_AT_ONCE ? left : ITEMS_AT_ONCE;
		cut(&work);
		each(&work, limit_item, work.item_count);
		each(&work, apply_piece, work.item_count * work.piece_count);
	}
}
