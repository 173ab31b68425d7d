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
    ("problems", "m.problems([])", []),
    ("problems", "m.problems([{ kind: 'node_down', about: 'n1', grave: true, title: 'n1 is down', text: '4 GPUs cannot be used.', since: new Date(Date.now() - 3600e3).toISOString(), action: { text: 'See', page: '#/now', command: null } }]).map(p => [p.key, p.text, p.to])",
     [["node_down-n1", "4 GPUs cannot be used, for 1 h.", "#/now"]]),
    ("plot", "[m.ticks(0), m.ticks(9, 2), m.ticks(100), m.ticks(3 * 2 ** 30, 2, 1024).map(t => t / 2 ** 30)]", [[0, 1], [0, 5, 10], [0, 25, 50, 75, 100], [0, 2, 4]]),
]
CASES += [
    # a job that was sent back once, with a step and two checkpoints; what events and the job itself say twice counts once
    ("job_flow", """(() => { const at = n => `2026-01-01T00:00:0${n}Z`, zero = Date.parse(at(0)) * 1000;
        return m.flowOf({ id: 5, user: 'ann', state: 'completed', submitted_at: at(0), started_at: at(5), ended_at: at(9), attempt: 2, node_names: ['n'] }, [{ path: 'b', time: at(8), step: 2 }, { path: 'a', time: at(6) }], [{ number: 0, started_at: at(5), ended_at: at(7), state: 'completed' }],
            [{ job: 5, kind: 'job.started', at: at(1) }, { job: 4, kind: 'job.ended', at: at(2) }, { job: 5, kind: 'job.requeued', at: at(3) }, { job: 5, kind: 'job.started', at: at(5) }, { job: 5, kind: 'job.ended', at: at(9) }, { job: 5, kind: 'job.scheduled', at: '2026-01-01T00:01:00Z' }], 0)
            .traceEvents.filter(one => one.ph === 'X').map(one => [one.tid, one.name, (one.ts - zero) / 1e6, one.dur / 1e6]); })()""",
     [[1, "waited", 0, 1], [1, "ran", 1, 2], [1, "waited", 3, 2], [1, "ran", 5, 4], [2, "step 0", 5, 2], [3, "up to a checkpoint", 5, 1], [3, "up to the checkpoint of step 2", 6, 2]]),
    # the executor started it before the service wrote down that it had a place
    ("job_flow", "m.flowOf({ id: 1, user: 'ann', state: 'failed', submitted_at: '1970-01-01T00:00:01Z', started_at: '1970-01-01T00:00:02Z', ended_at: '1970-01-01T00:00:03Z' }, [], [], [{ job: 1, kind: 'job.scheduled', at: '1970-01-01T00:00:02.100Z' }, { job: 1, kind: 'job.started', at: '1970-01-01T00:00:02.200Z' }], 4000).traceEvents.filter(one => one.ph === 'X').map(one => [one.name, one.ts / 1e6])",
     [["waited", 1], ["starting", 2.1], ["ran", 2.2]]),
    # of an array, whose events name its first element
    # all of it within one second: the job's own times have no more, its events have
    ("job_flow", "m.flowOf({ id: 3, user: 'ann', state: 'completed', submitted_at: '1970-01-01T00:00:01Z', started_at: '1970-01-01T00:00:01Z', ended_at: '1970-01-01T00:00:01Z' }, [], [], [{ job: 3, kind: 'job.started', at: '1970-01-01T00:00:01.200Z' }, { job: 3, kind: 'job.ended', at: '1970-01-01T00:00:01.700Z' }], 4000).traceEvents.filter(one => one.ph === 'X').map(one => [one.name, one.ts / 1e6, one.dur / 1e6])",
     [["waited", 1, 0.2], ["ran", 1.2, 0.5]]),
    ("job_flow", "m.flowOf({ id: 2, user: 'ann', state: 'failed', submitted_at: '1970-01-01T00:00:01Z', started_at: '1970-01-01T00:00:02Z', ended_at: '1970-01-01T00:00:03Z' }, [], [], [], 4000).traceEvents.filter(one => one.ph === 'X').map(one => [one.name, one.ts / 1e6, one.dur / 1e6])",
     [["waited", 1, 1], ["ran", 2, 1]]),
    # one that still waits: until now
    ("job_flow", "m.flowOf({ id: 1, user: 'ann', state: 'queued', submitted_at: '1970-01-01T00:00:01Z' }, [], [], [], 4000).traceEvents.filter(one => one.ph !== 'M').map(one => [one.ph, one.name, one.ts, one.dur ?? null])",
     [["X", "waited", 1e6, 3e6], ["i", "submitted", 1e6, None]]),
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
    moved = call(page, "dom", """(() => {
        const box = document.createElement('ul'), draw = keys => m.patch(box, keys.map(key => m.h('li', { key }, key)));
        draw(['a', 'b', 'c', 'd', 'e']);
        const watch = new MutationObserver(() => {});
        watch.observe(box, { childList: true });
        draw(['b', 'c', 'd', 'e', 'f']);
        return watch.takeRecords().length;
    })()""")
    equal(moved, 2)  # one goes, one comes: what stands between them is not touched
    equal(found, [True, True, False, "c<i>a<i>d<i>", True, "typed", "x", 3, 0, "new", "x1", 0])


def a_dialog_that_closes_takes_nothing_from_the_next(world):
    """The browser says that a dialog has closed some time later."""
    page = world.browser
    page.go(world.url)
    page.says("Sign in to Strata")
    for closing in ("m.close()", "document.getElementById('dialog').close()"):  # by the page, by the browser
        found = call(page, "overlay", f"""(async () => {{
            const dialog = document.getElementById('dialog'), later = () => new Promise(done => setTimeout(done, 100));
            m.overlay('first');
            {closing};
            let answer = 'none';
            const asked = m.confirm({{ title: 'Sure?', text: 'gone for good', keep: 'Keep', act: 'Remove' }}).then(is => {{ answer = is; }});
            await later();
            const before = [dialog.open, dialog.textContent.includes('gone for good'), answer];
            dialog.querySelector('[data-test=confirm]').click();
            await asked;
            await later();
            return [...before, answer, dialog.open, dialog.childNodes.length];
        }})()""")
        equal(found, [True, True, "none", True, False, 0])


run(they_do_what_they_say, differences_are_all_that_is_drawn, a_dialog_that_closes_takes_nothing_from_the_next)
