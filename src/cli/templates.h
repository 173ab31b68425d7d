/*
 * The templates of `strata init`, as they stand in templates/ (tools/templates-embed): job files
 * and settings for common workloads.
 */
#ifndef CLI_TEMPLATES_H
#define CLI_TEMPLATES_H

#include <stdbool.h>

struct template_file {
	const char *name; /* NULL behind the last */
	bool program;     /* begins with #! */
	const char *text;
};

struct template {
	const char *name;                  /* "train"; NULL behind the last */
	const char *summary;               /* one line, lower case, no full stop */
	const char *next;                  /* lines, with @DIR@ for where the files are */
	const struct template_file *files; /* of this template */
};

/* Sorted by name. */
extern const struct template templates[];
/* packaging/slurm: one, with the script of `strata slurm setup` for a host as its only file. */
extern const struct template slurm_host_templates[];

#endif
