/* Place: what of a model would run where on this machine? The file is read in a process without rights and forgotten. */
import { request } from './api.js';
import { redraw } from './app.js';
import { data } from './data.js';
import { h, icon } from './dom.js';
import { bytes, count } from './format.js';
import { failed } from './overlay.js';
import { bar, card, copyButton, empty, facts, problemLine } from './parts.js';
import { sized } from './plot.js';
import { Study } from './study.js';

const FILE_MAX = 64 << 20, LANE = 34, KINDS_SHOWN = 10, SLICES_MAX = 1500, COLOURS = 8, OBSERVED_SHOWN = 40;
const study = new Study('model');
let dims = '', over = false, file = null, sending = false;

const ms = ns => ns >= 1e9 ? `${(ns / 1e9).toFixed(2)} s` : ns >= 1e6 ? `${(ns / 1e6).toFixed(ns >= 1e7 ? 1 : 2)} ms` : `${(ns / 1e3).toFixed(0)} µs`;

/* ---- sending ---- */

async function send(one) {
  if (!one || sending) return;
  if (one.size > FILE_MAX) { failed(new Error(`${one.name} has ${bytes(one.size)}; a model sent here has at most ${bytes(FILE_MAX)}. strata place ${one.name} takes any`)); return; }
  file = one;
  sending = true;
  const query = new URLSearchParams({ name: one.name.slice(-99), ...(dims.trim() ? { dims: dims.replaceAll(' ', '') } : {}) });
  await study.begin(async () => (await request('POST', `/plans?${query}`, { raw: one })).json());
  sending = false;
  redraw();
}
function dropZone() {
  return h('label', { class: over ? 'drop over' : 'drop', ondragover: event => { event.preventDefault(); if (!over) { over = true; redraw(); } }, ondragleave: () => { over = false; redraw(); }, ondrop: event => { event.preventDefault(); over = false; send(event.dataTransfer.files[0]); } },
    icon('save'), h('span', null, h('b', null, 'Drop an ONNX file here'), ' or choose one'), h('span', { class: 'dim sm' }, `at most ${bytes(FILE_MAX)}; weights in files of their own need not come along`), h('input', { type: 'file', id: 'model-file', class: 'sr', accept: '.onnx,.json', onchange: event => { send(event.target.files[0]); event.target.value = ''; } }));
}
function form() {
  return h('div', { class: 'card pad stack' }, dropZone(), h('div', { class: 'row wrap gap' }, h('label', { class: 'row' }, 'Dimensions ', h('input', { class: 'in', id: 'dims', placeholder: 'batch=1,sequence=128', value: dims, oninput: event => { dims = event.target.value; } })),
    h('button', { class: 'btn', disabled: !file || sending || study.running(), onclick: () => send(file) }, 'Plan again'), study.running() ? [h('span', { class: 'sm dim', role: 'status' }, study.study.stage || 'waits for its turn'), bar(0.5, '', true), h('button', { class: 'btn tiny', onclick: () => study.cancel() }, 'Stop')] : null, h('span', { class: 'grow' }), copyButton(() => `strata place ${study.study?.name ?? 'model.onnx'}${dims ? ` --dim ${dims}` : ''}`, 'Command')),
    study.trouble ? problemLine(`${study.trouble}.`) : null);
}

/* ---- the plan ---- */

