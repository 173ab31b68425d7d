/* strata version: what this program is and how it was built. */
#include "cli/cli.h"

#include <stdio.h>

#ifdef __SANITIZE_ADDRESS__
#define BUILT_ADDRESS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BUILT_ADDRESS 1
#endif
#endif
#ifndef BUILT_ADDRESS
#define BUILT_ADDRESS 0
#endif

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

static int run(struct cli *cli, const void *conf, char **operands, size_t operand_count)
{
	(void)conf, (void)operands, (void)operand_count;
	if (cli->globals.json)
		return cli_print_json(cli, json_pack("{s:s,s:i,s:s,s:s,s:b,s:b}", "version",
						     STRATA_VERSION, "plugin_abi", (int)STRATA_ABI,
						     "compiler", COMPILER, "jansson",
						     jansson_version_str(), "address_sanitizer",
						     BUILT_ADDRESS, "assertions",
#ifdef NDEBUG
						     0
#else
						     1
#endif
						     ));
	cli_printf(cli, "strata %s\n", STRATA_VERSION);
	return 0;
}

const struct cli_command cli_version = {
	.name = "version",
	.summary = "show the version, and with --json how it was built",
	.run = run,
};
