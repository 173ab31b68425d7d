# Makes this host what slurm.conf beside it says: packages, files, daemons. Run it as root, and again after a change: what is right
# already is left alone, and what it replaces stays beside it as FILE.before.
#
#   sh install-HOST.sh [--check | --force]
#
# --check changes nothing and says what is wrong; --force takes a host over that belongs to another cluster.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
check= force= changed=
case ${1-} in
--check) check=1 ;;
--force) force=1 ;;
'') ;;
*) echo "usage: sh install-$host.sh [--check | --force]" >&2; exit 2 ;;
esac
say() { echo "$host: $*"; }
die() { echo "$host: $*" >&2; exit 1; }
is() { case " $roles " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }

# ---- what is there ----
[ "$(id -u)" = 0 ] || die "this needs root"
name=$(hostname)
[ "${name%%.*}" = "${host%%.*}" ] || die "this host is called $name; run install-${name%%.*}.sh here, or name it: hostname $host"
for other in $hosts; do
	getent ahosts "$other" >/dev/null || die "nobody knows the address of $other: put it into /etc/hosts or the DNS of every host"
done
for file in slurm.conf gres.conf cgroup.conf munge.key; do
	[ -r "$here/$file" ] || die "$here/$file is missing: copy the whole directory to this host"
done
theirs=$(sed -n 's/^ClusterName=//p' /etc/slurm/slurm.conf 2>/dev/null || true)
if [ -n "$theirs" ] && [ "$theirs" != "$cluster" ] && [ -z "$force" ]; then
	die "this host belongs to the Slurm cluster '$theirs'; --force takes it over"
fi
packages="munge slurm-client"
is controller && packages="$packages slurmctld"
is node && packages="$packages slurmd"
missing=
for package in $packages; do
	dpkg-query -W -f '${db:Status-Abbrev}\n' "$package" 2>/dev/null | grep -q '^ii' || missing="$missing $package"
done
if [ -n "$check" ]; then
	[ -z "$missing" ] || say "packages are missing:$missing"
fi

# ---- packages ----
if [ -n "$missing" ] && [ -z "$check" ]; then
	say "installs$missing"
	apt-get update -q >/dev/null
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing >/dev/null
fi

# ---- the machine: what slurm.conf says of it must be there ----
has() { # FIELD: of this host, as slurmd finds it
	slurmd -C 2>/dev/null | tr ' ' '\n' | sed -n "s/^$1=//p" | head -n 1
}
if is node && command -v slurmd >/dev/null; then
	there=$(has CPUs)
	[ "${there:-0}" -ge "$cpus" ] || die "it has ${there:-no} CPUs, and slurm.conf says $cpus: --nodes $host:cpus=${there:-N}"
	there=$(has RealMemory)
	[ "${there:-0}" -ge "$memory_mib" ] || die "it has ${there:-no} MiB of memory, and slurm.conf says $memory_mib: --nodes $host:memory=${there:-N}M"
	gpu=0
	while [ "$gpu" -lt "$gpus" ]; do
		[ -e "$gpu_device$gpu" ] || die "there is no $gpu_device$gpu, and slurm.conf says that there are $gpus GPUs: is the driver loaded (nvidia-smi)?"
		gpu=$((gpu + 1))
	done
fi

# ---- files ----
put() { # FILE TO MODE OWNER
	if [ -e "$2" ] && cmp -s "$1" "$2"; then
		return 0
	fi
	changed="$changed ${2##*/}"
	[ -z "$check" ] || return 0
	[ ! -e "$2" ] || cp -p "$2" "$2.before"
	install -m "$3" -o "${4%%:*}" -g "${4##*:}" "$1" "$2"
}
folder() { # DIR MODE OWNER
	[ -n "$check" ] || install -d -m "$2" -o "${3%%:*}" -g "${3##*:}" "$1"
}
if [ -z "$check" ] || [ -d /etc/munge ]; then
	put "$here/munge.key" /etc/munge/munge.key 0400 munge:munge
fi
munge_changed=$changed
folder /etc/slurm 0755 root:root
folder /var/log/slurm 0755 slurm:slurm
folder /var/lib/slurm 0755 slurm:slurm
is controller && folder /var/lib/slurm/slurmctld 0700 slurm:slurm
is node && folder /var/lib/slurm/slurmd 0755 root:root
for file in slurm.conf gres.conf cgroup.conf; do
	put "$here/$file" "/etc/slurm/$file" 0644 root:root
done
if [ -n "$check" ]; then
	[ -z "$changed" ] || say "would write$changed"
	[ -n "$missing$changed" ] || say "is as it should be"
	[ -z "$missing$changed" ]
	exit
fi

# ---- daemons ----
up() { # NAME CHANGED: runs, with what is written now
	if ! service "$1" status >/dev/null 2>&1; then
		[ ! -d /run/systemd/system ] || systemctl enable -q "$1"
		service "$1" start >/dev/null
		say "$1 is started"
	elif [ -n "$2" ]; then
		service "$1" restart >/dev/null
		say "$1 is started again"
	fi
}
await() { # WHAT COMMAND…
	what=$1
	shift
	tries=0
	until "$@" >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ "$tries" -lt 60 ] || die "$what; its log is in /var/log/slurm or /var/log/munge"
		sleep 0.5
	done
}
munge_works() { munge -n | unmunge; }
controller_answers() { scontrol ping | grep -q 'is UP'; }
node_is_there() { scontrol -o show node "$host" | grep -Eq 'State=(IDLE|MIXED|ALLOCATED)'; }
up munge "$munge_changed"
await "munge does not answer" munge_works
if is controller; then
	up slurmctld "$changed"
	await "slurmctld does not answer" controller_answers
fi
if is node; then
	up slurmd "$changed"
	if controller_answers; then
		await "the controller does not take this node: $(sinfo -h -n "$host" -o '%T %E' 2>/dev/null || true)" node_is_there
	else
		say "the controller, $controller, does not answer yet: run install-$controller.sh there"
	fi
fi

# ---- the service: its jobs run on these nodes from now on ----
if is controller && command -v strata >/dev/null; then
	ini=/etc/strata/strata.ini
	mkdir -p /etc/strata
	[ -e "$ini" ] || printf '[serve]\n' >"$ini"
	new=$(mktemp "$ini.XXXXXX")
	trap 'rm -f "$new"' EXIT
	# one line of [serve]: put in the place of the one that is there, or below the title
	awk '
		/^\[/ { if (in_serve && !done) { print "executor = slurm"; done = 1 } in_serve = ($0 ~ /^\[serve\]/) }
		in_serve && /^[ \t]*executor[ \t]*=/ { if (!done) print ($0 ~ /=[ \t]*slurm(:|[ \t]*$)/ ? $0 : "executor = slurm"); done = 1; next }
		{ print }
		END { if (!done) { if (!in_serve) print "[serve]"; print "executor = slurm" } }' "$ini" >"$new"
	if ! cmp -s "$new" "$ini"; then
		strata config --check "$new" >/dev/null || die "$ini cannot be changed: strata config --check $ini says why"
		cp -p "$ini" "$ini.before"
		cat "$new" >"$ini"
		if [ -d /run/systemd/system ]; then
			systemctl try-restart strata
		fi
		say "the service runs jobs on Slurm after its next start (executor = slurm in $ini)"
	fi
fi
say "is ready"
