/* The families of operators, and finding one in them. A family is a file: native_<family>.c with a sorted table at its end, and a line here. */
#include "engine/native/native.h"

#include <string.h>

#define FAMILY(name) extern const struct native_family native_family_##name;
#include "engine/native/families.def"
#undef FAMILY

static const struct native_family *const families[] = {
#define FAMILY(name) &native_family_##name,
#include "engine/native/families.def"
#undef FAMILY
};

const struct native_family *native_family_at(size_t index)
{
	return index < sizeof(families) / sizeof(families[0]) ? families[index] : NULL;
}

static const struct native_op *find_in(const struct native_family *family, const char *kind)
{
	size_t first = 0, past = family->op_count;

	while (first < past) {
		size_t middle = first + (past - first) / 2;
		int order = strcmp(kind, family->ops[middle].kind);

		if (order == 0)
			return &family->ops[middle];
		if (order < 0)
			past = middle;
		else
			first = middle + 1;
	}
	return NULL;
}

const struct native_op *native_op_find(const char *domain, const char *kind)
{
	const struct native_family *family;

	if (strcmp(domain, "ai.onnx") == 0)
		domain = "";
	for (size_t i = 0; (family = native_family_at(i)); i++) {
		const struct native_op *op =
			strcmp(domain, family->domain) == 0 ? find_in(family, kind) : NULL;

		if (op)
			return op;
	}
	return NULL;
}
