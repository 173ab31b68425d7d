#!/bin/sh
. "$(dirname "$0")/lib.sh"

sets() {
	mkdir -p dag_opt rgpos
	printf 'digraph "x" {\n0 [Weight=10];\n1 [Weight=20];\n2 [Weight=20];\n0 -> 1 [Weight=1];\n0 -> 2 [Weight=1];\n}\n' >dag_opt/fork.dot
	printf 'file\tnodes\tprocessors\toptimum\nfork.dot\t3\t2\t31\nfork.dot\t3\t1\t50\n' >dag_opt/reference.tsv
	printf '2 0 2\n5 5\n' >rgpos/two.txt
}

# A line that begins so, blanks counting as one.
prints_row() {
	echo "$out" | tr -s ' ' | grep -q "^$1" || problem "stdout lacks a row «$1»:
$out"
}

it 'prints a row for each number of processors and a line for the set'
sets
run strata place bench dag_opt rgpos
gives 0
prints_row 'dag_opt fork.dot p=2 31 31 1.0000'
prints_row 'dag_opt fork.dot p=1 50 50 1.0000'
prints_row 'rgpos two.txt p=2 5 - - '
prints_row 'dag_opt: 2 rows, 2 compared, 2 no worse'
run strata place bench dag_opt/fork.dot rgpos --json
gives 0
prints_json '[sorted(r) for r in d["rows"]] == 3 * [["ms", "name", "ratio", "reference", "result", "set"]] and d["rows"][2]["reference"] is None'

it 'knows the small placements by heart'
run strata place bench "$STRATA_SOURCE/tests/data/place/instances.jsonl" --json
gives 0
prints_json 'len(d["rows"]) == 48 and all(abs(r["ratio"] - 1) < 1e-9 and r["set"] == "placement_opt" for r in d["rows"])'

it 'takes other strategies'
sets
run strata place bench dag_opt --strategy round_robin,heft --json
gives 0
run strata place bench dag_opt --strategy best_guess
gives 3

it 'says what is no graph'
echo hello >x.dot
run strata place bench x.dot
gives 2
says_some 'is not a number'
run strata place bench nowhere.dot
gives 3
