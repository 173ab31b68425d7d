/* Runs a fuzz target over its corpus, as an ordinary test: corpus_X DIRECTORY. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int not_hidden(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void run_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = malloc(1 << 20);

	if (!file || !data) {
		printf("Bail out! cannot read %s\n", path);
		exit(1);
	}
	size_t size = fread(data, 1, 1 << 20, file);
	uint8_t *exact = malloc(size + !size); /* so that the sanitizer sees a read past the end */

	if (!exact)
		exit(1);
	memcpy(exact, data, size);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
	free(data);
	fclose(file);
}

int main(int argc, char **argv)
{
	struct dirent **entries;
	char path[4096];
	int count = argc == 2 ? scandir(argv[1], &entries, not_hidden, alphasort) : -1;

	if (count < 1) {
		printf("Bail out! no corpus at %s\n", argc == 2 ? argv[1] : "(none given)");
		return 1;
	}
	printf("1..%d\n", count);
	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/%s", argv[1], entries[i]->d_name);
		run_file(path);
		printf("ok %d - %s\n", i + 1, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return 0;
}
