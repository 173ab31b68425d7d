#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/service.sh"

done='status="finished" steps_done=20 ended_at="2000-01-01T14:00:09Z" started_at="2000-01-01T14:00:02Z"'
one='images=[{"hash":"aa","bytes":3,"width":28,"height":28}]'

it 'asks for a picture, waits for it and saves it'
serve '{"POST /api/v1/generate": {"status": 201, "body": '"$(task)"'},
	"GET /api/v1/tasks/17": [{"body": '"$(task position=2)"'}, {"body": '"$(task 'status="denoising"' steps_done=9)"'}, {"body": '"$(task $done "$one")"'}],
	"GET /api/v1/tasks/17/image/0": {"hex": "89504e"}}'
umask 027
run strata generate 'a seven' --seed 5 -o seven.png
gives 0
says_some 'seven.png: 28x28, 20 steps, seed 5'
[ "$(stat -c %a seven.png)" = 640 ] || problem "the umask was 027, the mode is $(stat -c %a seven.png)"
[ "$(od -An -tx1 seven.png)" = ' 89 50 4e' ] || problem "the file is not what was sent: $(od -An -tx1 seven.png)"
asked 'r[0]["body"] == {"prompt": "a seven", "seed": 5} and len(r[0]["headers"]["idempotency-key"]) == 32'

it 'says what was said and leaves out the rest'
serve '{"POST /api/v1/generate": {"status": 201, "body": '"$(task position=3 'expected_start="2199-01-01T14:05:00Z"')"'}}'
run strata generate 'a fox' --model sdxl --webhook https://h/x --solver 'DPM++ 2M' --schedule karras --steps 30 --size 512x768 --guidance 7.5 --quality draft --negative 'a dog' -n 4 --priority 7 --deadline 2199-01-01T00:00:00Z --no-wait
gives 0
prints 'task T17 is pending: number 3 in line, starts ≈ 2199-01-01 14:05'
asked 'p["body"] == {"prompt": "a fox", "webhook": "https://h/x", "quality": "draft", "model": "sdxl", "scheduler": "DPM++ 2M", "schedule": "karras", "steps": 30, "width": 512, "height": 768, "guidance_scale": 7.5, "negative_prompt": "a dog", "n": 4, "priority": 7, "deadline": "2199-01-01T00:00:00Z"}'
run strata generate 'a fox' --deadline 10m --no-wait --json
gives 0
prints_json 'd["id"] == 17 and d["position"] == 3'
asked 'p["body"]["deadline"] > "2026"'

it 'follows the task by its events, and asks where they end too soon'
serve '{"POST /api/v1/generate": {"status": 201, "body": '"$(task)"'},
	"GET /api/v1/tasks/17/events": {"chunks": ["retry: 1000\n\nevent: progress\ndata: ", '"$(task position=2 | python3 -c 'import json, sys; print(json.dumps(sys.stdin.read()))')"', "\n\n: here\n\nevent: preview\ndata: {\"id\": 17, \"preview\": 1}\n\n",
		"event: end\ndata: ", '"$(task $done "$one" | python3 -c 'import json, sys; print(json.dumps(sys.stdin.read()))')"', "\n\n"]},
	"GET /api/v1/tasks/17/image/0": {"hex": "89504e"}}'
run strata generate 'a seven' --seed 5 -o seven.png
gives 0
says_some 'seven.png: 28x28, 20 steps, seed 5'
asked 'not any(q["path"] == "/api/v1/tasks/17" for q in r)'
serve '{"POST /api/v1/generate": {"status": 201, "body": '"$(task)"'},
	"GET /api/v1/tasks/17/events": {"chunks": ["event: progress\ndata: {"], "break": true},
	"GET /api/v1/tasks/17": {"body": '"$(task $done "$one")"'},
	"GET /api/v1/tasks/17/image/0": {"hex": "89504e"}}'
