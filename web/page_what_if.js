/* What if: is another policy better, and who pays? The history is replayed in the service, by the code that decides there. */
import { ask } from './api.js';
import { redraw } from './app.js';
import { h, icon } from './dom.js';
import { count, duration, time } from './format.js';
import { me } from './me.js';
import { failed } from './overlay.js';
import { bar, card, copyButton, empty, problemLine } from './parts.js';
import { plot, sized, ticks } from './plot.js';
import { Study } from './study.js';

const PARTS = [['order', 'Order'], ['backfill', 'Backfill'], ['prediction', 'Prediction'], ['placement', 'Placement']], SPANS = [['1d', 'day'], ['7d', 'week'], ['31d', 'month']];
const SAME = 0.02, ROWS = 12, LEAST_S = 1;
const study = new Study('policies');
let policies = null, chosen = { a: {}, b: {} }, since = '7d', asTable = false;

/* ---- asking ---- */

const now = part => policies?.[part].now ?? '';
const baseOf = spec => spec.split(':')[0];
const specOf = side => PARTS.map(([part]) => chosen[side][part] ?? now(part)).join('/');
const begin = () => study.begin(() => ask('POST', '/studies', { policies: [specOf('a'), specOf('b')], since }));

function menu(side, [part, title]) {
  const value = chosen[side][part] ?? now(part), classes = policies[part].classes, others = classes.map(one => one.name).filter(name => name !== baseOf(now(part)));
  return h('label', { class: 'field' }, h('span', null, title), h('select', { class: side === 'b' && value !== (chosen.a[part] ?? now(part)) ? 'in changed' : 'in', id: `${side}-${part}`, value, title: classes.find(one => one.name === baseOf(value))?.summary ?? '', onchange: event => { chosen[side][part] = event.target.value; redraw(); } },
    h('option', { value: now(part) }, baseOf(now(part))), others.map(name => h('option', { value: name }, name))));
}
const side = (name, title, text) => h('section', { class: `card side-${name}`, 'aria-label': `${title}: ${text}` }, h('header', null, h('h2', null, title), h('span', { class: 'sub' }, text), h('span', { class: 'grow' }), name === 'b' ? h('button', { class: 'btn tiny quiet', onclick: () => { chosen.b = { ...chosen.a }; redraw(); } }, 'Reset to A') : null), h('div', { class: 'four pad' }, PARTS.map(part => menu(name, part))));

function bar2() {
  return h('div', { class: 'card pad row wrap gap' }, h('label', { class: 'row' }, 'The last ', h('select', { class: 'in slim', id: 'since', value: since, onchange: event => { since = event.target.value; redraw(); } }, SPANS.map(([value, text]) => h('option', { value }, text)))),
    h('button', { class: 'btn primary', id: 'replay', disabled: study.running() || !policies, onclick: begin }, study.running() ? 'Replaying …' : 'Replay it'),
    study.running() ? [h('span', { class: 'sm dim', role: 'status' }, study.study.stage || 'waits for its turn'), bar(study.study.progress, `${Math.round(100 * study.study.progress)} %`, true), h('button', { class: 'btn tiny', onclick: () => study.cancel() }, 'Stop')] : null,
    h('span', { class: 'grow' }), copyButton(() => `strata sim cluster --history --since ${since} --compare '${specOf('a')},${specOf('b')}'`, 'Command'));
}

/* ---- what came of it ---- */

const trials = () => { const list = study.study?.result?.trials ?? []; const [real, a, b] = list.length === 3 ? list : [null, ...list]; return { real, a, b }; };
const span = seconds => seconds < 10 ? `${seconds.toFixed(1).replace(/\.0$/, '')} s` : duration(seconds);
const better = (a, b) => b < a * (1 - SAME) ? 'better' : b > a * (1 + SAME) ? 'worse' : 'same';

function verdict(a, b) {
  const how = better(a.median_wait_s + LEAST_S, b.median_wait_s + LEAST_S), first = how === 'same' ? `With B half of the jobs start within ${span(b.median_wait_s)}, as with A.` : `With B half of the jobs start within ${span(b.median_wait_s)} instead of ${span(a.median_wait_s)}.`;
  const worse = pairs(a.users, b.users, 'user').filter(one => difference(one).startsWith('+')).sort((x, y) => (y.b - y.a) - (x.b - x.a));
  const longest = better(a.max_wait_s + LEAST_S, b.max_wait_s + LEAST_S), pays = worse.length ? worse.length > 1 ? `${nameOf(worse[0].key)} and ${count(worse.length - 1, 'other')} wait longer` : `${nameOf(worse[0].key)} waits longer` : 'No user waits longer';
  return h('div', { class: 'card pad', role: 'status' }, h('p', { class: 'big' }, first, ' ', h('span', { class: 'ink2' }, `${pays}${longest === 'same' ? '' : `; the longest wait ${longest === 'worse' ? 'grows' : 'shrinks'} from ${span(a.max_wait_s)} to ${span(b.max_wait_s)}`}.`)),
    h('p', { class: 'sm dim' }, `${count(study.study.result.jobs, 'job')} since ${time(study.study.result.since)}${study.study.result.left_out ? `; ${study.study.result.left_out} did not run to their end` : ''}${study.study.result.cut ? '; older ones are left out' : ''}. The same code decides here and in the service.`));
}
const nameOf = number => { const name = study.study.result.users[number - 1]; return name == null ? `user ${number}` : name === me.user ? `${name} (you)` : name; };

