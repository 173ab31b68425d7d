/*
 * Graphs in the forms that others write, recognised by what is in them: the documented JSON form (docs/place.md), WfCommons workflows, Standard
 * Task Graphs, RGPOS graphs, Graphviz DAGs with weights, the JSON of dnn-partitioning, and lines of JSON with small placements whose
 * optimum is known. A file holds one case, the last form one for each line. All readers are bounded and refuse with a sentence.
 */
#ifndef FORMATS_GRAPH_CASE_H
#define FORMATS_GRAPH_CASE_H

#include <strata/place.h>

enum graph_form {
	GRAPH_JSON,
	GRAPH_WFCOMMONS,
	GRAPH_STG,
	GRAPH_RGPOS,
	GRAPH_DOT,
	GRAPH_DNN,
	GRAPH_OPT,
};
enum { GRAPH_FORM_COUNT = GRAPH_OPT + 1 };
/* As the sets are called: "dag_opt" for Graphviz, "placement_opt" … */
const char *graph_form_name(enum graph_form form);

struct graph_reference {  /* a value that the file itself gives */
	const char *name; /* "optimum", "rr" …; in the arena */
	double value;     /* in the case's unit; NaN: it does not fit */
};

struct graph_case {
	enum graph_form form;
	const char *name;           /* of the case in its file; "" when it has none; in the arena */
	struct strata_graph *graph; /* finished; freed by graph_file_fini */
	struct strata_machine machine; /* in the arena; no devices when the form has none */
	enum strata_objective objective;
	bool fixed_order;
	double unit_ns;    /* what 1 in the file's times means */
	size_t processors; /* that the file says; 0: none */
	const struct graph_reference *references;
	size_t reference_count;
};

struct graph_file {
	struct graph_case *cases; /* in the arena */
	size_t count;
};

/* Reads a file of any of the forms. name is for graphs without one of their own. Machines and references live in the arena, graphs in
 * its memory. */
int graph_file_read(const char *text, size_t length, const char *name, struct strata_arena *arena,
		    struct graph_file *ret_file, struct strata_error *err);
/* Frees the graphs. */
void graph_file_fini(struct graph_file *file);

/* Devices as JSON (docs/place.md), alone or as part of the documented form. */
int graph_devices_read(const char *text, size_t length, struct strata_arena *arena,
		       struct strata_machine *ret_machine, struct strata_error *err);

/* A machine of processors that are alike but for their speed, every two joined by a link (0: infinitely fast). For forms that have times in
 * units: an op's flops are its ns on speed 1. */
int graph_processors(size_t count, const double *speeds, double bytes_per_s,
		     struct strata_arena *arena, struct strata_machine *ret_machine,
		     struct strata_error *err);

#endif
