/* Timeline: who has which GPU when, and what comes next? Past pale, running filled, the rest of its time dashed, plans outlined. */
import { get, request } from './api.js';
import { redraw, route, setQuery } from './app.js';
import { data, onData } from './data.js';
import { h, icon } from './dom.js';
import { count, duration, exact, gpus, now, time } from './format.js';
import { onEvent } from './live.js';
import { isMine, me, nameOf } from './me.js';
import { failed } from './overlay.js';
import { empty, segments } from './parts.js';
import { asks, nameOfJob, startText } from './state.js';
import { bars, lanesOf, ticks } from './timeline_bars.js';

const HOUR = 3600_000, SPANS = [['6', '6 h'], ['14', '14 h'], ['24', '1 d'], ['72', '3 d']], SPAN_MIN = 0.5, SPAN_MAX = 14 * 24;
const LEFT = 76, RIGHT = 12, TOP = 30, LANE = 13, GAP = 12, TWO_LINES = 34, BARS_MAX = 1500, PAST_PAGES = 10, PAGE = 200, TABLE_ROWS = 60, TRACED_SHOWN = 6;
let traced = []; /* pictures of one's own that have a trace */
let past = new Map(), planned = [], known = null, width = 1000, watcher = null, stops = [], drag = null;

/* ---- what is looked at ---- */

const span = () => Math.max(SPAN_MIN, Math.min(SPAN_MAX, Number(route.query.get('hours')) || (innerWidth < 560 ? 6 : 14)));
const shift = () => Number(route.query.get('shift')) || 0; /* hours from where the view usually is */
const view = () => { const length = span() * HOUR, from = now() - 0.52 * length + shift() * HOUR; return { from, to: from + length, length }; };
function look(hours, moved) { setQuery({ hours: Math.round(100 * Math.max(SPAN_MIN, Math.min(SPAN_MAX, hours))) / 100, shift: Math.round(100 * moved) / 100 || null }); loadPast(); }
const pan = part => look(span(), shift() + part * span());
function zoom(factor, at = 0.52) {
  const before = span(), after = Math.max(SPAN_MIN, Math.min(SPAN_MAX, before * factor));
  look(after, shift() + (at - 0.52) * (before - after));
}

/* ---- what is known ---- */

let asking = false;
async function loadPast() {
  const from = view().from;
  if (asking || (known != null && known <= from)) return;
  asking = true;
  try {
    let after = known == null || !past.size ? null : Math.min(...past.keys());
    for (let i = 0; i < PAST_PAGES; i++) {
      const page = await get(`/jobs?state=completed,failed,cancelled&limit=${PAGE}${after ? `&after=${after}` : ''}`);
      for (const job of page.jobs) past.set(job.id, job);
      after = page.next;
      known = after == null ? 0 : Math.min(...page.jobs.map(job => Date.parse(job.submitted_at)));
      if (after == null || known <= from) break;
    }
  } catch (trouble) { if (trouble.status) failed(trouble); }
  asking = false;
  redraw();
}
async function loadPlans() {
  try { planned = (await get('/queue?state=queued,preempted&limit=400&fields=id,name,user,state,gpus,gpu_type,gpu_share,cpus,time_limit_s,expected_start_at,expected_node,promised,position')).jobs; } catch { /* the next event asks again */ }
  redraw();
}
async function loadTraced() {
  try { traced = (await get(`/tasks?user=${encodeURIComponent(me.user)}&limit=30`)).tasks.filter(task => isMine(task) && task.parameters?.trace && task.images?.length).slice(0, TRACED_SHOWN); redraw(); } catch { /* there are none to show */ }
}
async function noteEnd(id) { try { const job = await get(`/jobs/${id}`); if (job.ended_at) past.set(id, job); } catch { /* it is gone */ } redraw(); }

/* ---- drawing ---- */

