/* Generate: is it coming along, and how did I make that one? Pictures are one's own; of others only how many are before. */
import { ApiError, ask, followEvents, get, picture } from './api.js';
import { redraw, route, setQuery } from './app.js';
import { compare, leave as leaveCompare } from './compare.js';
import { data } from './data.js';
import { h, icon } from './dom.js';
import { ago, bytes, count, duration, exact, since } from './format.js';
import { onEvent } from './live.js';
import { atLeast, isMine, me } from './me.js';
import { failed, toast } from './overlay.js';
import { empty, field, problemLine, segments } from './parts.js';

const GALLERY_SHOWN = 40, SEED_MAX = 2 ** 32, INIT_BYTES_MAX = 16 << 20, RETRY_MS = 1500;
const LIVE = new Set(['pending', 'encoding', 'denoising', 'decoding']);
const COUNTS = [['1', '1'], ['4', '4'], ['8', '8']];
let form = {}, errors = {}, samplers = [], schedules = [], tasks = [], followed = null, preview = null, busy = false, at = 0, urls = new Map(), stops = [], watcher = null, open = false, loaded = false, init = null;

const anySeed = () => Math.floor(Math.random() * SEED_MAX);
const model = () => data.models.find(one => one.name === form.model) ?? data.models.find(one => one.default) ?? data.models[0];
const shots = () => tasks.filter(task => task.status === 'finished' && task.images?.length);
function set(name, value) { form = { ...form, [name]: value }; delete errors[name]; redraw(); }

/* ---- asking ---- */