run strata generate 'a seven' --seed 5 -o seven.png --preview auto
gives 0
says_some 'seven.png: 28x28, 20 steps, seed 5'

it 'saves several pictures in a file each'
serve '{"POST /api/v1/generate": {"status": 201, "body": '"$(task)"'},
	"GET /api/v1/tasks/17": {"body": '"$(task $done 'images=[{"hash":"aa","bytes":1,"width":28,"height":28},{"hash":"bb","bytes":1,"width":28,"height":28}]')"'},
	"GET /api/v1/tasks/17/image/0": {"hex": "aa"}, "GET /api/v1/tasks/17/image/1": {"hex": "bb"}}'
run strata generate 'a seven' -n 2 -o out.d.png
gives 0
says_some 'out.d-1.png: 28x28, 20 steps, seed 5'
says_some 'out.d-2.png: 28x28, 20 steps, seed 6'
[ "$(od -An -tx1 out.d-2.png)" = ' bb' ] || problem 'the second picture is not the second'
run strata generate 'a seven' -n 2 -o out --json
prints_json 'd["files"] == ["out-1", "out-2"] and d["status"] == "finished"'

it 'ends as the task does'
serve '{"POST /api/v1/generate": {"status": 201, "body": '"$(task)"'},
	"GET /api/v1/tasks/17": [{"body": '"$(task 'status="failed"' 'error="the size 30x30 cannot be"')"'}, {"body": '"$(task 'status="cancelled"' 'cancelled_by="bob"')"'}]}'
run strata generate 'a seven'
gives 6
says 'strata: task T17 failed: the size 30x30 cannot be'
run strata generate 'a seven'
gives 6
says 'strata: task T17 is cancelled by bob'
[ ! -e image.png ] || problem 'there is a file'

it 'cancels nothing on ^C, and says what to type next'
serve '{"POST /api/v1/generate": {"status": 201, "body": '"$(task)"'}, "GET /api/v1/tasks/17": {"body": '"$(task)"'}}'
python3 - <<'P' >said 2>&1
import signal, subprocess, time
process = subprocess.Popen(["strata", "generate", "a seven"], stderr=subprocess.PIPE, text=True)
while sum(1 for _ in open("requests")) < 2:
    time.sleep(0.02)
process.send_signal(signal.SIGINT)
print(process.communicate()[1].strip(), process.returncode)
P
run cat said
prints_some 'task T17 goes on; `strata tasks image T17 -o out.png` gets its picture, `strata tasks cancel T17` cancels it 130'
asked 'not any(q["method"] == "DELETE" for q in r)'

it 'waits for a server that goes away'
serve '{"POST /api/v1/generate": {"status": 201, "body": '"$(task)"'},
	"GET /api/v1/tasks/17": [{"body": '"$(task)"'}, {"drop": true}, {"drop": true}, {"drop": true}, {"drop": true}, {"body": '"$(task $done "$one")"'}],
	"GET /api/v1/tasks/17/image/0": {"hex": "89504e"}}'
run strata generate 'a seven'
gives 0
says_some 'waiting for it'
says_some 'image.png: 28x28'

it 'sends a picture to start from'
serve '{"POST /api/v1/generate": {"status": 201, "body": '"$(task)"'}}'
printf 'PNG!' >start.png
run strata generate 'a fox' --init start.png --strength 0.6 --no-wait
gives 0
asked 'p["body"] == {"prompt": "a fox", "init_image": "UE5HIQ==", "strength": 0.6}'
run strata generate 'a fox' --init nosuch.png
gives 3
says_some 'nosuch.png'

it 'refuses what it cannot read'
run strata generate 'a seven' --strength 0.5
gives 2
says_some '--init FILE'
run strata generate 'a seven' --priority 11
gives 2
says_some '10'
run strata generate 'a seven' --size 30
gives 2
says_some 'WIDTHxHEIGHT'
run strata generate 'a seven' --deadline soon
gives 2
says_some 'expected a duration such as 10m'
run strata generate
gives 2
