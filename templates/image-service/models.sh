#!/bin/sh
# Models of the service: name, folder, and what a worker of it needs. Run it again after a change; what is there is changed, not doubled.
set -eu

# A folder as diffusers writes it, exported to ONNX or for the Python worker (--worker python). At least 0 workers: no GPU is kept while
# nobody draws; `strata models warm NAME` keeps one.
# strata models add sdxl /srv/models/sdxl --gpus 1 --memory 12G --workers 0-4
# strata models default sdxl

# Comes with the program, and needs no GPU: a seven in 28x28 pixels shows that everything works.
strata generate 'a seven' -o seven.png
strata models