/* Operators as slices: a lane for each device, coloured by kind. */
function lanes(plan) {
  const kinds = kindsOf(plan), colour = new Map(kinds.map((one, i) => [one.kind, i % COLOURS])), end = Math.max(1, ...plan.ops.map(op => op.finish_ns)), devices = plan.devices.map(one => one.name);
  const big = [...plan.ops].sort((a, b) => (b.finish_ns - b.start_ns) - (a.finish_ns - a.start_ns)).slice(0, SLICES_MAX), height = devices.length * LANE + 24;
  return sized('lanes', width => {
    const left = 90, inner = Math.max(60, width - left - 8), X = ns => left + ns / end * inner;
    return h('svg', { class: 'lanes', width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${count(plan.ops.length, 'operator')} in ${ms(plan.latency_ns)}: ${plan.devices.map(one => `${one.ops} on ${one.name}`).join(', ')}` },
      devices.map((name, i) => [h('text', { class: 'end', x: left - 8, y: i * LANE + 21 }, name.slice(0, 12)), h('path', { class: 'grid', d: `M${left} ${i * LANE + LANE - 2}H${width - 8}` })]),
      big.map(op => h('rect', { class: `k${colour.get(op.kind) ?? 0}`, x: X(op.start_ns).toFixed(2), y: devices.indexOf(op.device) * LANE + 6, width: Math.max(0.6, (op.finish_ns - op.start_ns) / end * inner).toFixed(2), height: LANE - 12 }, h('title', null, `${op.name} · ${op.kind} · ${ms(op.finish_ns - op.start_ns)}`))),
      h('text', { x: left, y: height - 4 }, '0'), h('text', { class: 'end', x: width - 8, y: height - 4 }, ms(end)));
  });
}
function kindsOf(plan) {
  const all = new Map();
  for (const op of plan.ops) { const one = all.get(op.kind) ?? { kind: op.kind, ops: 0, ns: 0 }; one.ops++; one.ns += op.finish_ns - op.start_ns; all.set(op.kind, one); }
  return [...all.values()].sort((a, b) => b.ns - a.ns);
}
const table = (label, heads, rows) => h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': label }, h('table', null, h('thead', null, h('tr', null, heads.map((text, i) => h('th', { scope: 'col', class: i ? 'n' : null }, text)))), h('tbody', null, rows.map((row, i) => h('tr', { key: i }, row.map((cell, k) => k ? h('td', { class: 'n' }, cell) : h('th', { scope: 'row' }, cell)))))));

function overview(plan) {
  const kinds = kindsOf(plan), all = kinds.reduce((sum, one) => sum + one.ns, 0) || 1, phases = [...new Set(plan.ops.map(op => op.phase))].filter(one => one && one !== 'other');
  return card('The model', null, h('div', { class: 'pad' }, facts([['File', study.study.name], ['Operators', plan.ops.length.toLocaleString('en')], ['It is', plan.workload === 'other' ? 'no kind that is known' : plan.workload], phases.length ? ['Phases', phases.join(', ')] : null, ['Weights', bytes(plan.devices.reduce((sum, one) => sum + one.weight_bytes, 0))]]),
    h('h3', { class: 'label' }, 'Where the time goes'), h('ul', { class: 'kinds' }, kinds.slice(0, KINDS_SHOWN).map((one, i) => h('li', { key: one.kind }, h('i', { class: `k${i % COLOURS}` }), h('span', { class: 'cut' }, one.kind, ' ', h('span', { class: 'dim' }, `× ${one.ops}`)), bar(one.ns / all, `${Math.round(100 * one.ns / all)} %`), h('span', { class: 'dim sm' }, ms(one.ns)))))));
}
/* What models of the service really take: the measure of how far a prediction may be off here. */
function observed() {
  const rows = data.models.flatMap(model => (model.measured ?? []).filter(one => one.seconds_per_step != null).map(one => [model.name, one.width ? `${one.width} × ${one.height}` : 'its own', one.n, one.images, ms(one.seconds_per_step * 1e9)]));
  return rows.length ? card('Observed', 'steps of models that draw here', table('Observed', ['Model', 'Size', 'At a time', 'Pictures', 'A step'], rows)) : null;
}
/* By kind of operator: what the service's engine saw on this machine beside what is predicted. */
function beside(plan) {
  const list = [...(plan.observed ?? [])].sort((a, b) => b.predicted_ns - a.predicted_ns), known = list.filter(one => one.factor != null);
  const sum = pick => known.reduce((total, one) => total + pick(one), 0), whole = sum(one => one.predicted_ns), left = list.length - known.length;
  return card('Predicted and observed', 'by kind of operator', h('p', { class: 'pad sm ink2' }, known.length ? `Operators seen on this machine took ${(sum(one => one.predicted_ns * one.factor) / (whole || 1)).toFixed(2)} times what is predicted. ` : 'Nothing of it was observed on this machine yet. ', left ? [h('code', null, 'strata engine run MODEL'), ' as the user of the service measures, and what it sees is shown here.'] : null),
    table('Predicted and observed', ['Operator', 'Predicted', 'Observed ÷ predicted', 'Observed', 'Seen'], list.slice(0, OBSERVED_SHOWN).map(one => one.factor == null ? [one.kind, ms(one.predicted_ns), h('span', { class: 'dim' }, 'not observed yet'), '–', '–'] : [one.kind, ms(one.predicted_ns), one.factor.toFixed(2), ms(one.predicted_ns * one.factor), count(one.seen, 'time')])));
}
function result() {
  const plan = study.study?.result;
  if (!plan) return study.running() || study.trouble ? null : h('div', { class: 'card' }, empty('No model yet', 'A model that you drop above is read, priced on the devices of the service\'s machine, and planned. It is forgotten afterwards.'));
  const single = plan.alternatives.find(one => one.strategy === 'single'), gain = single?.latency_ns ? single.latency_ns / plan.latency_ns : 1;
  return [h('div', { class: 'card pad', role: 'status' }, h('p', { class: 'big' }, `One request takes about ${ms(plan.latency_ns)}`, h('span', { class: 'ink2' }, gain > 1.02 ? `, ${gain.toFixed(1)} times as fast as on the best single device.` : plan.devices.length > 1 ? '; no plan over several devices is faster.' : ` on ${plan.devices[0]?.name ?? 'this machine'}.`)), h('p', { class: 'sm dim' }, `Predicted by the cost model (strategy ${plan.strategy}), not measured: strata engine run on the machine measures, and what it learns corrects the next plan there.`), h('ul', { class: 'plain sm ink2' }, plan.reasons.map((one, i) => h('li', { key: i }, one)))),
    h('section', { class: 'card', 'aria-label': 'Plan' }, h('header', null, h('h2', null, 'Plan'), h('span', { class: 'sub' }, 'what each device computes when')), h('div', { class: 'pad' }, lanes(plan))),
    h('div', { class: 'halves' }, overview(plan), h('div', { class: 'stack' }, card('Devices', null, table('Devices', ['Device', 'Operators', 'Busy', 'Weights', 'Activations', 'Has'], plan.devices.map(one => [one.name, one.ops, ms(one.busy_ns), bytes(one.weight_bytes), bytes(one.activation_bytes), one.capacity_bytes ? bytes(one.capacity_bytes) : '–']))),
      card('Alternatives', 'what each strategy would take', table('Alternatives', ['Strategy', 'Request', 'Fits'], plan.alternatives.map(one => [one.strategy, one.latency_ns == null ? '–' : ms(one.latency_ns), one.fits ? 'yes' : 'no']))), plan.observed ? beside(plan) : null, observed()))];
}

export const placePage = {
  title: () => 'Place',
  hints: [],
  open() { study.enter().then(redraw, failed); },
  close() { study.leave(); },
  draw: () => [h('div', { class: 'head' }, h('div', { class: 'grow' }, h('h1', null, 'Place'), h('p', null, 'What of a model runs on which device of this machine, how long it takes, and what else would be possible.'))), h('div', { class: 'column' }, form(), result())],
};
