#!/bin/sh
. "$(dirname "$0")/lib.sh"

it 'says what a name stands for'
run strata solver show 'DPM++ 2M SDE Karras:eta=0.5'
gives 0
prints_some 'dpmpp_2m'
prints_some 'schedule: karras'
prints_some 'sde-dpmsolver++'

it 'says it to programs'
run strata solver show 'DPM++ 2M SDE Karras:eta=0.5' --json
gives 0
prints_json 'd["name"] == "dpmpp_2m" and d["schedule"] == "karras" and d["options"]["eta"] == 0.5 and d["options"]["beta_start"] == 0.00085'

it 'knows families of models'
run strata solver show FLUX --json
gives 0
prints_json 'd["name"] == "flow_euler" and d["options"]["use_dynamic_shifting"]'

it 'reads a diffusers configuration'
printf '{"_class_name": "EulerDiscreteScheduler", "_diffusers_version": "0.30", "beta_start": 0.1, "surprise": [1]}' >scheduler_config.json
run strata solver show --config scheduler_config.json --json
gives 0
prints_json 'd["name"] == "euler" and d["options"]["beta_start"] == 0.1 and d["options"]["beta_schedule"] == "linear"'
run strata solver show ddim --config scheduler_config.json --json
prints_json 'd["name"] == "ddim" and d["options"]["beta_start"] == 0.1'
run strata solver show 'DPM++ 2M SDE Karras:eta=0.25' --config scheduler_config.json --json
prints_json 'd["schedule"] == "karras" and d["options"]["eta"] == 0.25 and d["options"]["beta_start"] == 0.1 and d["options"]["algorithm_type"] == "sde-dpmsolver++"'

it 'refuses what it does not know, with the nearest'
run strata solver show eular
gives 3
says_some "did you mean 'euler'?"
run strata solver show
gives 2
says_some 'no solver is named'
