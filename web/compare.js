/*
 * Solvers side by side: one prompt and seed, drawn by several solvers with several numbers of steps.
 * How far each is from its solver's picture with most steps is measured here, pixel by pixel.
 */
import { ApiError, ask, get, picture } from './api.js';
import { redraw } from './app.js';
import { h } from './dom.js';
import { failed } from './overlay.js';
import { empty, field, problemLine } from './parts.js';

const SOLVERS_MAX = 4, STEPS = [4, 8, 16], PAUSE_MS = 700, OVER = new Set(['finished', 'failed', 'cancelled']);
let cells = [], chosen = [], steps = STEPS.join(', '), prompt = '', seed = 1, trouble = null, timer = 0, urls = [], best = null;

const running = () => cells.some(cell => !OVER.has(cell.status));
const stepsOf = () => [...new Set(steps.split(',').map(text => Number(text.trim())).filter(one => Number.isInteger(one) && one > 0 && one <= 1000))].sort((a, b) => a - b).slice(0, 4);
const took = cell => cell.task?.started_at && cell.task.ended_at ? (Date.parse(cell.task.ended_at) - Date.parse(cell.task.started_at)) / 1000 : null;

const seconds = s => `${s.toFixed(s < 1 ? 2 : 1)} s`;

/* Root of the mean square of the difference of two pictures, 0 to 1. */
async function pixels(url) {
  const image = new Image();
  image.src = url;
  await image.decode();
  const canvas = new OffscreenCanvas(image.naturalWidth, image.naturalHeight), context = canvas.getContext('2d', { willReadFrequently: true });
  context.drawImage(image, 0, 0);
  return context.getImageData(0, 0, canvas.width, canvas.height).data;
}
export function difference(a, b) {
  if (a.length !== b.length) return null;
  let sum = 0, count = 0;
  for (let i = 0; i < a.length; i++) if (i % 4 !== 3) { sum += (a[i] - b[i]) ** 2; count++; }
  return Math.sqrt(sum / count) / 255;
}
async function measure() {
  for (const solver of new Set(cells.map(cell => cell.solver))) {
    const row = cells.filter(cell => cell.solver === solver), last = row.at(-1);
    if (!last.url) continue;
    const reference = await pixels(last.url);
    for (const cell of row) if (cell !== last && cell.url) cell.difference = difference(await pixels(cell.url), reference);
  }
  const good = cells.filter(cell => cell.difference != null && cell.difference < 0.1 && took(cell) != null).sort((a, b) => took(a) - took(b));
  best = good[0] ?? null;
  redraw();
}

async function look() {
  clearTimeout(timer);
  for (const cell of cells.filter(one => one.id && !OVER.has(one.status))) {
    try {
      cell.task = await get(`/tasks/${cell.id}`);
      cell.status = cell.task.status;
      if (cell.status === 'finished' && cell.task.images?.length) { cell.url = await picture(`/tasks/${cell.id}/image/0`); urls.push(cell.url); }
      if (cell.status === 'failed') cell.error = cell.task.error;
    } catch (error) { if (error instanceof ApiError) { cell.status = 'failed'; cell.error = error.message; } }
    redraw();
  }
  if (running()) timer = setTimeout(look, PAUSE_MS); else measure().catch(failed);
}
async function begin(model) {
  leave();
  trouble = null;
  best = null;
  cells = chosen.flatMap(solver => stepsOf().map(count => ({ solver, steps: count, status: 'asked' })));
  redraw();
  for (const cell of cells) {
    try { const answer = await ask('POST', '/generate', { prompt, seed: Number(seed), steps: cell.steps, scheduler: cell.solver, n: 1, ...(model ? { model } : {}) }); cell.id = answer.id ?? answer.ids?.[0]; cell.status = 'pending'; } catch (error) { cell.status = 'failed'; cell.error = error.message; trouble = `${cell.solver}, ${cell.steps} steps: ${error.message}`; }
    redraw();
  }
  look();
}
export function leave() { clearTimeout(timer); urls.forEach(url => URL.revokeObjectURL(url)); urls = []; }

