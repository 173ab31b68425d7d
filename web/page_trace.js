/* What happened, as slices on lanes: a picture from its request through batches and steps down to rows and subgraphs (its worker's trace), a job from its submission to its end. */
import { ApiError, get, request } from './api.js';
import { go, redraw, route } from './app.js';
import { h, icon } from './dom.js';
import { count, exact, now } from './format.js';
import { flowOf } from './job_flow.js';
import { failed } from './overlay.js';
import { empty } from './parts.js';
import { sized } from './plot.js';
import { nameOfJob } from './state.js';
import { lanesOf } from './trace_slices.js';

const ROW = 20, HEAD = 22, SHOWN_MAX = 2500, LEAST_WIDTH = 0.4, DEPTH_MAX = 12, COLOURS = 8, EVENTS_ASKED = 1000;
let lanes = null, task = null, job = null, trace = null, trouble = null, view = null, chosen = null, id = null;

const span = us => us >= 3600e6 ? `${(us / 3600e6).toFixed(2)} h` : us >= 1e6 ? `${(us / 1e6).toFixed(3)} s` : us >= 1e3 ? `${(us / 1e3).toFixed(2)} ms` : `${us.toFixed(1)} µs`;
const whole = () => ({ from: Math.min(...lanes.flatMap(lane => lane.slices.map(one => one.from))), to: Math.max(...lanes.flatMap(lane => lane.slices.map(one => one.to))) });
const kinds = new Map(); /* by the order in which they are met */
const colourOf = name => { const kind = name.replace(/[\d.]+/g, ''); if (!kinds.has(kind)) kinds.set(kind, kinds.size % COLOURS); return kinds.get(kind); };

const ofJob = () => route.name === 'flow';
async function ask(asked) {
  if (!ofJob()) { const [one, events] = await Promise.all([get(`/tasks/${encodeURIComponent(asked)}`), get(`/tasks/${encodeURIComponent(asked)}/trace`)]); return { task: one, trace: events }; }
  const one = await get(`/jobs/${encodeURIComponent(asked)}`);
  const [points, list, page] = await Promise.all([get(`/jobs/${one.id}/checkpoints`), get(`/jobs/${one.id}/steps`), get(`/events?format=json&last=${EVENTS_ASKED}&limit=${EVENTS_ASKED}`)]);
  return { job: one, trace: flowOf(one, points.checkpoints, list.steps, page.events, now()) };
}
async function load() {
  const asked = id;
  try {
    const found = await ask(asked);
    if (asked !== id) return;
    ({ task = null, job = null, trace } = found);
    lanes = lanesOf(trace).filter(lane => lane.slices.length);
    view = lanes.length ? whole() : null;
  } catch (error) { if (asked === id) trouble = error instanceof ApiError ? error.message : 'the trace cannot be read'; }
  redraw();
}
async function save() {
  try {
    const blob = job ? new Blob([JSON.stringify(trace)], { type: 'application/json' }) : await (await request('GET', `/tasks/${encodeURIComponent(id)}/trace`)).blob(), url = URL.createObjectURL(blob), link = document.createElement('a');
    link.href = url;
    link.download = job ? `strata-job-${job.id}.json` : `strata-picture-${task.id}.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  } catch (error) { failed(error); }
}
function zoom(factor, at = 0.5) {
  if (!view) return;
  const { from, to } = whole(), length = Math.min(to - from, Math.max(1, (view.to - view.from) * factor)), middle = view.from + (view.to - view.from) * at;
  const begin = Math.max(from, Math.min(to - length, middle - length * at));
  view = { from: begin, to: begin + length };
  redraw();
}
function move(part) {
  if (!view) return;
  const { from, to } = whole(), length = view.to - view.from, begin = Math.max(from, Math.min(to - length, view.from + part * length));
  view = { from: begin, to: begin + length };
  redraw();
}
function into(slice) { chosen = slice; view = { from: slice.from, to: Math.max(slice.to, slice.from + 1) }; redraw(); }

function chart() {
  return sized('trace', width => {
    const inner = Math.max(100, width - 8), length = view.to - view.from || 1, X = at => (at - view.from) / length * inner, parts = [];
    let y = 0;
    for (const lane of lanes) {
      const depth = Math.min(lane.depth, DEPTH_MAX);
      parts.push(h('text', { key: `n${y}`, class: 'strong', x: 2, y: y + 15 }, lane.name));
      const seen = lane.slices.filter(one => one.to >= view.from && one.from <= view.to && one.depth < DEPTH_MAX && (one.to - one.from) / length * inner >= LEAST_WIDTH).sort((a, b) => (b.to - b.from) - (a.to - a.from)).slice(0, SHOWN_MAX);
      for (const one of seen) {
        const left = Math.max(0, X(one.from)), wide = Math.max(0.8, Math.min(inner, X(one.to)) - left - 0.5), letters = Math.floor((wide - 6) / 6.4), top = y + HEAD + one.depth * ROW;
        parts.push(h('g', { key: `${lane.name}-${one.from}-${one.depth}`, class: one === chosen ? 'slice on' : 'slice', onclick: () => into(one) }, h('title', null, `${one.name}: ${span(one.to - one.from)}`), h('rect', { class: `k${colourOf(one.name)}`, x: left.toFixed(2), y: top, width: wide.toFixed(2), height: ROW - 2, rx: 2 }),
          letters > 3 ? h('text', { class: 'on-slice', x: left + 4, y: top + 13 }, one.name.slice(0, letters)) : null));
      }
      y += HEAD + depth * ROW + 8;
    }
    return h('svg', { class: 'traced', width, height: y, viewBox: `0 0 ${width} ${y}`, role: 'img', 'aria-label': `${count(lanes.reduce((sum, lane) => sum + lane.slices.length, 0), 'slice')} on ${count(lanes.length, 'lane')}, ${span(length)} in view` }, parts);
  });
}
function table() {
  const sums = new Map();
  for (const lane of lanes) for (const one of lane.slices) { const name = one.name.replace(/\d+/g, 'N'), sum = sums.get(name) ?? { name, count: 0, us: 0 }; sum.count++; sum.us += one.to - one.from; sums.set(name, sum); }
  const rows = [...sums.values()].sort((a, b) => b.us - a.us).slice(0, 30);
  return h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'What took how long' }, h('table', null, h('thead', null, h('tr', null, ['What', 'Times', 'Together', 'Each'].map((text, i) => h('th', { scope: 'col', class: i ? 'n' : null }, text)))), h('tbody', null, rows.map(one => h('tr', { key: one.name }, h('th', { scope: 'row' }, one.name), h('td', { class: 'n' }, one.count), h('td', { class: 'n' }, span(one.us)), h('td', { class: 'n' }, span(one.us / one.count)))))));
}

/* The moments of a job: Perfetto shows them as marks, here they are rows. */
function moments() {
  const rows = trace.traceEvents.filter(one => one.ph === 'i').sort((a, b) => a.ts - b.ts);
  return h('section', { class: 'card', 'aria-label': 'When' }, h('header', null, h('h2', null, 'When')), h('ul', { class: 'tickets list' }, rows.map((one, i) => h('li', { key: i }, icon('check'), h('span', { class: 'cut' }, h('b', null, one.name), ' ', h('span', { class: 'dim' }, Object.entries(one.args ?? {}).filter(([, value]) => value != null && value !== '').map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : value}`).join(' · '))), h('span', { class: 'dim sm' }, exact(one.ts / 1000))))));
}
const what = () => ofJob() ? `job ${id}` : `picture ${id}`;

