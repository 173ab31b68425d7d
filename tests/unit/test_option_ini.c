#include "sample.h"

#include <strata/limits.h>

#include <stdlib.h>

static int read_ini(const char *text, struct sample *sample, struct origins *origins,
		    struct strata_error *err)
{
	return option_read_ini(&sample_schema, text, strlen(text), "lab.ini", &sample_arena, sample,
			       origins, err);
}

TEST(sections_are_tables_and_named_sections_are_items)
{
	struct sample sample = sample_defaults();
	struct origins origins = { .arena = &sample_arena };
	struct strata_error err;

	CHECK_OK(read_ini("; a comment\n"
			  "steps = 7\n"
			  "title: hello there ; trailing\n"
			  "sizes = 3, 4\n"
			  "\n"
			  "[net]\n"
			  "   url = http://h:1/\n"
			  "   timeout = 2s\n"
			  "[disk fast one]\n"
			  "size = 1G\n"
			  "[disk b]\n"
			  "fast = yes\n"
			  "[disk fast one]\n"
			  "fast = on\n",
			  &sample, &origins, &err));
	CHECK_INT(sample.steps, 7);
	CHECK_TEXT(sample.title, "hello there");
	CHECK_INT(sample.sizes.count, 2);
	CHECK_TEXT(sample.net.url, "http://h:1/");
	CHECK_INT(sample.net.timeout_ns, 2000000000);
	CHECK_INT(sample.disks.count, 2);
	struct sample_disk *disks = sample.disks.items;

	CHECK_TEXT(disks[1].name, "b");
	CHECK_INT(disks[0].size_bytes, 1 << 30);
	CHECK(disks[0].fast && disks[1].fast);
	CHECK_TEXT(origins_find(&origins, "steps"), "lab.ini:2");
	CHECK_TEXT(origins_find(&origins, "net.timeout"), "lab.ini:8");
	CHECK_TEXT(origins_find(&origins, "disk[0].fast"), "lab.ini:14");
	CHECK(!origins_find(&origins, "scale"));
}

TEST(errors_name_file_and_line_and_change_nothing)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{ "\nsteps = x\n", "lab.ini:2: steps is 'x'; expected a whole number" },
		{ "stesp = 1", "lab.ini:1: sample has no option 'stesp'; did you mean 'steps'?" },
		{ "steps = 1\nsteps = 2", "lab.ini:2: steps is given twice (first at lab.ini:1)" },
		{ "steps = 1\nnum_steps = 2", "steps is given twice" },
		{ "[disk a]\nfast=1\n[net]\nurl=u\n[disk a]\nfast=0",
		  "fast is given twice (first at lab.ini:2)" },
		{ "[nte]\nurl = x", "lab.ini:2: sample has no option 'nte'; did you mean 'net'?" },
		{ "[net x]\nurl = x", "expected [net]" },
		{ "[disk]\nfast = 1", "section [disk] has no name; expected [disk NAME]" },
		{ "[steps]\nx = 1", "steps is not a section" },
		{ "[disk 123456789]\nfast = 1", "expected at most 8" },
		{ "just words\n", "lab.ini:1: expected [section], name = value or ; comment" },
		{ "[net\nurl = x", "expected [section]" },
	};
	struct sample sample = sample_defaults(), before = sample;
	struct strata_error err;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int rc = read_ini(cases[i].text, &sample, NULL, &err);

		CHECK(rc == -EINVAL || rc == -ERANGE);
		CHECK_ERROR(rc, rc, cases[i].words);
	}
	CHECK_BYTES(&sample, &before, sizeof(sample));
	CHECK_ERROR(option_read_ini(&sample_schema, "a\0b", 3, "lab.ini", &sample_arena, &sample,
				    NULL, &err),
		    -EINVAL, "NUL");
}

TEST(long_lines_and_names_are_refused_not_cut)
{
	struct sample sample = sample_defaults();
	struct strata_error err;
	char text[1024];

	memset(text, 0, sizeof(text));
	strcpy(text, "secret = ");
	memset(text + 9, 'x', 189);
	CHECK_OK(read_ini(text, &sample, NULL, &err));
	CHECK_INT(strlen(sample.secret), 189);
	memset(text + 9, 'x', 900);
	CHECK_ERROR(read_ini(text, &sample, NULL, &err), -EINVAL,
		    "lab.ini:1: the line is 909 bytes long");
	snprintf(text, sizeof(text), "[%060d]\n", 1);
	CHECK_ERROR(read_ini(text, &sample, NULL, &err), -EINVAL,
		    "the name is longer than 49 bytes");
	snprintf(text, sizeof(text), "%060d = 1\n", 1);
	CHECK_ERROR(read_ini(text, &sample, NULL, &err), -EINVAL,
		    "the name is longer than 49 bytes");
	snprintf(text, sizeof(text), "; %060d = 1\n", 1);
	CHECK_OK(read_ini(text, &sample, NULL, &err));
}

TEST(the_size_of_a_file_is_limited)
{
	char *text = malloc(STRATA_INI_BYTES_MAX + 1);
	struct sample sample = sample_defaults();
	struct strata_error err;

	memset(text, '\n', STRATA_INI_BYTES_MAX + 1);
	CHECK_OK(option_read_ini(&sample_schema, text, STRATA_INI_BYTES_MAX, "f", &sample_arena,
				 &sample, NULL, &err));
	CHECK_ERROR(option_read_ini(&sample_schema, text, STRATA_INI_BYTES_MAX + 1, "f",
				    &sample_arena, &sample, NULL, &err),
		    -E2BIG, "expected at most");
	free(text);
}

static int read_all(struct strata_memory *memory, void *context, struct strata_error *err)
{
	const char *text = "steps=3\n[net]\nurl=x\n[disk a]\nsize=1\n[disk b]\nfast=1\n";
	struct strata_arena arena;
	struct sample sample = { 0 };

	(void)context;
	strata_arena_init(&arena, memory, 0);
	struct origins origins = { .arena = &arena };
	int rc = option_read_ini(&sample_schema, text, strlen(text), "f", &arena, &sample, &origins,
				 err);

	strata_arena_fini(&arena);
	return rc;
}

TEST(reading_a_file_survives_lack_of_memory)
{
	CHECK(test_every_allocation(read_all, NULL) > 20);
}