function form(samplers, model, form_) {
  const toggle = name => { chosen = chosen.includes(name) ? chosen.filter(one => one !== name) : [...chosen, name].slice(-SOLVERS_MAX); redraw(); };
  if (!prompt && form_.prompt) prompt = form_.prompt;
  if (!chosen.length && samplers.length) chosen = ['euler', 'heun', 'dpmpp_2m'].filter(name => samplers.some(one => one.name === name)).concat(samplers.map(one => one.name)).slice(0, 2);
  return h('form', { class: 'card pad stack', 'aria-label': 'What is compared', onsubmit: event => { event.preventDefault(); begin(model?.name); } },
    h('div', { class: 'three' }, field('Prompt', h('input', { class: 'in', id: 'c-prompt', value: prompt, oninput: event => { prompt = event.target.value; redraw(); } })), field('Steps', h('input', { class: 'in', id: 'c-steps', value: steps, oninput: event => { steps = event.target.value; redraw(); } }), { hint: 'up to four' }), field('Seed', h('input', { class: 'in', id: 'c-seed', inputmode: 'numeric', value: String(seed), oninput: event => { seed = event.target.value; } }))),
    h('fieldset', { class: 'solvers' }, h('legend', null, `Solvers, up to ${SOLVERS_MAX}`), samplers.map(one => h('label', { key: one.name, class: 'check' }, h('input', { type: 'checkbox', checked: chosen.includes(one.name), onchange: () => toggle(one.name) }), one.name))),
    h('div', { class: 'row wrap gap' }, h('button', { class: 'btn primary', id: 'compare', disabled: !prompt.trim() || !chosen.length || !stepsOf().length || running() }, running() ? 'Drawing …' : `Draw ${chosen.length * stepsOf().length} pictures`)), trouble ? problemLine(`${trouble}.`) : null);
}
function grid() {
  if (!cells.length) return h('div', { class: 'card' }, empty('Nothing is compared yet', 'Choose solvers and numbers of steps: the same prompt and seed is drawn by each, side by side.'));
  const columns = [...new Set(cells.map(cell => cell.steps))], rows = [...new Set(cells.map(cell => cell.solver))];
  return h('section', { class: 'card', 'aria-label': 'Same prompt, same seed' }, h('header', null, h('h2', null, 'Same prompt, same seed'), h('span', { class: 'sub' }, `${seed} · the number is the difference from the row's last picture`)), h('div', { class: 'scroll whole pad', tabindex: '0', role: 'group', 'aria-label': 'Pictures by solver and steps' }, h('table', { class: 'compare' }, h('thead', null, h('tr', null, h('td', null), columns.map(count => h('th', { scope: 'col' }, `${count} steps`)))),
    h('tbody', null, rows.map(solver => h('tr', { key: solver }, h('th', { scope: 'row' }, solver), columns.map(count => { const cell = cells.find(one => one.solver === solver && one.steps === count); return h('td', { key: count, class: cell === best ? 'best' : null }, h('div', { class: 'im' }, cell.url ? h('img', { src: cell.url, alt: `${solver}, ${count} steps` }) : h('span', { class: 'dim sm' }, cell.error ?? (cell.task?.steps_done ? `step ${cell.task.steps_done}` : cell.status))), h('p', { class: 'row apart sm dim' }, h('span', null, took(cell) == null ? '' : seconds(took(cell))), h('span', null, cell.difference == null ? '' : cell.difference.toFixed(3)))); })))))),
    best ? h('p', { class: 'foot sm' }, h('b', null, `${best.solver} with ${best.steps} steps`), ` is the quickest below 0.1: ${seconds(took(best))}.`) : null);
}
export const compare = (samplers, model, form_) => h('div', { class: 'column' }, form(samplers, model, form_), grid());
