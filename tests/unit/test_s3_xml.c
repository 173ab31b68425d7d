/* XML as S3 writes it, and as it should not be. */
#include "test.h"

#include "s3/s3_xml.h"

#include <strata/limits.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static char got[1 << 14];

static int note(void *context, const char *parent, const char *name, const char *text)
{
	size_t length = strlen(got);

	snprintf(got + length, sizeof(got) - length, "%s/%s=%.60s;", parent, name, text);
	return context && strcmp(name, context) == 0 ? -ECANCELED : 0;
}

static int walk(const char *text, struct strata_error *err)
{
	got[0] = '\0';
	return s3_xml_walk(text, strlen(text), note, NULL, err);
}

TEST(leaves_are_read)
{
	struct strata_error err = { 0 };

	CHECK_OK(walk("<?xml version='1.0'?>\n<!-- a > b -->\n<L xmlns=\"http://s3>\"> \n <C a='<x'/>"
		      "<p:Key >a&amp;b&lt;&#65;&#xe4;&quot;</p:Key>\n</L>\n",
		      &err));
	CHECK_TEXT(got, "L/C=;L/Key=a&b<A\xc3\xa4\";");
	CHECK_INT(s3_xml_walk("<a><b>1</b><c>2</c></a>", 23, note, (char[]){ "b" }, &err),
		  -ECANCELED);
}

TEST(what_is_none_is_refused)
{
	static const char *const bad[] = {
		"",	  " ",		  "x",	       "<a>",	    "<a></b>",	  "</a>",
		"<a",	  "<a><b></a>",	  "<a>&b;</a>", "<a>&amp</a>", "<a>&#0;</a>", "<a>&#xd800;</a>",
		"<a>&#x110000;</a>", "<a>&#123456789;</a>", "<a/>x", "<!DOCTYPE a><a/>", "<a><!DOCTYPE b></a>",
		"<a><![CDATA[x]]></a>", "<>x</>", "<?xml", "<!-- ", "<a b='></a>",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct strata_error err = { 0 };

		CHECK_ERROR(walk(bad[i], &err), -EBADMSG, "not the XML");
	}
}

TEST(there_are_limits)
{
	static char text[1 << 16];
	struct strata_error err = { 0 };

	for (int more = 0; more < 2; more++) {
		text[0] = '\0';
		for (int i = 0; i < STRATA_S3_XML_DEPTH_MAX + more; i++)
			strcat(text, "<a>");
		for (int i = 0; i < STRATA_S3_XML_DEPTH_MAX + more; i++)
			strcat(text, "</a>");
		CHECK_INT(walk(text, &err), more ? -EBADMSG : 0);
		strcpy(text, "<a>");
		memset(text + 3, 'x', STRATA_S3_XML_TEXT_BYTES_MAX + (size_t)more);
		strcpy(text + 3 + STRATA_S3_XML_TEXT_BYTES_MAX + more, "</a>");
		CHECK_INT(walk(text, &err), more ? -EBADMSG : 0);
	}
}
