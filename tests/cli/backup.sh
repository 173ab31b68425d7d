#!/bin/sh
. "$(dirname "$0")/lib.sh"

# A store without rows, as far as a reader looks: `number` is the version of its tables.
make_store() {
	python3 - "$1" "$2" <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.executescript("PRAGMA journal_mode = WAL; CREATE TABLE meta (name TEXT PRIMARY KEY, number INTEGER NOT NULL)")
db.execute("INSERT INTO meta VALUES ('schema', ?)", (int(sys.argv[2]),))
db.commit()
END
}

# The version of the tables that this program has: it says so of one that is older.
make_store "$top/old.db" 0
version=$(strata backup "$top/old.db" "$top/none.db" 2>&1 | sed -n 's/.*reads version \([0-9]*\).*/\1/p')

it 'copies a store into a new file that only its owner reads'
make_store a.db "$version"
run strata backup a.db b.db
gives 0
prints ''
[ "$(stat -c %a b.db)" = 600 ] || problem "b.db has mode $(stat -c %a b.db)"
run strata backup b.db c.db
gives 0

it 'overwrites nothing'
make_store a.db "$version"
echo precious >b.db
run strata backup a.db b.db
gives 6
says_some 'b.db is there already'
[ "$(cat b.db)" = precious ] || problem 'b.db was overwritten'

it 'says what is wrong with the store'
run strata backup none.db b.db
gives 3
says_some 'none.db'
echo 'this is no database, but it is long enough to be looked at by SQLite as one' >text.db
run strata backup text.db b.db
says_some 'not a database'
make_store new.db 999
run strata backup new.db b.db
says_some 'a newer one wrote them'
run strata backup mysql://x b.db
gives 2
says_some 'expected sqlite:PATH'
[ ! -e b.db ] || problem 'b.db was written'
