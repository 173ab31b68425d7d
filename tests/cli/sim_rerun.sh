#!/bin/sh
. "$(dirname "$0")/lib.sh"

record() {
	cat >record <<'END'
{"event":"begin","format":1,"order":"fifo"}
{"event":"add_node","conf":{"name":"n0","cpu_milli":2000}}
{"event":"submit","now_ns":1,"request":{"id":1,"user":"ann","tasks":1,"cpu_milli":2000,"time_limit_ns":100}}
{"event":"submit","now_ns":2,"request":{"id":2,"user":"ann","tasks":1,"cpu_milli":1000,"time_limit_ns":100}}
{"event":"pass","now_ns":3,"effects":[{"kind":"start","job":1,"state":"scheduled","attempt":1,"pieces":[{"tasks":1,"cpu_milli":2000}]}]}
END
}

it 'decides everything over and says so'
record
run strata sim rerun record
gives 0
prints_some 'DECIDED OTHERWISE'
run strata sim rerun record --json
gives 0
prints_json 'd["clusters"] == 1 and d["events"] == 4 and d["starts"] == 1 and d["differing"] == 0 and d["first"] is None'

it 'shows the first decision that is another'
record
sed 's/"job":1,"state"/"job":2,"state"/' record >other
run strata sim rerun other
gives 1
prints_some 'line 5 then: {"event":"pass","now_ns":3,"effects":[{"kind":"start","job":2'
prints_some 'line 5 now:  {"event":"pass","now_ns":3,"effects":[{"kind":"start","job":1'
says_some 'line 5 was decided otherwise'
run strata sim rerun other --json
gives 1
prints_json 'd["differing"] == 1 and d["first"]["line"] == 5'

it 'reads what was compressed'
record
gzip record
run strata sim rerun record.gz
gives 0

it 'names the line that it cannot read'
record
sed '3s/user/ruse/' record >odd
run strata sim rerun odd
gives 2
says_some "line 3: there is no member 'ruse'"
run strata sim rerun none
gives 3
says_some 'none'
