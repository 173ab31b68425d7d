#include "test.h"

#include "server/multipart.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TYPE "multipart/form-data; boundary=xyz"
static struct strata_error err;

/* The parts of a body as "name=value;name=value;", or what is wrong. */
static int walk(const char *type, const char *body, size_t length, char ret_text[1024])
{
	struct multipart form;
	struct multipart_part part;
	size_t used = 0;
	int rc = multipart_init(&form, type, body, length, &err);

	ret_text[0] = '\0';
	if (rc <= 0)
		return rc;
	while ((rc = multipart_next(&form, &part, &err)) > 0)
		used += (size_t)snprintf(ret_text + used, 1024 - used, "%s=%.*s;", part.name,
					 (int)part.length, part.bytes);
	return rc;
}

static int walk_text(const char *body, char ret_text[1024])
{
	return walk(TYPE, body, strlen(body), ret_text);
}

#define PART(name, value) \
	"--xyz\r\nContent-Disposition: form-data; name=\"" name "\"\r\n\r\n" value "\r\n"

TEST(a_form_is_cut_into_its_parts)
{
	char text[1024];

	CHECK_OK(walk_text(PART("prompt", "a seven") PART("steps", "4") "--xyz--\r\n", text));
	CHECK_TEXT(text, "prompt=a seven;steps=4;");
	CHECK_OK(walk_text(PART("a", "") PART("b", "\r\n--xy\r\n") "--xyz--", text));
	CHECK_TEXT(text, "a=;b=\r\n--xy\r\n;");
	CHECK_OK(walk_text("before\r\n" PART("a", "1") "--xyz--\r\nbehind", text));
	CHECK_TEXT(text, "a=1;");
	CHECK_OK(walk_text("--xyz--", text));
	CHECK_TEXT(text, "");
	CHECK_OK(walk_text("--xyz \r\ncontent-type: image/png\r\ncontent-disposition:form-data; "
			   "filename=\"name=q\"; name=image\r\n\r\nPNG\r\n--xyz--",
			   text));
	CHECK_TEXT(text, "image=PNG;");
}

TEST(its_type_says_whether_it_is_one)
{
	static const char body[] =
		"--a b\r\nContent-Disposition: x; NAME=\"q\\\"r\"\r\n\r\n1\r\n--a b--";
	char text[1024];

	CHECK_INT(walk(NULL, "", 0, text), 0);
	CHECK_INT(walk("application/json", "", 0, text), 0);
	CHECK_INT(walk("multipart/form-datas; boundary=x", "", 0, text), 0);
	CHECK_OK(walk("Multipart/Form-Data; charset=utf-8; Boundary=\"a b\"", body,
		      sizeof(body) - 1, text));
	CHECK_TEXT(text, "q\"r=1;");
	CHECK_ERROR(walk("multipart/form-data", "", 0, text), -EBADMSG, "no boundary of 1 to 70");
	CHECK_ERROR(walk("multipart/form-data; boundary=", "", 0, text), -EBADMSG, "boundary");
	CHECK_ERROR(walk("multipart/form-data; boundary="
			 "12345678901234567890123456789012345678901234567890123456789012345678901",
			 "", 0, text),
		    -EBADMSG, "boundary");
}

TEST(what_is_cut_off_or_has_no_name_is_refused)
{
	static const char whole[] = PART("prompt", "a seven") PART("n", "2") "--xyz--";
	char text[1024];

	for (size_t length = 0; length < sizeof(whole) - 1; length++)
		CHECK(walk(TYPE, whole, length, text) == -EBADMSG);
	CHECK_ERROR(walk_text("--xyz\r\n\r\nx\r\n--xyz--", text), -EBADMSG, "has no name");
	CHECK_ERROR(walk_text("--xyz\r\nContent-Disposition: form-data\r\n\r\nx\r\n--xyz--", text),
		    -EBADMSG, "has no name");
	CHECK_ERROR(
		walk_text(PART("1234567890123456789012345678901234567890123456789012345678901234",
			       "x") "--xyz--",
			  text),
		-EBADMSG, "1 to 63");
	CHECK_ERROR(walk_text("--xyzz", text), -EBADMSG, "cut off");
}

TEST(heads_and_parts_are_bounded)
{
	struct multipart form;
	struct multipart_part part;
	char body[8192], text[1024];
	size_t used = 0;

	for (int i = 0; i < MULTIPART_PARTS_MAX + 1; i++)
		used += (size_t)snprintf(body + used, sizeof(body) - used, PART("a", "1"));
	snprintf(body + used, sizeof(body) - used, "--xyz--");
	CHECK_INT(multipart_init(&form, TYPE, body, strlen(body), &err), 1);
	for (int i = 0; i < MULTIPART_PARTS_MAX; i++)
		CHECK_INT(multipart_next(&form, &part, &err), 1);
	CHECK_ERROR(multipart_next(&form, &part, &err), -E2BIG, "more than 64 parts");
	snprintf(body, sizeof(body),
		 "--xyz\r\nContent-Disposition: form-data; name=a; x=%5000d\r\n"
		 "\r\n1\r\n--xyz--",
		 1);
	CHECK_ERROR(walk_text(body, text), -EBADMSG, "within 4096 bytes");
}