const COLOURS = 8;
const colourOf = user => { let hash = 7; for (const c of user) hash = (hash * 31 + c.codePointAt(0)) >>> 0; return hash % COLOURS; };
const label = (text, room) => { const letters = Math.floor((room - 8) / 6.2); return letters < 3 ? '' : text.length <= letters ? text : `${text.slice(0, letters - 1)}…`; };
const told = bar => { const job = bar.job; return `${nameOfJob(job)} (${job.id}) of ${nameOf(job.user)}, ${asks(job)}: ${bar.kind === 'planned' ? `expected ${startText(job)}` : `${exact(job.started_at)} – ${job.ended_at ? exact(job.ended_at) : bar.until > bar.to ? `at the latest ${exact(bar.until)}` : 'now'}`}`; };

function drawBar(bar, x, y) {
  const job = bar.job, left = x(bar.from), right = x(bar.to), end = x(bar.until), height = bar.count * LANE - 2, mine = isMine(job), byUser = route.query.get('colour') === 'user';
  const look_ = `b b-${bar.kind} ${byUser ? `user u${colourOf(job.user)}` : mine ? 'b-mine' : ''} ${job.state === 'failed' ? 'b-failed' : ''} ${job.promised ? 'b-promised' : ''}`;
  const visible = Math.max(left, LEFT), room = (bar.kind === 'past' ? right : end) - visible;
  return h('a', { key: `${job.id}-${bar.node}-${bar.lane}`, href: `#/job/${job.id}`, class: look_, 'aria-label': told(bar) }, h('title', null, told(bar)),
    bar.kind !== 'past' && end > right ? h('rect', { class: 'rest', x: right, y, width: Math.max(1, end - right), height, rx: 3 }) : null,
    bar.kind !== 'planned' ? h('rect', { class: 'done', x: left, y, width: Math.max(1.5, right - left), height, rx: 3 }) : null,
    height >= 11 ? h('text', { class: 'bl', x: visible + 5, y: y + Math.min(14, height / 2 + 4) }, label(height >= TWO_LINES ? nameOfJob(job) : `${nameOfJob(job)} ${nameOf(job.user)}`, room)) : null,
    height >= TWO_LINES ? h('text', { class: 'b2', x: visible + 5, y: y + 27 }, label(nameOf(job.user), room)) : null);
}

