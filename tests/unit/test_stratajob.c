/* What is to be done about a StrataJob. */
#include "pod_json.h"

#include "kubernetes/kube_object.h"
#include "stratajobs/stratajob.h"

#include <string.h>

static enum stratajob_step next(const char *text)
{
	json_t *object = json_of(text);
	enum stratajob_step step = stratajob_next(object);

	json_decref(object);
	return step;
}

#define GUARDED "'finalizers':['x','strata.io/job']"
#define DELETED ",'deletionTimestamp':'2026-01-01T00:00:00Z'"

TEST(every_state_has_its_step)
{
	static const struct {
		const char *object;
		enum stratajob_step step;
	} cases[] = {
		{ "{'metadata':{}}", STRATAJOB_GUARD },
		{ "{'metadata':{'finalizers':['x']}}", STRATAJOB_GUARD },
		{ "{'metadata':{" GUARDED "}}", STRATAJOB_SUBMIT },
		{ "{'metadata':{" GUARDED "},'status':{'id':7,'state':'running'}}",
		  STRATAJOB_LOOK },
		{ "{'metadata':{" GUARDED "},'status':{'id':7,'state':'completed'}}",
		  STRATAJOB_NOTHING },
		{ "{'metadata':{" GUARDED "},'status':{'state':'failed'}}", STRATAJOB_NOTHING },
		{ "{'metadata':{" GUARDED DELETED "},'status':{'id':7,'state':'running'}}",
		  STRATAJOB_CANCEL },
		{ "{'metadata':{" GUARDED DELETED "},'status':{'id':7,'state':'cancelled'}}",
		  STRATAJOB_RELEASE },
		{ "{'metadata':{" GUARDED DELETED "},'status':{'state':'failed'}}",
		  STRATAJOB_RELEASE },
		/* it may have been submitted: the same key says */
		{ "{'metadata':{" GUARDED DELETED "}}", STRATAJOB_SUBMIT },
		{ "{'metadata':{'finalizers':['x']" DELETED "},'status':{'id':7}}",
		  STRATAJOB_NOTHING },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_INT(next(cases[i].object), cases[i].step);
}

TEST(the_job_has_the_uid_as_its_key_and_the_name_unless_it_says_another)
{
	json_t *object = json_of("{'metadata':{'name':'n','uid':'u','namespace':'s'},'spec':{"
				 "'command':['true'],'request_key':'mine'}}");
	json_t *job = stratajob_job(object);

	CHECK_TEXT(kube_text(job, "name", NULL), "n");
	CHECK_TEXT(kube_text(job, "request_key", NULL), "u");
	CHECK_TEXT(kube_text(object, "spec", "request_key", NULL), "mine");
	json_decref(job);
	json_object_set_new(json_object_get(object, "spec"), "name", json_string("other"));
	job = stratajob_job(object);
	CHECK_TEXT(kube_text(job, "name", NULL), "other");
	json_decref(job);
	json_decref(object);
}

TEST(finalizers_of_others_stay_and_ours_is_there_once)
{
	json_t *object = json_of("{'metadata':{'resourceVersion':'7'," GUARDED "}}");
	json_t *with = stratajob_finalizers(object, true);
	json_t *without = stratajob_finalizers(object, false);

	CHECK_INT(json_array_size(kube_at(with, "metadata", "finalizers", NULL)), 2);
	CHECK_INT(json_array_size(kube_at(without, "metadata", "finalizers", NULL)), 1);
	CHECK_TEXT(kube_text(with, "metadata", "resourceVersion", NULL), "7");
	json_decref(with);
	json_decref(without);
	json_decref(object);
}

TEST(the_status_is_what_the_service_says_and_only_what_is_new)
{
	json_t *object = json_of("{'metadata':{},'status':{'id':7,'state':'queued','reason':'x'}}");
	json_t *job =
		json_of("{'id':7,'state':'running','reason':null,'node_names':['a'],'user':'u'}");
	bool same = true;
	json_t *patch = stratajob_status(object, job, &same);

	CHECK(!same);
	CHECK_TEXT(kube_text(patch, "status", "state", NULL), "running");
	CHECK(json_is_null(kube_at(patch, "status", "reason", NULL)));
	CHECK_INT(json_array_size(kube_at(patch, "status", "nodes", NULL)), 1);
	CHECK(!kube_at(patch, "status", "id", NULL));
	CHECK(!kube_at(patch, "status", "user", NULL));
	json_decref(patch);
	json_decref(object);
	object = json_of("{'metadata':{},'status':{'id':7,'state':'running','nodes':['a']}}");
	patch = stratajob_status(object, job, &same);
	CHECK(same);
	json_decref(patch);
	json_decref(job);
	json_decref(object);
}