function table(a, b, real) {
  const rows = [['Median wait', 'median_wait_s', span], ['Mean wait', 'mean_wait_s', span], ['Longest wait', 'max_wait_s', span], ['Slowdown, mean', 'avg_bsld', one => one.toFixed(1)], ['In use', 'utilization', one => `${(100 * one).toFixed(1)} %`, true], ['Fairness (1 is even)', 'fairness', one => one.toFixed(2), true], ['Preemptions', 'preemptions', one => `${one}`]];
  const change = (name, up) => { const x = a[name], y = b[name], how = up ? better(y, x) : better(x, y); return h('td', { class: `n ${how}` }, how === 'same' ? 'same' : x ? `${y >= x ? '+' : '−'}${Math.abs(100 * (y - x) / x).toFixed(0)} %` : 'more', how === 'same' ? null : [' ', icon(how === 'better' ? 'check' : 'warn'), h('span', { class: 'sr' }, how)]); };
  return card('In numbers', 'of all of it', h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'In numbers' }, h('table', null, h('thead', null, h('tr', null, h('td', null), [real ? 'As it was' : null, 'A', 'B', 'Change'].filter(Boolean).map(text => h('th', { scope: 'col', class: 'n' }, text)))),
    h('tbody', null, rows.map(([title, name, format, up]) => h('tr', { key: name }, h('th', { scope: 'row' }, title), real ? h('td', { class: 'n dim' }, format(real[name])) : null, h('td', { class: 'n' }, format(a[name])), h('td', { class: 'n' }, h('b', null, format(b[name]))), change(name, up)))))));
}

/* Share of jobs that have started after so long: on a logarithmic axis. */
const MARKS = [[1, '1 s'], [10, '10 s'], [60, '1 min'], [600, '10 min'], [3600, '1 h'], [36_000, '10 h'], [172_800, '2 d'], [604_800, '7 d']];
function cdf(a, b) {
  const most = Math.max(60, a.max_wait_s, b.max_wait_s), curve = trial => trial.waits_s.map((wait, i) => [Math.max(LEAST_S, wait), i]);
  const dot = (X, Y, trial, kind, name) => [h('circle', { class: `dot ${kind}`, cx: X(Math.max(LEAST_S, trial.median_wait_s)).toFixed(1), cy: Y(50), r: 4 }), h('text', { class: 'strong', x: X(Math.max(LEAST_S, trial.median_wait_s)) + (kind === 'b' ? 8 : 8), y: Y(50) + (kind === 'b' ? -6 : 16) }, `${name} ${span(trial.median_wait_s)}`)];
  return card('How long jobs wait', 'share of jobs that have started after …', h('div', { class: 'pad' }, plot({ name: 'cdf', height: 250, label: `Half of the jobs start within ${span(a.median_wait_s)} with A and ${span(b.median_wait_s)} with B`, x0: LEAST_S, x1: most, top: 100, scaleX: Math.log10, ys: [0, 25, 50, 75, 100].map(y => [y, `${y} %`]), xs: MARKS.filter(([x]) => x >= 1 && x <= most),
    lines: [{ points: curve(a), kind: 'a' }, { points: curve(b), kind: 'b' }], marks: (X, Y) => [dot(X, Y, a, 'a', 'A'), dot(X, Y, b, 'b', 'B')] })));
}

