#!/usr/bin/env python3
"""The page's small modules, each called in the browser as the page calls it."""
from world import equal, run

ESC = "\x1b"
# module, expression, what it is
CASES = [
    ("words", "m.cutWords('python train.py')", ["python", "train.py"]),
    ("words", "m.cutWords(' a  \"b c\" d\\\\ e \\'f \"g\\' \"\" ')", ["a", "b c", "d e", 'f "g', ""]),
    ("words", "m.cutWords('\"a\\\\\"b\\\\n\"')", ['a"b\\n']),
    ("words", "(() => { try { m.cutWords(\"it's\"); } catch (e) { return e.message; } })()", "the command has a ' without its end"),
    ("words", "m.cutWords(m.joinWords(['a b', \"it's\", '$x', '', 'plain-1.0'])).join('|')", "a b|it's|$x||plain-1.0"),
    ("format", "[0, 59, 60, 3599, 3600, 5400, 86400, 90000].map(m.duration)", ["0 s", "59 s", "1 min", "59 min", "1 h", "1 h 30 m", "1 d", "1 d 1 h"]),
    ("format", "[0, 1023, 1024, 1536, 32 * 2 ** 30, 1.5 * 2 ** 40].map(m.bytes)", ["0 B", "1023 B", "1 kB", "1.5 kB", "32 GB", "1.5 TB"]),
    ("format", "[m.ranges([0, 1, 2, 5]), m.ranges([]), m.ranges([3]), m.ranges([9, 8])]", ["0–2, 5", "", "3", "8–9"]),
    ("format", "[m.count(1, 'job'), m.count(2500, 'job'), m.gpus(0), m.gpus(1)]", ["1 job", "2,500 jobs", "no GPU", "1 GPU"]),
    ("ansi", f"m.readLine('plain').pieces", [{"text": "plain", "class": ""}]),
    ("ansi", f"m.readLine('{ESC}[1;31mred{ESC}[0m not').pieces", [{"text": "red", "class": "a1 a31"}, {"text": " not", "class": ""}]),
    ("ansi", f"m.readLine('a{ESC}[2Kb{ESC}]0;title\\x07c{ESC}[10;10Hd{ESC}(Be').pieces.map(p => p.text).join('')", "abcde"),
    ("ansi", "m.readLine('10 %\\r20 %\\r30 %').pieces.map(p => p.text).join('')", "30 %"),
    ("ansi", "m.readLine('line\\r').pieces.map(p => p.text).join('')", "line"),
    ("ansi", f"m.readLine('{ESC}[38;5;196mmany{ESC}[39m{ESC}[92mgreen').pieces", [{"text": "many", "class": ""}, {"text": "green", "class": "a32"}]),
    ("ansi", f"m.readLine('on', m.readLine('{ESC}[33mstart').pen).pieces", [{"text": "on", "class": "a33"}]),
    ("ansi", "m.readLine('a\\u202eb\\x00c\\x9bd').pieces.map(p => p.text).join('')", "abcd"),
    ("state", "m.startText({ expected_start_at: null })", "–"),
    ("state", "[m.lookOf({ state: 'queued', reason: 'held' }), m.lookOf({ state: 'queued', reason: 'priority' }), m.lookOf({ state: 'nonsense' })]", ["held", "queued", "failed"]),
    ("state", "[m.asks({ gpus: 4, gpu_type: 'a100' }), m.asks({ gpus: 1 }), m.asks({ gpu_share: 0.5 }), m.asks({ gpus: 0, cpus: 8 }), m.numberOf({ id: 7, array_id: 5, array_index: 2 })]",
     ["4 A100", "1 GPU", "0.5 GPU", "8 CPU", "5_2"]),
    ("problems", "m.problems({ nodes: [{ name: 'n1', state: 'up', jobs: [] }], waiting: [{ id: 1, reason: 'priority' }], models: [{ name: 'm', trouble: null, pending: 1 }] })", []),
    ("problems", "m.problems({ nodes: [{ name: 'a', state: 'drained', gpus: 4, jobs: [1] }, { name: 'b', state: 'down', gpus: 4, jobs: [] }], waiting: [{ id: 9, name: 'x', user: 'u', reason: 'impossible', reason_text: 'no' }], models: [] }).map(p => p.title)",
     ["b is down", "x can never start", "a is drained"]),
]
NODES = "[{ name: 'n', gpus: 4 }, { name: 'c', gpus: 0 }]"
BARS = [
    ("[]", []),
    ("[{ id: 1, started_at: '2026-01-01T00:00:00Z', ended_at: '2026-01-01T01:00:00Z', node_names: ['n'], gpu_ids: { n: [0, 1, 3] } }]", [["n", 0, 2, "past"], ["n", 3, 1, "past"]]),
    ("[{ id: 1, started_at: '2026-01-01T11:00:00Z', expected_end_at: '2026-01-01T14:00:00Z', node_names: ['n'], gpu_ids: { n: [0] } }, { id: 2, expected_start_at: '2026-01-01T13:00:00Z', expected_node: 'n', gpus: 2, time_limit_s: 3600 }]",
     [["n", 0, 1, "running"], ["n", 1, 2, "planned"]]),
    ("[{ id: 1, started_at: '2026-01-01T11:00:00Z', node_names: ['c'] }, { id: 2, started_at: '2026-01-01T11:30:00Z', node_names: ['c'] }]", [["c", 0, 1, "running"], ["c", 1, 1, "running"]]),
    ("[{ id: 1, started_at: '2026-01-01T11:00:00Z', node_names: ['gone'], gpu_ids: { gone: [0] } }, { id: 2, started_at: '2026-01-01T11:00:00Z', node_names: ['n'], gpu_ids: {} }]", []),
]


