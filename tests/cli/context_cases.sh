# For the tests of contexts: two that are there. Sourced behind lib.sh.
contexts() {
	mkdir -p home/.config/strata/contexts
	printf '{"server": "https://gpu.lab:8470", "token": "strata_a", "fingerprint": "sha256//EZw8MsiWekGjX3CZs+gI0JWz6jskn6UVhYsWhJViAx4="}' >home/.config/strata/contexts/lab.json
	printf '{"server": "https://mine", "token": "strata_b"}' >home/.config/strata/contexts/own.json
	printf 'lab\n' >home/.config/strata/context
	chmod 600 home/.config/strata/contexts/*
}
