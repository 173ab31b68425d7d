/* Opening ONNX Runtime: libraries that are not there, not it, too old, or fail; and the real
 * one, where there is one. */
#include "test.h"

#include "engine/ort_api.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct strata_error err;
static struct ort ort;

static const char *fake(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/tests/%s.so", getenv("STRATA_BUILD"), name);
	return path;
}

TEST(what_is_not_there_is_named)
{
	CHECK_ERROR(ort_open("/nowhere/libonnxruntime.so", &ort, &err), -ENOENT,
		    "/nowhere/libonnxruntime.so");
	CHECK(!ort.env);
}

TEST(another_library_is_not_it)
{
	CHECK_ERROR(ort_open("libm.so.6", &ort, &err), -ENOSYS,
		    "libm.so.6 is not ONNX Runtime: it lacks OrtGetApiBase");
}

TEST(an_old_one_is_told_so_without_being_asked_for_more)
{
	CHECK_ERROR(ort_open(fake("fake_ort_old"), &ort, &err), -ENOSYS,
		    "is ONNX Runtime 1.11.3; 1.12 or newer is needed");
}

TEST(one_that_is_new_enough_is_opened)
{
	unsetenv("FAKE_ORT_FAILS");
	CHECK_OK(ort_open(fake("fake_ort_new"), &ort, &err));
	CHECK_TEXT(ort.version, "2.0.0");
	CHECK_TEXT((const char *)ort.env, "env");
	CHECK_TEXT((const char *)ort.cpu, "cpu");
	ort_close(&ort);
	CHECK(!ort.env && !ort.cpu);
}

TEST(a_status_becomes_one_line)
{
	setenv("FAKE_ORT_FAILS", "1", 1);
	CHECK_ERROR(ort_open(fake("fake_ort_new"), &ort, &err), -ENOSYS,
		    "fake_ort_new.so: no memory info");
	CHECK(!strchr(err.text, '\n') && !ort.env);
	unsetenv("FAKE_ORT_FAILS");
	CHECK_OK(ort_open(fake("fake_ort_new"), &ort, &err));
	CHECK_INT(ort_fail(&ort, NULL, -EIO, "x", &err), 0);
	CHECK_ERROR(ort_fail(&ort, (struct ort_status *)"is full", -ENOSPC, "it", &err), -ENOSPC,
		    "it: is full");
	ort_close(&ort);
}

TEST(root_takes_none_that_others_can_change)
{
	const struct ort *found = NULL;
	char command[16384];

	if (geteuid() != 0)
		test_skip("only root is that careful");
	snprintf(command, sizeof(command),
		 "cd %s && mkdir -p v/lib/python3.1/site-packages/onnxruntime/capi && "
		 "cp %s v/lib/python3.1/site-packages/onnxruntime/capi/libonnxruntime.so.1 && "
		 "chmod o+w v/lib/python3.1/site-packages",
		 test_temp_dir(), fake("fake_ort_new"));
	CHECK_INT(system(command), 0);
	snprintf(command, sizeof(command), "%s/v", test_temp_dir());
	setenv("VIRTUAL_ENV", command, 1);
	setenv("STRATA_ONNXRUNTIME", "", 1);
	setenv("PATH", "", 1);
	setenv("HOME", "", 1);
	if (ort_get(&found, NULL, &err) == 0)
		test_skip("the system has one");
	CHECK_ERROR(ort_get(&found, NULL, &err), -ENOENT, "site-packages");
	CHECK(strstr(err.text, "cannot be used") && !found);
}

TEST(the_one_of_the_process_says_how_to_get_it)
{
	const char *path = "unset";
	const struct ort *found = NULL;

	setenv("STRATA_ONNXRUNTIME", "/nowhere/libonnxruntime.so", 1);
	CHECK_ERROR(ort_get(&found, &path, &err), -ENOENT,
		    "ONNX Runtime cannot be used: /nowhere/");
	setenv("STRATA_ONNXRUNTIME", "", 1);
	setenv("PATH", "", 1);
	setenv("HOME", "", 1);
	unsetenv("VIRTUAL_ENV");
	if (ort_get(&found, &path, &err) == 0)
		test_skip("the system has it: %s", path);
	CHECK_ERROR(ort_get(&found, &path, &err), -ENOENT, "pip install onnxruntime");
	CHECK(!found);
	CHECK_TEXT(path, "unset");
	setenv("STRATA_ONNXRUNTIME", fake("fake_ort_new"), 1);
	CHECK_OK(ort_get(&found, &path, &err));
	CHECK_TEXT(path, fake("fake_ort_new"));
	setenv("STRATA_ONNXRUNTIME", "/nowhere", 1); /* found once, it stays */
	CHECK_OK(ort_get(&found, NULL, &err));
	CHECK_TEXT(found->version, "2.0.0");
}