export const tracePage = {
  title: () => `Trace of ${what()}`,
  hints: [['+ −', 'zoom'], ['← →', 'move'], ['0', 'all of it'], ['Esc', 'back']],
  keys: { '+': () => zoom(0.6), '=': () => zoom(0.6), '-': () => zoom(1 / 0.6), ArrowLeft: () => move(-0.3), ArrowRight: () => move(0.3), 0: () => { if (lanes?.length) { view = whole(); chosen = null; redraw(); } }, Escape: () => go(ofJob() ? `#/job/${id}` : '#/generate') },
  open() { [lanes, task, job, trace, trouble, view, chosen, id] = [null, null, null, null, null, null, null, route.id]; load(); },
  close() {},
  draw() {
    const head = h('div', { class: 'head middle' }, h('div', { class: 'grow' }, h('h1', null, `What happened to ${what()}`), job ? h('p', null, nameOfJob(job), ' ', h('span', { class: 'dim' }, `of ${job.user}, ${job.state}`)) : task ? h('p', null, task.parameters?.prompt ?? '', ' ', h('span', { class: 'dim' }, `${task.steps} steps`)) : null), job ? h('a', { class: 'btn', href: `#/job/${job.id}` }, 'The job') : null, lanes?.length ? h('button', { class: 'btn', onclick: save, title: 'A file for ui.perfetto.dev' }, icon('save'), 'Save for Perfetto') : null);
    if (trouble) return [head, h('div', { class: 'card' }, empty('There is no trace', `${trouble}.${ofJob() ? '' : ' Pictures that are asked for with a trace have one.'}`, ofJob() ? h('a', { class: 'btn', href: '#/jobs' }, 'All jobs') : h('a', { class: 'btn', href: '#/generate' }, 'Generate')))];
    if (!lanes) return head;
    if (!lanes.length) return [head, h('div', { class: 'card' }, empty('The trace is empty', 'Nothing was written down.'))];
    return [head, h('div', { class: 'column' }, h('section', { class: 'card', 'aria-label': 'Slices' }, h('header', null, h('h2', null, job ? 'From submission to end' : 'From the request to the subgraphs'), h('span', { class: 'sub' }, `${span(view.to - view.from)} in view`), h('span', { class: 'grow' }), h('button', { class: 'icon', 'aria-label': 'Zoom in', onclick: () => zoom(0.6) }, icon('plus')), h('button', { class: 'icon', 'aria-label': 'Zoom out', onclick: () => zoom(1 / 0.6) }, icon('minus'))), h('div', { class: 'pad' }, chart(), chosen ? h('p', { class: 'sm', role: 'status' }, h('b', null, chosen.name), ` ${span(chosen.to - chosen.from)} `, h('span', { class: 'dim' }, Object.entries(chosen.args ?? {}).map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : value}`).join(' · '))) : h('p', { class: 'sm dim' }, 'Click a slice to look into it.'))),
      h('section', { class: 'card', 'aria-label': 'What took how long' }, h('header', null, h('h2', null, 'What took how long')), table()), job ? moments() : null)];
  },
};
