/* The scalar reference: see row.h for what is promised about the order of the arithmetic. */
#include "solver/row.h"

#include "core/half.h"

float row_load(const void *buffer, enum strata_element element, size_t i)
{
	switch (element) {
	case STRATA_F16:
		return half_to_float(((const uint16_t *)buffer)[i]);
	case STRATA_BF16:
		return bfloat_to_float(((const uint16_t *)buffer)[i]);
	case STRATA_F32:
		break;
	}
	return ((const float *)buffer)[i];
}

void row_store(void *buffer, enum strata_element element, size_t i, float value)
{
	switch (element) {
	case STRATA_F16:
		((uint16_t *)buffer)[i] = half_from_float(value);
		return;
	case STRATA_BF16:
		((uint16_t *)buffer)[i] = bfloat_from_float(value);
		return;
	case STRATA_F32:
		break;
	}
	((float *)buffer)[i] = value;
}

float row_predict(const struct strata_solver_row *row, float x, float m)
{
	float y = (float)row->p * x;

	return row->q != 0 ? y + (float)row->q * m : y;
}

static float limit(const struct strata_solver_row *row, float y, float threshold)
{
	float most = row->flags & STRATA_ROW_THRESHOLD ? threshold : (float)row->limit;

	if (!(row->flags & (STRATA_ROW_CLIP | STRATA_ROW_THRESHOLD)))
		return y;
	if (y > most)
		y = most;
	if (y < -most)
		y = -most;
	return row->flags & STRATA_ROW_THRESHOLD ? y / most : y;
}

/* The operands of one element. */
struct operands {
	float x, m, y, noise;
	float slots[STRATA_SOLVER_SLOTS_MAX];
};

static float add_up(const struct strata_solver_sum *sum, const struct operands *in)
{
	float total = 0;

	if (sum->a != 0)
		total += (float)sum->a * in->x;
	if (sum->e != 0)
		total += (float)sum->e * in->m;
	if (sum->b != 0)
		total += (float)sum->b * in->y;
	for (size_t k = 0; k < STRATA_SOLVER_SLOTS_MAX; k++)
		if (sum->c[k] != 0)
			total += (float)sum->c[k] * in->slots[k];
	if (sum->d != 0)
		total += (float)sum->d * in->noise;
	return total;
}

/* Which slots any sum of the row reads, as bits; and whether any reads the noise. */
static unsigned slots_read(const struct strata_solver_row *row)
{
	unsigned bits = 0;

	for (size_t k = 0; k < STRATA_SOLVER_SLOTS_MAX; k++) {
		bool reads = row->next.c[k] != 0;

		for (uint32_t w = 0; w < row->write_count; w++)
			reads |= row->writes[w].sum.c[k] != 0;
		bits |= (unsigned)reads << k;
	}
	return bits;
}

static bool reads_noise(const struct strata_solver_row *row)
{
	bool reads = row->next.d != 0;

	for (uint32_t w = 0; w < row->write_count; w++)
		reads |= row->writes[w].sum.d != 0;
	return reads;
}

void row_apply(const struct strata_solver_item *item, enum strata_element element, size_t first,
	       size_t count, float threshold)
{
	const struct strata_solver_row *row = item->row;
	const bool model = !(row->flags & STRATA_ROW_NO_MODEL), noise = reads_noise(row);
	const unsigned slots = slots_read(row);

	for (size_t i = first; i < first + count; i++) {
		struct operands in = { .x = row_load(item->sample, element, i) };
		float written[STRATA_SOLVER_WRITES_MAX];

		if (model)
			in.m = row_load(item->output, element, i);
		if (noise)
			in.noise = item->noise[i];
		for (size_t k = 0; k < STRATA_SOLVER_SLOTS_MAX; k++)
			if (slots >> k & 1)
				in.slots[k] = row_load(item->slots[k], element, i);
		in.y = limit(row, row_predict(row, in.x, in.m), threshold);
		for (uint32_t w = 0; w < row->write_count; w++)
			written[w] = add_up(&row->writes[w].sum, &in);
		row_store(item->next, element, i, add_up(&row->next, &in));
		for (uint32_t w = 0; w < row->write_count; w++)
			row_store(item->slots[row->writes[w].slot], element, i, written[w]);
	}
}