/* Two values for each, on a line: A a ring, B a disc, or a diamond where it is worse. */
function pairs(listA, listB, key) {
  const other = new Map(listB.map(one => [one[key], one]));
  return listA.filter(one => other.has(one[key])).map(one => ({ key: one[key], jobs: one.jobs, a: one.mean_wait_s, b: other.get(one[key]).mean_wait_s }));
}
const difference = one => { const d = one.b - one.a; return Math.abs(d) < LEAST_S || better(one.a + LEAST_S, one.b + LEAST_S) === 'same' ? 'same' : `${d > 0 ? '+' : '−'}${span(Math.abs(d))}`; };
function dumbbell(name, rows, text) {
  const most = Math.max(LEAST_S * 10, ...rows.flatMap(one => [one.a, one.b])), left = 130, right = 86, step = 27, height = rows.length * step + 26;
  const label = rows.map(one => `${text(one)}: ${span(one.a)} with A, ${span(one.b)} with B`).join('; ');
  return sized(name, width => {
    const inner = Math.max(40, width - left - right), X = seconds => left + Math.sqrt(seconds / most) * inner, marks = ticks(most, 3).filter(one => one && one <= most);
    return h('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label }, marks.map(mark => [h('path', { class: 'grid', d: `M${X(mark).toFixed(1)} 4V${height - 20}` }), h('text', { class: 'mid', x: X(mark), y: height - 5 }, span(mark))]),
      rows.map((one, i) => { const y = 14 + i * step, worse = difference(one).startsWith('+'), x = X(one.b); return [h('text', { class: 'end', x: left - 12, y: y + 4 }, text(one).slice(0, 19)), h('path', { class: worse ? 'bell worse' : 'bell', d: `M${X(one.a).toFixed(1)} ${y}H${x.toFixed(1)}` }), h('circle', { class: 'ring', cx: X(one.a).toFixed(1), cy: y, r: 4.5 }),
        worse ? h('path', { class: 'diamond', d: `M${x - 6} ${y}L${x} ${y - 6}L${x + 6} ${y}L${x} ${y + 6}Z` }) : h('circle', { class: 'disc', cx: x.toFixed(1), cy: y, r: 4.5 }), h('text', { class: worse ? 'strong bad' : null, x: width - right + 14, y: y + 4 }, difference(one))]; }));
  });
}
const bells = h('span', { class: 'plotkey sm' }, h('span', null, h('i', { class: 'm-ring' }), 'A'), h('span', null, h('i', { class: 'm-disc' }), 'B'), h('span', null, h('i', { class: 'm-diamond' }), 'B, worse'));
function byUser(a, b) {
  const rows = pairs(a.users, b.users, 'user').sort((x, y) => (x.b - x.a) - (y.b - y.a)), shown = rows.length > ROWS ? [...rows.slice(0, ROWS / 2), ...rows.slice(-ROWS / 2)] : rows;
  return h('section', { class: 'card', 'aria-label': 'Who gains, who pays' }, h('header', null, h('h2', null, 'Who gains, who pays'), h('span', { class: 'sub' }, rows.length > shown.length ? `mean wait; the ${shown.length} that differ most` : 'mean wait of each user'), h('span', { class: 'grow' }), bells), h('div', { class: 'pad' }, dumbbell('users', shown, one => nameOf(one.key))));
}
function bySize(a, b) {
  const rows = pairs(a.sizes, b.sizes, 'size').sort((x, y) => x.key - y.key).slice(0, ROWS), end = a.waiting.seconds.at(-1) || 1, points = trial => trial.waiting.seconds.map((x, i) => [x, trial.waiting.jobs[i]]);
  const most = Math.max(1, ...a.waiting.jobs, ...b.waiting.jobs), ys = ticks(most, 2).map(y => [y, `${Math.round(10 * y) / 10}`]);
  return card('By size of the job', 'mean wait, number of jobs', h('div', { class: 'pad' }, dumbbell('sizes', rows, one => `${one.key ? count(one.key, 'GPU') : 'no GPU'} · ${one.jobs}`), h('h3', { class: 'label' }, 'Jobs that wait, over the time'),
    plot({ name: 'waiting', height: 112, label: `At most ${Math.max(...a.waiting.jobs).toFixed(0)} jobs wait at a time with A, ${Math.max(...b.waiting.jobs).toFixed(0)} with B`, x0: 0, x1: end, top: ys.at(-1)[0], ys, xs: [[0, 'the first'], [end, `${duration(end)} later`]], lines: [{ points: points(a), kind: 'a' }, { points: points(b), kind: 'b', area: true }] })));
}
function usersTable(a, b) {
  return card('Each user', 'mean wait', h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'Each user' }, h('table', null, h('thead', null, h('tr', null, ['User', 'Jobs', 'A', 'B', 'Change'].map((text, i) => h('th', { scope: 'col', class: i ? 'n' : null }, text)))), h('tbody', null, pairs(a.users, b.users, 'user').map(one => h('tr', { key: one.key }, h('th', { scope: 'row' }, nameOf(one.key)), h('td', { class: 'n' }, one.jobs), h('td', { class: 'n' }, span(one.a)), h('td', { class: 'n' }, span(one.b)), h('td', { class: 'n' }, difference(one))))))));
}
function result() {
  const { a, b, real } = trials();
  if (!a || !b) return study.running() || study.trouble ? null : h('div', { class: 'card' }, empty('Nothing is replayed yet', 'Choose what you would try as B, then replay the last week: who waits how long, who gains and who pays.'));
  return [verdict(a, b), h('div', { class: 'halves' }, table(a, b, real), cdf(a, b), asTable ? usersTable(a, b) : byUser(a, b), bySize(a, b)), h('button', { class: 'btn tiny quiet', 'aria-pressed': String(asTable), onclick: () => { asTable = !asTable; redraw(); } }, 'Users as a table')];
}

export const whatIfPage = {
  title: () => 'What if',
  hints: [['Ctrl Enter', 'replay']],
  keys: { 'Ctrl Enter': () => document.getElementById('replay')?.click() },
  open() { study.enter().then(known => { policies = known.policies; redraw(); }, failed); },
  close() { study.leave(); },
  draw: () => [h('div', { class: 'head' }, h('div', { class: 'grow' }, h('h1', null, 'What if'), h('p', null, 'Two policies on the same jobs of the past, on the nodes there are now.'))),
    h('div', { class: 'column' }, policies ? h('div', { class: 'halves' }, side('a', 'A', 'what runs today'), side('b', 'B', 'what you try')) : null, bar2(), study.trouble ? problemLine(`${study.trouble}.`) : null, result())],
};