def call(page, module, expression):
    return page.js(f"return import(document.querySelector('script[type=module]').src.replace('main.js', '{module}.js')).then(m => {expression})")


def they_do_what_they_say(world):
    page = world.browser
    page.go(world.url)
    page.says("Sign in to Strata")
    for module, expression, want in CASES:
        equal((expression, call(page, module, expression)), (expression, want))
    for jobs, want in BARS:
        found = call(page, "timeline_bars", f"m.bars({NODES}, {jobs}, Date.parse('2026-01-01T12:00:00Z')).map(b => [b.node, b.lane, b.count, b.kind])")
        equal((jobs, found), (jobs, want))
    marks = call(page, "timeline_bars", "m.ticks(Date.parse('2026-01-01T10:07:00Z'), Date.parse('2026-01-01T16:07:00Z'), 600).length")
    assert 4 <= marks <= 7, marks


def differences_are_all_that_is_drawn(world):
    page = world.browser
    page.go(world.url)
    page.says("Sign in to Strata")
    found = call(page, "dom", """(() => {
        const box = document.createElement('div'), kept = [];
        m.patch(box, ['a', 'b', 'c'].map(key => m.h('p', { key, ref: element => kept.push(element) }, key)), m.h('input', { value: 'old' }));
        const [a, b, c] = box.children, field = box.querySelector('input');
        field.value = 'typed';
        m.patch(box, ['c', 'a', 'd'].map(key => m.h('p', { key, class: key === 'a' ? 'x' : null }, key, m.h('b', null, '<i>'))), m.h('input', { value: 'old' }));
        const out = [box.children[0] === c, box.children[1] === a, b.isConnected, box.textContent, box.querySelector('input') === field, field.value, a.className, kept.length, box.querySelectorAll('i').length];
        m.patch(box, m.h('input', { value: 'new' }), null, false, ['x', 1]);
        return [...out, field.value, box.textContent, (m.patch(box), box.childNodes.length)];
    })()""")
    equal(found, [True, True, False, "c<i>a<i>d<i>", True, "typed", "x", 3, 0, "new", "x1", 0])


run(they_do_what_they_say, differences_are_all_that_is_drawn)
