#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'prints one row per model call'
run strata solver table ddim --steps 5
gives 0
prints_some 'ddim: 5 rows, 0 slots'
prints_some '801'

it 'prints them for programs'
run strata solver table heun --steps 5 --json
gives 0
prints_json 'd["slots"] == 1 and len(d["rows"]) == 9 and d["rows"][1]["next"]["c"] == [1.0] and d["rows"][0]["writes"][0]["slot"] == 0'

it 'takes a schedule, own levels and a strength'
run strata solver table euler --steps 3 --schedule karras:rho=5 --json
gives 0
prints_json 'abs(d["rows"][0]["sigma"] - 14.6146) < 1e-3'
run strata solver table euler --sigmas 10,2,0.5 --json
gives 0
prints_json '[r["sigma"] for r in d["rows"]] == [10, 2, 0.5] and d["steps"] == 3'
run strata solver table ddim --steps 20 --strength 0.5 --json
gives 0
prints_json 'len(d["rows"]) == 10 and d["init_clean"] > 0'

it 'asks for mu where the picture sets the shift'
run strata solver table FLUX --steps 4
gives 2
says_some 'expected mu'
run strata solver table FLUX --steps 4 --mu 1.15
gives 0

it 'refuses what has no finite step'
run strata solver table ddim:rescale_betas_zero_snr:timestep_spacing=trailing --steps 5
gives 2
says_some 'v_prediction or sample'
run strata solver table consistency --steps 41
gives 2
says_some '1 to 40 steps'
run strata solver table dpm_adaptive
gives 0
prints_some 'depend on the error'
