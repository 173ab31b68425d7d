#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'is not for people'
run strata help
prints_not supervise
run strata supervise
gives 2
says 'strata: usage: strata supervise DIR EPOCH (the service runs it)'
run strata supervise . never
gives 2
says_some 'never'

it 'runs one attempt to its end'
mkdir 1.1
printf '#!/bin/sh\necho hello; exit 3\n' >1.1/script
chmod 500 1.1/script
printf 'PATH=/usr/bin:/bin\0' >1.1/environ
printf '{"job":1,"attempt":1,"epoch":7,"user":"%s","uid":%d,"gid":%d,"directory":"%s","output":"out","time_limit_ns":60000000000}' \
	"$(id -un)" "$(id -u)" "$(id -g)" "$PWD" >1.1/order.json
run strata supervise "$PWD/1.1" 6
gives 0
[ ! -e out ] || problem 'an order of another epoch was run'
run strata supervise "$PWD/1.1" 7
gives 0
[ "$(cat out)" = hello ] || problem 'no output'
run cat 1.1/status.json
prints_json 'd["how"] == "exited" and d["exit_code"] == 3 and d["epoch"] == 7'
run strata supervise "$PWD/1.1" 7
gives 0
[ "$(cat out)" = hello ] || problem 'it ran again'

it 'says what is missing'
run strata supervise "$PWD/1.1" 7
gives 3
says_some 'cannot open'
