#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'writes what diffusers reads'
run strata solver config 'DPM++ 2M SDE Karras'
gives 0
prints_json 'd["_class_name"] == "DPMSolverMultistepScheduler" and d["algorithm_type"] == "sde-dpmsolver++" and d["use_karras_sigmas"] is True and d["beta_schedule"] == "scaled_linear"'

it 'writes what it reads'
run strata solver config 'heun:use_karras_sigmas:s_churn=2'
printf '%s' "$out" >scheduler_config.json
run strata solver table --config scheduler_config.json --steps 12 --json
gives 0
read_back=$out
run strata solver table 'heun:use_karras_sigmas:s_churn=2' --steps 12 --json
[ "$read_back" = "$out" ] || problem 'another table'

it 'takes over the settings of another file'
printf '{"_class_name": "DDIMScheduler", "beta_end": 0.015, "prediction_type": "v_prediction"}' >scheduler_config.json
run strata solver config unipc --config scheduler_config.json
gives 0
prints_json 'd["_class_name"] == "UniPCMultistepScheduler" and d["prediction_type"] == "v_prediction" and d["beta_end"] == 0.015'

it 'refuses what diffusers does not have'
run strata solver config er_sde
gives 1
says_some 'diffusers has no class for the solver er_sde'
run strata solver config 'Euler SGM Uniform'
gives 1
says_some 'schedule sgm_uniform'
