/* Which nodes a pod may go to. */
#include "pod_json.h"

static enum pod_match match(const char *rules_text, const char *labels, const char *spec)
{
	struct strata_memory memory = { 0 };
	struct strata_error err = { 0 };
	json_t *rules = json_of(rules_text), *json = node_json("n1", 0, labels, spec);
	struct node *node;

	CHECK_OK(node_read(json, &pod_rules, &memory, &node, &err));
	enum pod_match found = pod_match(rules, node);

	node_free(node, &memory);
	json_decref(rules);
	json_decref(json);
	return found;
}

#define TERM(key, operator, values)                                    \
	"{'terms':[{'matchExpressions':[{'key':'" key "','operator':'" \
	operator"','values':[" values "]}]}]}"

TEST(a_selector_wants_all_of_its_labels)
{
	CHECK_INT(match("{}", "", ""), POD_MATCHES);
	CHECK_INT(match("{'selector':{'a':'1'}}", ",'a':'1'", ""), POD_MATCHES);
	CHECK_INT(match("{'selector':{'a':'1','b':'2'}}", ",'a':'1'", ""), POD_MATCH_SELECTOR);
	CHECK_INT(match("{'selector':{'a':'1'}}", ",'a':'2'", ""), POD_MATCH_SELECTOR);
}

TEST(every_operator_of_a_term_holds_as_kubernetes_has_it)
{
	static const struct {
		const char *rules, *labels;
		bool fits;
	} cases[] = {
		{ TERM("a", "In", "'1','2'"), ",'a':'2'", true },
		{ TERM("a", "In", "'1','2'"), ",'a':'3'", false },
		{ TERM("a", "In", "'1'"), "", false },
		{ TERM("a", "NotIn", "'1'"), ",'a':'2'", true },
		{ TERM("a", "NotIn", "'1'"), "", true },
		{ TERM("a", "NotIn", "'1'"), ",'a':'1'", false },
		{ TERM("a", "Exists", ""), ",'a':''", true },
		{ TERM("a", "Exists", ""), "", false },
		{ TERM("a", "DoesNotExist", ""), "", true },
		{ TERM("a", "DoesNotExist", ""), ",'a':'1'", false },
		{ TERM("a", "Gt", "'6'"), ",'a':'7'", true },
		{ TERM("a", "Gt", "'7'"), ",'a':'7'", false },
		{ TERM("a", "Lt", "'8'"), ",'a':'7'", true },
		{ TERM("a", "Lt", "'8'"), ",'a':'x'", false },
		{ TERM("a", "Near", "'8'"), ",'a':'8'", false },
		{ "{'terms':[{'matchFields':[{'key':'metadata.name','operator':'In','values':['n1']"
		  "}]}]}",
		  "", true },
		{ "{'terms':[{'matchFields':[{'key':'metadata.name','operator':'In','values':['n2']"
		  "}]}]}",
		  "", false },
		{ "{'terms':[{}]}", "", false },
		{ "{'terms':[{},{'matchExpressions':[{'key':'a','operator':'Exists'}]}]}",
		  ",'a':'1'", true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_INT(match(cases[i].rules, cases[i].labels, ""),
			  cases[i].fits ? POD_MATCHES : POD_MATCH_SELECTOR);
}

TEST(a_taint_keeps_away_who_does_not_tolerate_it)
{
	static const char taint[] = "'taints':[{'key':'k','value':'v','effect':'NoSchedule'}]";
	static const struct {
		const char *rules;
		bool fits;
	} cases[] = {
		{ "{}", false },
		{ "{'tolerations':[{'key':'k','operator':'Equal','value':'v'}]}", true },
		{ "{'tolerations':[{'key':'k','value':'v','effect':'NoSchedule'}]}", true },
		{ "{'tolerations':[{'key':'k','value':'w'}]}", false },
		{ "{'tolerations':[{'key':'k','value':'v','effect':'NoExecute'}]}", false },
		{ "{'tolerations':[{'key':'k','operator':'Exists'}]}", true },
		{ "{'tolerations':[{'operator':'Exists'}]}", true },
		{ "{'tolerations':[{'value':'v'}]}", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_INT(match(cases[i].rules, "", taint),
			  cases[i].fits ? POD_MATCHES : POD_MATCH_TAINT);
	CHECK_INT(match("{}", "", "'taints':[{'key':'k','effect':'PreferNoSchedule'}]"),
		  POD_MATCHES);
	CHECK_INT(match("{}", "", "'taints':[{'key':'k','effect':'NoExecute'}]"), POD_MATCH_TAINT);
}
