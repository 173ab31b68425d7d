# Shell tests that read like a session. A test file sources this, then:
#
#	it 'shows the version'
#	run strata version
#	gives 0
#	prints 'strata 0.2.0'
#
# TAP comes out. Each `it` gets an empty directory to work in and no configuration.
set -u
strata=$STRATA_BUILD/strata
PATH=$STRATA_BUILD:$PATH
unset NO_COLOR STRATA_CONFIG STRATA_SOCKET STRATA_SERVER STRATA_CONTEXT STRATA_COLOR STRATA_PLUGINS STRATA_MODELS 2>/dev/null
export LC_ALL=C.UTF-8 TERM=xterm
top=$(mktemp -d "${TMPDIR:-/tmp}/strata-cli.XXXXXX")
number=0 failed=0 name= problems= skipped=

finish_case() {
	[ -n "$name" ] || return 0
	number=$((number + 1))
	if [ -n "$skipped" ]; then
		printf 'ok %d - %s # SKIP %s\n' "$number" "$name" "$skipped"
	elif [ -n "$problems" ]; then
		failed=1
		printf 'not ok %d - %s\n%s' "$number" "$name" "$problems"
	else
		printf 'ok %d - %s\n' "$number" "$name"
	fi
}

finish() {
	finish_case
	printf '1..%d\n' "$number"
	cd / && rm -rf "$top"
	exit $failed
}
trap finish EXIT

it() {
	finish_case
	name=$1 problems= skipped=
	rm -rf "$top/work" && mkdir -p "$top/work/home"
	cd "$top/work" || exit 1
	export HOME=$top/work/home XDG_CONFIG_HOME=$top/work/home/.config
}

# The machine cannot do this one: it counts as skipped, by name, for this reason.
skip() {
	skipped=$1
}

problem() {
	problems="$problems$(printf '%s\n' "$1" | sed 's/^/# /')
"
}

# Runs a command; its output is in $out and $err, its exit status in $code.
run() {
	"$@" >"$top/out" 2>"$top/err" </dev/null
	code=$?
	out=$(cat "$top/out") err=$(cat "$top/err")
}

gives() {
	[ "$code" = "$1" ] || problem "exit status $code, expected $1
stdout: $out
stderr: $err"
}
prints() {
	[ "$out" = "$1" ] || problem "stdout is
«$out», expected
«$1»"
}
says() {
	[ "$err" = "$1" ] || problem "stderr is
«$err», expected
«$1»"
}
prints_some() {
	case $out in *"$1"*) ;; *) problem "stdout lacks «$1»:
$out" ;; esac
}
says_some() {
	case $err in *"$1"*) ;; *) problem "stderr lacks «$1»:
$err" ;; esac
}
prints_not() {
	case $out in *"$1"*) problem "stdout has «$1»:
$out" ;; esac
}
prints_json() {
	printf '%s' "$out" | python3 -c "import json, sys; d = json.load(sys.stdin); assert $1, d" 2>"$top/why" ||
		problem "not the JSON expected ($1): $(tail -n 1 "$top/why")
$out"
}