function body() {
  const out = { prompt: form.prompt ?? '', model: model()?.name, seed: Number(form.seed), n: Number(form.n ?? 1) };
  for (const name of ['negative_prompt', 'scheduler', 'schedule']) if (form[name]) out[name] = form[name];
  for (const name of ['steps', 'width', 'height', 'guidance_scale']) if (form[name] !== undefined && form[name] !== '') out[name] = Number(form[name]);
  if (init) { out.init_image = init.data; if (form.strength !== undefined) out.strength = Number(form.strength); }
  return out;
}
async function generate() {
  if (busy || !atLeast('user')) return;
  busy = true;
  errors = {};
  redraw();
  try {
    const task = await ask('POST', '/generate', body(), { headers: { 'Idempotency-Key': crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}` } });
    tasks = [task, ...tasks];
    watch(task);
    if (!form.keep) form = { ...form, seed: anySeed() };
  } catch (trouble) { if (trouble instanceof ApiError) errors = { [trouble.field ?? '']: trouble.message }; else failed(trouble); }
  busy = false;
  redraw();
}

/* ---- watching ---- */

const put = task => { tasks = tasks.some(one => one.id === task.id) ? tasks.map(one => one.id === task.id ? task : one) : [task, ...tasks]; };
function dropPreview() { if (preview) URL.revokeObjectURL(preview.url); preview = null; }
async function newPreview(id) {
  try { const url = await picture(`/tasks/${id}/preview`); if (followed?.id !== id) { URL.revokeObjectURL(url); return; } dropPreview(); preview = { id, url }; redraw(); } catch { /* the next one comes */ }
}
async function watch(task) {
  followed?.stop.abort();
  dropPreview();
  const own = { id: task.id, stop: new AbortController() };
  followed = own;
  while (open && followed === own) {
    try {
      await followEvents(`/tasks/${task.id}/events`, (kind, event) => { if (kind === 'preview') newPreview(task.id); else if (event.id) put(event); redraw(); }, { signal: own.stop.signal });
      break;
    } catch (trouble) { if (trouble instanceof ApiError || trouble.name === 'AbortError') break; await new Promise(resolve => setTimeout(resolve, RETRY_MS)); }
  }
  if (followed !== own || !open) return;
  const next = tasks.filter(one => LIVE.has(one.status) && one.id !== task.id).at(-1);
  if (next) watch(next);
  redraw();
}
async function cancel(task) { try { await ask('DELETE', `/tasks/${task.id}`); toast(`Picture ${task.id} is cancelled.`); } catch (trouble) { failed(trouble); } }

async function load() {
  try {
    const list = await get(`/tasks?user=${encodeURIComponent(me.user)}&limit=${GALLERY_SHOWN}`);
    tasks = list.tasks.filter(isMine);
    loaded = true;
    const running = tasks.filter(task => LIVE.has(task.status)).at(-1);
    if (running && !followed) watch(running);
  } catch (trouble) { if (trouble instanceof ApiError) failed(trouble); }
  redraw();
}

/* ---- pictures, when they come into view ---- */

async function show(image) {
  const key = image.dataset.path;
  if (!urls.has(key)) urls.set(key, picture(key).catch(trouble => { urls.delete(key); image.alt = trouble.status === 410 ? 'removed' : 'not there now'; return null; }));
  const url = await urls.get(key);
  if (url && image.dataset.path === key) image.src = url;
}
const pictureOf = (task, number, alt) => h('img', { alt, 'data-path': `/tasks/${task.id}/image/${number}`, width: task.images[number].width, height: task.images[number].height, decoding: 'async', ref: element => watcher?.observe(element) });

/* ---- the form ---- */

function readInit(file) {
  if (!file) return;
  if (file.type !== 'image/png') { errors = { ...errors, init_image: `${file.name} is no PNG file` }; redraw(); return; }
  if (file.size > INIT_BYTES_MAX) { errors = { ...errors, init_image: `${file.name} has ${bytes(file.size)}; expected at most ${bytes(INIT_BYTES_MAX)}` }; redraw(); return; }
  const reader = new FileReader();
  reader.onload = () => { if (init) URL.revokeObjectURL(init.url); init = { name: file.name, data: reader.result.split(',')[1], url: URL.createObjectURL(file) }; delete errors.init_image; redraw(); };
  reader.readAsDataURL(file);
}
function initField() {
  const drop = { ondragover: event => event.preventDefault(), ondrop: event => { event.preventDefault(); readInit(event.dataTransfer.files[0]); } };
  return h('div', { class: 'field', ...drop }, h('span', null, 'Start from a picture', h('i', null, init ? h('button', { type: 'button', class: 'link', onclick: () => { URL.revokeObjectURL(init.url); init = null; redraw(); } }, 'remove') : 'optional')),
    init ? h('div', { class: 'two' }, h('img', { class: 'init', src: init.url, alt: `starts from ${init.name}` }), field('Made anew', h('input', { type: 'range', min: '0.05', max: '1', step: '0.05', id: 'g-strength', value: form.strength ?? 0.75, oninput: event => set('strength', event.target.value) }), { hint: `${Math.round((form.strength ?? 0.75) * 100)} %` }))
      : h('label', { class: 'dropzone' }, 'Drop a PNG here, or ', h('span', { class: 'link' }, 'choose one'), h('input', { type: 'file', class: 'sr', accept: 'image/png', 'aria-label': 'A PNG file to start from', onchange: event => readInit(event.target.files[0]) })), errors.init_image ? problemLine(errors.init_image) : null);
}
const select = (name, label, list, first) => field(label, h('select', { class: 'in', id: `g-${name}`, value: form[name] ?? '', onchange: event => set(name, event.target.value || undefined) }, h('option', { value: '' }, first), list.map(one => h('option', { value: one.name, title: one.summary ?? '' }, one.name))), { error: errors[name] });
const number = (name, label, placeholder, hint) => field(label, h('input', { class: 'in', id: `g-${name}`, inputmode: 'decimal', autocomplete: 'off', placeholder, value: form[name] ?? '', 'aria-invalid': errors[name] ? 'true' : null, oninput: event => set(name, event.target.value) }), { hint, error: errors[name] });

function line() {
  const own = model();
  if (!own) return 'There is no model to draw with.';
  if (own.paused) return `${own.name} is paused: pictures wait until it goes on.`;
  if (own.trouble && !own.workers) return `${own.trouble}.`;
  const before = own.pending + own.running;
  return `${own.workers ? `${count(own.workers, 'worker')} ${own.workers === 1 ? 'is' : 'are'} up` : 'A worker starts with the first picture'}; ${before ? `${count(before, 'picture')} before yours` : 'nobody is before you'}.`;
}
function formCard() {
  const own = model(), defaults = own?.defaults ?? {}, say = value => value && value > 0 ? String(value) : 'the model’s';
  return h('form', { class: 'card', 'aria-label': 'A new picture', onsubmit: event => { event.preventDefault(); generate(); } },
    field('Prompt', h('textarea', { class: 'in', id: 'g-prompt', rows: 4, maxlength: 16384, placeholder: own?.name === 'digits' ? 'a seven' : 'what the picture shows', value: form.prompt ?? '', 'aria-invalid': errors.prompt ? 'true' : null, oninput: event => set('prompt', event.target.value) }), { error: errors.prompt }),
    h('details', null, h('summary', { class: 'sm dim' }, 'What must not be in it'), h('textarea', { class: 'in', rows: 2, 'aria-label': 'What must not be in it', value: form.negative_prompt ?? '', oninput: event => set('negative_prompt', event.target.value) })),
    data.models.length > 1 ? field('Model', h('select', { class: 'in', id: 'g-model', value: own?.name ?? '', onchange: event => set('model', event.target.value) }, data.models.map(one => h('option', { value: one.name }, one.name))), { error: errors.model }) : h('p', { class: 'label' }, 'Model', h('i', null, own?.name ?? 'none')),
    h('div', { class: 'two' }, select('scheduler', 'Solver', samplers, defaults.solver ?? 'the model’s'), select('schedule', 'Schedule', schedules, defaults.schedule ?? 'the solver’s')),
    h('div', { class: 'two' }, number('steps', 'Steps', say(defaults.steps)), number('guidance_scale', 'Guidance', defaults.guidance_scale >= 0 ? String(defaults.guidance_scale) : 'the model’s')),
    h('div', { class: 'two' }, number('width', 'Width', say(defaults.width)), number('height', 'Height', say(defaults.height))),
    h('div', { class: 'two' }, h('div', { class: 'field' }, h('span', null, 'Seed'), h('div', { class: 'row tight' }, h('input', { class: 'in', id: 'g-seed', inputmode: 'numeric', 'aria-label': 'Seed', value: String(form.seed ?? ''), oninput: event => set('seed', event.target.value) }), h('button', { type: 'button', class: 'icon', 'aria-label': 'Another seed', title: 'Another seed (S)', onclick: () => set('seed', anySeed()) }, icon('dice'))), errors.seed ? problemLine(errors.seed) : null),
      h('div', { class: 'field' }, h('span', null, 'Pictures'), segments('Pictures', COUNTS, String(form.n ?? 1), value => set('n', Number(value))))),
    initField(), h('label', { class: 'check' }, h('input', { type: 'checkbox', id: 'g-trace', checked: form.trace ?? false, onchange: event => set('trace', event.target.checked || undefined) }), 'with a trace', h('span', { class: 'dim' }, 'of what happens')), errors[''] ? problemLine(errors['']) : null,
    h('div', null, h('button', { class: 'btn primary big wide', id: 'generate', disabled: busy || !own || !form.prompt?.trim() }, busy ? 'Asking …' : 'Generate', h('kbd', null, 'Ctrl ↵')), h('p', { class: 'hint' }, line())));
}

/* ---- what comes along ---- */

const said = task => task.status === 'pending' ? task.position ? `${task.position === 1 ? 'Next' : `Place ${task.position}`} in the line` : 'Waits' : task.status === 'encoding' ? 'Reads the prompt' : task.status === 'decoding' ? 'Draws it out' : `Step ${task.steps_done} of ${task.steps}`;
function left(task) {
  if (task.status === 'pending') return task.expected_start ? `starts in about ${duration(Math.max(1, (Date.parse(task.expected_start) - Date.now()) / 1000))}` : '';
  const spent = task.started_at ? since(task.started_at) : 0;
  return task.steps_done > 1 && task.steps ? `${duration(Math.max(1, spent / task.steps_done * (task.steps - task.steps_done)))} left` : '';
}
function nowCard() {
  const running = tasks.filter(task => LIVE.has(task.status)), task = running.find(one => one.id === followed?.id) ?? running.at(-1);
  if (!task) return null;
  const others = running.filter(one => one.id !== task.id);
  return h('section', { class: 'card', 'aria-label': 'Now' }, h('header', null, h('h2', null, 'Now'), h('span', { class: 'sub' }, `${task.model} · picture ${task.id}`), h('span', { class: 'grow' }), h('button', { class: 'btn tiny', onclick: () => cancel(task) }, 'Stop')),
    h('div', { class: 'live2' }, h('div', { class: 'pic' }, preview?.id === task.id ? h('img', { id: 'preview', src: preview.url, alt: `preview at step ${task.steps_done} of ${task.steps}` }) : h('p', { class: 'dim sm' }, task.status === 'pending' ? 'It has not begun.' : 'A preview follows.')),
      h('div', { class: 'gp' }, h('div', null, h('p', { class: 'row apart' }, h('b', { class: 'step' }, said(task)), h('span', { class: 'ink2' }, left(task))), h('div', { class: 'bar run', role: 'progressbar', 'aria-valuenow': task.steps_done ?? 0, 'aria-valuemin': 0, 'aria-valuemax': task.steps ?? 0, 'aria-label': 'Steps', vars: { '--v': task.steps ? (task.steps_done ?? 0) / task.steps : 0 } }, h('i'))),
        h('p', { class: 'ink2' }, task.parameters?.prompt ?? ''),
        others.length ? h('div', null, h('p', { class: 'label' }, 'Yours behind it'), h('ol', { class: 'lane' }, others.slice(0, 5).map((one, i) => h('li', { key: one.id }, h('span', { class: 'dim' }, i + 1), h('span', { class: 'cut' }, one.parameters?.prompt ?? `picture ${one.id}`), h('button', { class: 'btn tiny quiet', onclick: () => cancel(one) }, 'Stop'))))) : null)));
}

/* ---- the gallery ---- */

function use(task) {
  const p = task.parameters ?? {};
  form = { prompt: p.prompt, negative_prompt: p.negative_prompt || undefined, model: task.model, scheduler: p.scheduler ?? p.solver ?? undefined, schedule: p.schedule ?? undefined, steps: p.steps ?? task.steps, width: p.width || undefined, height: p.height || undefined, guidance_scale: p.guidance_scale >= 0 ? p.guidance_scale : undefined, seed: task.seed, n: 1, keep: true };
  toast('The settings are in the form.');
  redraw();
}
function settings(task) {
  const p = task.parameters ?? {}, took = task.started_at && task.ended_at ? (Date.parse(task.ended_at) - Date.parse(task.started_at)) / 1000 : null;
  return h('div', { class: 'card set' }, h('div', null, h('b', { class: 'cut', title: p.prompt }, p.prompt), h('p', { class: 'sm dim', title: exact(task.ended_at) }, ago(task.ended_at))),
    [['Solver', [p.scheduler ?? p.solver ?? 'the model’s', p.schedule].filter(Boolean).join(' ')], ['Steps', task.steps], ['Size', `${task.images[0].width} × ${task.images[0].height}`], ['Seed', task.seed], ['Took', took == null ? '–' : took < 10 ? `${took.toFixed(1)} s` : duration(took)]].map(([name, value]) => h('div', null, h('p', { class: 'sm dim' }, name), value)),
    h('span', { class: 'row' }, p.trace ? h('a', { class: 'btn tiny', href: `#/trace/${task.id}` }, 'What happened') : null, h('button', { class: 'btn tiny', onclick: () => use(task) }, 'Use these', h('kbd', null, 'U'))));
}
function gallery() {
  const list = shots();
  if (!list.length) return loaded && !tasks.some(task => LIVE.has(task.status)) ? h('div', { class: 'card' }, empty('No pictures yet', 'Write what you want to see and press Generate. The picture appears here step by step.', h('code', null, 'strata generate "a seven"'))) : null;
  const chosen = list[Math.min(at, list.length - 1)];
  return h('section', { 'aria-label': 'Gallery' }, h('div', { class: 'sect' }, h('h2', null, 'Gallery'), h('span', { class: 'sm dim' }, 'yours, newest first'), h('span', { class: 'grow' }), h('span', { class: 'sm dim hidep row' }, h('kbd', null, '←'), h('kbd', null, '→'), 'move', h('kbd', null, 'U'), 'use its settings')), settings(chosen),
    h('div', { class: 'gal' }, list.map((task, i) => h('button', { key: task.id, class: 'shot', 'aria-pressed': String(task === chosen), onclick: () => { at = i; redraw(); } }, h('div', { class: 'im' }, pictureOf(task, 0, task.parameters?.prompt ?? `picture ${task.id}`)), h('p', { class: 'cut' }, task.parameters?.prompt ?? ''), h('p', { class: 'dim cut' }, `${task.parameters?.scheduler ?? task.parameters?.solver ?? task.model} · ${count(task.steps, 'step')}${task.images.length > 1 ? ` · ${task.images.length} pictures` : ''}`)))),
    chosen.images.length > 1 ? h('div', { class: 'gal set-of', 'aria-label': 'All of this one' }, chosen.images.map((_, i) => h('div', { key: `${chosen.id}-${i}`, class: 'shot' }, h('div', { class: 'im' }, pictureOf(chosen, i, `${chosen.parameters?.prompt ?? ''}, ${i + 1} of ${chosen.images.length}`))))) : null);
}
function lost() {
  const list = tasks.filter(task => task.status === 'failed').slice(0, 3);
  return list.length ? h('ul', { class: 'problems', 'aria-label': 'Pictures that failed' }, list.map(task => h('li', { key: task.id }, icon('warn'), h('b', null, `picture ${task.id} failed`), h('span', { class: 'what' }, task.error ?? ''), h('button', { class: 'btn tiny', onclick: () => use(task) }, 'Use its settings')))) : null;
}

const comparing = () => atLeast('user') && route.query.get('tab') === 'compare';
const moveBy = by => { at = Math.max(0, Math.min(at + by, shots().length - 1)); redraw(); };
export const generatePage = {
  title: () => 'Generate',
  hints: [['Ctrl Enter', 'generate'], ['S', 'another seed'], ['← →', 'move'], ['U', 'use settings']],
  keys: { 'Ctrl Enter': generate, s: () => set('seed', anySeed()), u: () => { if (shots()[at]) use(shots()[at]); }, ArrowLeft: () => moveBy(-1), ArrowRight: () => moveBy(1) },
  open() {
    [open, at, followed, loaded] = [true, 0, null, false];
    if (form.seed === undefined) form.seed = anySeed();
    watcher = new IntersectionObserver(entries => { for (const entry of entries) if (entry.isIntersecting) { watcher.unobserve(entry.target); show(entry.target); } }, { rootMargin: '300px' });
    stops = [onEvent((kind, event) => { if (kind === 'reconnected') load(); else if (kind === 'task' && event.about?.user === me.user && ['finished', 'failed', 'cancelled'].includes(event.about.status)) load(); })];
    load();
    Promise.all([get('/samplers'), get('/schedules')]).then(([a, b]) => { samplers = a.samplers; schedules = b.schedules; redraw(); }, failed);
  },
  close() {
    open = false;
    followed?.stop.abort();
    followed = null;
    stops.forEach(stop => stop());
    watcher.disconnect();
    dropPreview();
    leaveCompare();
    for (const url of urls.values()) url.then(text => text && URL.revokeObjectURL(text), () => {});
    urls = new Map();
  },
  draw: () => [h('div', { class: 'head middle' }, h('h1', { class: 'grow' }, 'Generate'), atLeast('user') ? segments('View', [['create', 'Create'], ['compare', 'Compare solvers']], comparing() ? 'compare' : 'create', value => setQuery({ tab: value === 'compare' ? 'compare' : null })) : null),
    comparing() ? compare(samplers, model(), form) : h('div', { class: atLeast('user') ? 'gen' : '' }, atLeast('user') ? formCard() : null, h('div', { class: 'stack fresh' }, nowCard(), lost(), gallery()))],
};