function chart() {
  const { from, to, length } = view(), inner = width - LEFT - RIGHT, x = at => LEFT + (at - from) / length * inner, tops = new Map();
  let height = TOP;
  for (const node of data.nodes) { tops.set(node.name, height); height += lanesOf(node) * LANE + GAP; }
  const all = bars(data.nodes, [...past.values(), ...data.running, ...planned], now()).filter(bar => bar.until >= from && bar.from <= to);
  const shown = all.length > BARS_MAX ? [...all].sort((a, b) => (b.until - b.from) * b.count - (a.until - a.from) * a.count).slice(0, BARS_MAX) : all;
  const marks = ticks(from, to, inner), nowX = x(now());
  return { shown, hidden: all.length - shown.length, svg: h('svg', { class: 'tl', width, height, role: 'group', 'aria-label': `${count(all.length, 'bar')} on ${count(data.nodes.length, 'node')} from ${time(from)} to ${time(to)}`, onpointerdown: grab, onpointermove: pull, onpointerup: drop, onpointercancel: drop, onclick: event => { if (drag?.moved) event.preventDefault(); } },
    h('defs', null, h('clipPath', { id: 'tl-clip' }, h('rect', { x: LEFT, y: 0, width: Math.max(0, inner), height })), h('pattern', { id: 'tl-hatch', width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' }, h('rect', { width: 2, height: 6, class: 'hatch' }))),
    marks.map(mark => [h('line', { key: `l${mark.at}`, class: mark.day ? 'grid day' : 'grid', x1: x(mark.at), x2: x(mark.at), y1: TOP - 6, y2: height }), h('text', { key: `t${mark.at}`, class: mark.day ? 'day' : '', x: x(mark.at), y: 16, 'text-anchor': 'middle' }, mark.text)]),
    data.nodes.map(node => [h('text', { key: `n${node.name}`, class: 'nm', x: LEFT - 10, y: tops.get(node.name) + 12, 'text-anchor': 'end' }, node.name.length > 10 ? `${node.name.slice(0, 9)}…` : node.name),
      lanesOf(node) * LANE >= 26 ? h('text', { key: `s${node.name}`, x: LEFT - 10, y: tops.get(node.name) + 26, 'text-anchor': 'end' }, node.gpus ? `${node.gpus} ${(node.gpu_type ?? 'GPU').toUpperCase().slice(0, 6)}` : 'CPU') : null,
      h('rect', { key: `r${node.name}`, class: 'lane-bg', x: LEFT, y: tops.get(node.name), width: Math.max(0, inner), height: lanesOf(node) * LANE - 2, rx: 4 }),
      node.state !== 'up' ? h('rect', { key: `h${node.name}`, class: 'closed', x: Math.max(LEFT, x(node.since ? Date.parse(node.since) : now())), y: tops.get(node.name), width: Math.max(0, width - RIGHT - Math.max(LEFT, x(node.since ? Date.parse(node.since) : now()))), height: lanesOf(node) * LANE - 2 }) : null]),
    h('g', { 'clip-path': 'url(#tl-clip)' }, shown.map(bar => drawBar(bar, x, tops.get(bar.node) + bar.lane * LANE))),
    nowX >= LEFT && nowX <= width - RIGHT ? [h('line', { class: 'now', x1: nowX, x2: nowX, y1: TOP - 8, y2: height }), h('text', { class: 'nowt', x: nowX, y: TOP - 2, 'text-anchor': 'middle' }, 'now')] : null) };
}

/* ---- moving ---- */

function grab(event) { if (event.button === 0) drag = { x: event.clientX, shift: shift(), moved: false, id: event.pointerId, from: event.currentTarget }; }
function pull(event) {
  if (!drag || drag.over) return;
  const moved = event.clientX - drag.x;
  if (!drag.moved && Math.abs(moved) < 5) return;
  if (!drag.moved) { drag.moved = true; drag.from.setPointerCapture(drag.id); }
  setQuery({ shift: Math.round(100 * (drag.shift - moved / (width - LEFT - RIGHT) * span())) / 100 });
}
function drop() { if (drag) { drag.over = true; if (drag.moved) loadPast(); const last = drag; setTimeout(() => { if (drag === last) drag = null; }); } }
const wheel = event => {
  if (!(event.ctrlKey || event.metaKey || event.shiftKey)) return;
  event.preventDefault();
  const box = event.currentTarget.getBoundingClientRect();
  if (event.shiftKey) pan(Math.sign(event.deltaY || event.deltaX) * 0.12); else zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, Math.max(0, Math.min(1, (event.clientX - box.left - LEFT) / (width - LEFT - RIGHT))));
};

/* ---- around it ---- */

function sentence() {
  const next = planned.filter(job => job.expected_start_at && job.expected_node).sort((a, b) => a.expected_start_at.localeCompare(b.expected_start_at))[0];
  const busy = data.running.filter(job => job.gpus).length;
  return h('p', null, `${count(busy, 'job')} ${busy === 1 ? 'has' : 'have'} GPUs now. `, next ? [`Next: `, h('b', null, nameOfJob(next)), ` of ${nameOf(next.user)}, ${startText(next)} on ${next.expected_node}.`] : 'Nothing is planned.');
}
async function saveTrace() {
  try {
    const url = URL.createObjectURL(await (await request('GET', '/trace')).blob()), link = document.createElement('a');
    link.href = url;
    link.download = 'strata-trace.json';
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  } catch (trouble) { failed(trouble); }
}
function table(shown) {
  const rows = [...shown].sort((a, b) => a.from - b.from).slice(-TABLE_ROWS);
  return h('details', { class: 'as-table' }, h('summary', { class: 'sm dim' }, 'Show as a table'), h('table', null, h('caption', { class: 'sr' }, 'Jobs on the timeline'), h('thead', null, h('tr', null, ['Job', 'User', 'Node', 'GPUs', 'From', 'To'].map(title => h('th', { scope: 'col' }, title)))),
    h('tbody', null, rows.map(bar => h('tr', { key: `${bar.job.id}-${bar.node}-${bar.lane}` }, h('td', null, h('a', { class: 'link', href: `#/job/${bar.job.id}` }, nameOfJob(bar.job))), h('td', null, nameOf(bar.job.user)), h('td', null, bar.node), h('td', null, bar.job.gpus ? bar.count : gpus(0)), h('td', null, `${bar.kind === 'planned' ? '≈ ' : ''}${time(bar.from)}`), h('td', null, bar.kind === 'past' ? time(bar.to) : `by ${time(bar.until)}`))))));
}

export const timelinePage = {
  title: () => 'Timeline',
  hints: [['+ −', 'zoom'], ['← →', 'move'], ['0', 'now'], ['Ctrl wheel', 'zoom at the pointer'], ['drag', 'move']],
  keys: { '+': () => zoom(0.7), '=': () => zoom(0.7), '-': () => zoom(1.4), ArrowLeft: () => pan(-0.25), ArrowRight: () => pan(0.25), 0: () => look(innerWidth < 560 ? 6 : 14, 0) },
  open() {
    [past, planned, known, drag] = [new Map(), [], null, null];
    watcher = new ResizeObserver(([entry]) => { const next = Math.floor(entry.contentRect.width); if (next && next !== width) { width = next; redraw(); } });
    stops = [onData(loadPlans), onEvent((kind, event) => { if (kind === 'job.ended') noteEnd(event.job); else if (kind === 'reconnected') { known = null; loadPast(); } })];
    loadPast();
    loadPlans();
    loadTraced();
  },
  close() { watcher.disconnect(); stops.forEach(stop => stop()); },
  changed() { loadPast(); },
  draw() {
    const colour = route.query.get('colour') === 'user' ? 'user' : 'state', hours = String(span());
    const head = h('div', { class: 'head middle' }, h('div', { class: 'grow' }, h('h1', null, 'Timeline'), data.loaded ? sentence() : null), segments('Hours in view', SPANS, SPANS.find(([value]) => value === hours)?.[0], value => look(Number(value), 0)), segments('Colour', [['state', 'By state'], ['user', 'By user']], colour, value => setQuery({ colour: value === 'user' ? 'user' : null })),
      h('span', { class: 'row' }, h('button', { class: 'icon', 'aria-label': 'Zoom in', title: 'Zoom in (+)', onclick: () => zoom(0.7) }, icon('plus')), h('button', { class: 'icon', 'aria-label': 'Zoom out', title: 'Zoom out (−)', onclick: () => zoom(1.4) }, icon('minus')), h('button', { class: 'btn', onclick: saveTrace, title: 'What the service itself did lately, for ui.perfetto.dev; strata trace puts jobs beside it' }, icon('save'), 'Trace')));
    if (!data.loaded) return head;
    if (!data.nodes.length) return [head, h('div', { class: 'card' }, empty('There are no nodes', 'A timeline needs something to run jobs on.'))];
    const { svg, shown, hidden } = chart();
    return [head, h('section', { class: 'card tlbox fresh', 'aria-label': 'Timeline of nodes' }, h('div', { class: 'tlfit', ref: element => { watcher.observe(element); width = Math.max(280, Math.floor(element.clientWidth) || width); element.addEventListener('wheel', wheel, { passive: false }); } }, svg)),
      h('div', { class: 'legend' }, [['mine', 'yours'], ['other', 'others'], ['past', 'ended'], ['rest', 'up to its limit'], ['plan', 'planned: dashed an estimate, solid a promise'], ['gone', 'cannot be used']].map(([kind, text]) => h('span', null, h('i', { class: `l-${kind}` }), text))),
      hidden ? h('p', { class: 'hint' }, `${count(hidden, 'short one')} of ${count(hidden + shown.length, 'bar')} are left out here; zoom in to see them.`) : null,
      known && known > view().from ? h('p', { class: 'hint' }, `Ended jobs are known since ${time(known)}${asking ? '; looking …' : ''}.`) : null, traced.length ? h('p', { class: 'sm row wrap gap' }, h('span', { class: 'dim' }, 'Down to steps, rows and subgraphs:'), traced.map(task => h('a', { key: task.id, class: 'link', href: `#/trace/${task.id}` }, `picture ${task.id}`))) : null, table(shown), h('p', { class: 'sr', role: 'status' }, `${duration(span() * 3600)} in view`)];
  },
};
