#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

it 'says what was said'
serve '{"PUT /api/v1/models/sdxl": {"status": 201, "body": '"$(model 'name="sdxl"')"'}, "PUT /api/v1/models/digits": {"body": '"$(model)"'}}'
mkdir folder
run strata models add sdxl folder --gpus 1 --cpus 2 --memory 12G --workers 0-4 --backend onnxruntime --worker python --batch 8 --solver euler --schedule karras --steps 30 --size 1024x768 --guidance 5
gives 0
prints 'model sdxl is there; `strata generate PROMPT --model sdxl` uses it'
asked 'p["body"] == {"folder": __import__("os").path.realpath("folder"), "gpus": 1, "cpus": 2.0, "memory": 12 << 30, "workers_min": 0, "workers_max": 4, "backend": "onnxruntime", "worker": "python", "batch": 8, "solver": "euler", "schedule": "karras", "steps": 30, "width": 1024, "height": 768, "guidance_scale": 5.0}'
run strata models add digits --workers 2 --json
gives 0
asked 'p["body"] == {"workers_min": 2, "workers_max": 2}'
prints_json 'd["name"] == "digits"'

it 'knows the family by what the folder says'
serve '{"PUT /api/v1/models/sdxl": {"body": '"$(model 'name="sdxl"')"'}}'
mkdir folder
echo '{"_class_name": "StableDiffusionXLPipeline"}' >folder/model_index.json
run strata models add sdxl folder
gives 0
asked 'p["body"]["family"] == "sdxl"'
asked '"width" not in p["body"]'
mkdir folder/unet folder/vae
echo '{"sample_size": 32}' >folder/unet/config.json
echo '{"block_out_channels": [64, 128, 256]}' >folder/vae/config.json
run strata models add sdxl folder
asked 'p["body"]["width"] == p["body"]["height"] == 128'
run strata models add sdxl folder --size 64x96
asked '(p["body"]["width"], p["body"]["height"]) == (64, 96)'
run strata models add sdxl folder --family sdxl_turbo
asked 'p["body"]["family"] == "sdxl_turbo" and "width" not in p["body"]'
echo '{"_class_name": "SomethingPipeline"}' >folder/model_index.json
run strata models add sdxl folder
asked '"family" not in p["body"]'

it 'refuses what it cannot read'
serve '{}'
run strata models add sdxl no/such/folder
gives 3
says_some 'no/such/folder: No such file or directory'
run strata models add digits --workers 4-2
gives 2
says_some 'a range such as 0-4'
run strata models add digits --size 3
gives 2
asked 'r == []'
