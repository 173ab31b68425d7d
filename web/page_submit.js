/*
 * Submit: will it start, when, where? The form is the API's own table; while one types, the service
 * tries the job without taking it in, and says what is wrong or when it would start.
 */
import { ApiError, ask } from './api.js';
import { go, redraw, route } from './app.js';
import { data, onData } from './data.js';
import { glyph, h } from './dom.js';
import { bytes, count, duration, exact, now, time } from './format.js';
import { failed, toast } from './overlay.js';
import { card, copyButton, field, problemLine, segments } from './parts.js';
import { schemaField, schemaOf } from './schema_form.js';
import { cutWords, joinWords, quoteWord } from './words.js';

const TRY_AFTER_MS = 350, TRY_AGAIN_MS = 10_000;
const MAIN = ['command', 'name', 'working_dir', 'gpus', 'gpu_type', 'cpus_per_task', 'memory', 'time_limit', 'priority', 'begin', 'preemptible', 'requeue', 'checkpoint'];
const LEFT_OUT = new Set(['script', 'script_name', 'arguments', 'environment', 'request_key', 'held_by', ...MAIN]); /* of them the form has its own, or the other tab */
const SCRIPT = '#!/bin/bash\n#SBATCH --job-name=train\n#SBATCH --gpus=1\n#SBATCH --time=1:00:00\n\npython train.py\n';
let values = {}, commandText = '', script = SCRIPT, schema = null, errors = {}, trial = null, picks = [], busy = false, timer = 0, every = 0, round = 0, wordsTrouble = null, general = null;

/* ---- what is asked for ---- */

const mostGpus = () => Math.max(0, ...data.nodes.map(node => node.gpus));
const choices = () => [...new Set([0, 1, 2, 4, 8, mostGpus()])].filter(number => number <= mostGpus()).sort((a, b) => a - b).slice(0, 6);
const types = () => [...new Set(data.nodes.map(node => node.gpu_type).filter(Boolean))];
function job(more = {}) {
  const body = { ...values, command: cutWords(commandText), ...more };
  for (const key of Object.keys(body)) if (body[key] === undefined || body[key] === '') delete body[key];
  return body;
}
function set(name, value) { values = { ...values, [name]: value }; delete errors[name]; soon(); redraw(); }
function soon(after = TRY_AFTER_MS) { clearTimeout(timer); timer = setTimeout(tryIt, after); }

/* ---- trying ---- */

async function tryIt() {
  const mine = ++round;
  try { wordsTrouble = null; cutWords(commandText); } catch (trouble) { wordsTrouble = trouble.message; trial = null; redraw(); return; }
  if (!commandText.trim()) { trial = null; errors = {}; }
  const command = commandText.trim() ? {} : { command: ['true'] }; /* when others would start can be said before there is a command */
  try {
    const numbers = choices(), answer = await ask('POST', '/trial', { jobs: [job(command), ...numbers.map(gpus => job({ ...command, gpus }))] });
    if (mine !== round) return;
    [trial, ...picks] = answer.trials;
    picks = picks.map((one, i) => ({ ...one, gpus: numbers[i] }));
    errors = trial.error ? { [trial.error.field ?? '']: trial.error.message } : {};
    general = null;
  } catch (trouble) { if (mine === round && trouble instanceof ApiError) { trial = null; general = trouble.message; } }
  redraw();
}
const isNow = one => one.start_at && Date.parse(one.start_at) <= now() + 2000;
const pickText = one => one.error ? 'never' : isNow(one) ? 'now' : one.start_at ? `≈ ${time(one.start_at)}` : 'not known';

async function submit() {
  if (busy) return;
  busy = true;
  errors = {};
  redraw();
  try {
    const asScript = route.query.get('tab') === 'script';
    const answer = asScript ? await ask('POST', '/slurm/sbatch', { script }) : await ask('POST', '/jobs', job(), { headers: { 'Idempotency-Key': crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}` } });
    toast(`Job ${answer.id} is taken in.`);
    go(`#/job/${answer.id}`);
  } catch (trouble) {
    if (trouble instanceof ApiError) { errors = { [trouble.field ?? '']: trouble.message }; document.getElementById(`f-${trouble.field}`)?.focus(); } else failed(trouble instanceof Error ? trouble : new Error(String(trouble)));
  }
  busy = false;
  redraw();
}

/* ---- the form ---- */

const known = name => schema?.properties[name] ?? {};
const input = (name, props = {}) => h('input', { class: 'in', id: `f-${name}`, autocomplete: 'off', spellcheck: 'false', 'aria-invalid': errors[name] ? 'true' : null, value: values[name] ?? '', oninput: event => set(name, props.number && event.target.value !== '' && !Number.isNaN(Number(event.target.value)) ? Number(event.target.value) : event.target.value || undefined), ...props.props });
const text = (name, label, options = {}) => field(label, input(name, options), { hint: options.hint, error: errors[name], help: options.help });
const check = (name, label, note) => h('label', { class: 'check' }, h('input', { type: 'checkbox', id: `f-${name}`, checked: values[name] ?? known(name).default ?? false, onchange: event => set(name, event.target.checked) }), label, note ? h('span', { class: 'dim' }, note) : null);

function whatRuns() {
  return h('fieldset', null, h('legend', null, 'What runs'),
    field('Command', h('input', { class: 'in mono', id: 'f-command', autocomplete: 'off', spellcheck: 'false', placeholder: 'python train.py --config vit.yaml', value: commandText, 'aria-invalid': errors.command || wordsTrouble ? 'true' : null, oninput: event => { commandText = event.target.value; delete errors.command; soon(); redraw(); } }), { error: wordsTrouble ?? errors.command }),
    h('div', { class: 'two' }, text('name', 'Name', { hint: 'optional' }), text('working_dir', 'Directory', { hint: 'your home when left out', props: { class: 'in mono' } })));
}
function gpuPicker() {
  const now_ = values.gpus ?? 0;
  return h('div', null, h('p', { class: 'label', id: 'gpus-label' }, 'GPUs', h('i', null, 'and when it would start')),
    h('div', { class: 'gpick', role: 'group', 'aria-labelledby': 'gpus-label' }, choices().map(number => {
      const one = picks.find(pick => pick.gpus === number);
      return h('button', { key: number, type: 'button', class: one && isNow(one) ? 'nowok' : '', 'aria-pressed': String(number === now_), onclick: () => set('gpus', number) }, h('b', null, number), h('span', null, one ? pickText(one) : '…'));
    })), errors.gpus ? problemLine(errors.gpus) : null);
}
function whatItNeeds() {
  const cpus = Math.max(0, ...data.nodes.map(node => node.cpus)), memory = Math.max(0, ...data.nodes.map(node => node.memory_bytes));
  return h('fieldset', null, h('legend', null, 'What it needs'), gpuPicker(), h('div', { class: 'three' },
    field('GPU type', h('select', { class: 'in', id: 'f-gpu_type', value: values.gpu_type ?? '', onchange: event => set('gpu_type', event.target.value || undefined) }, h('option', { value: '' }, 'any'), types().map(type => h('option', { value: type }, type.toUpperCase()))), { error: errors.gpu_type }),
    text('cpus_per_task', 'CPUs', { number: true, hint: cpus ? `of ${cpus}` : '', props: { inputmode: 'decimal', placeholder: '1' } }), text('memory', 'Memory', { hint: memory ? `of ${bytes(memory)}` : '', props: { placeholder: '16G' } }),
    text('time_limit', 'Time limit', { props: { placeholder: '1h' } }), field('Priority', h('select', { class: 'in', id: 'f-priority', value: values.priority ?? 'normal', onchange: event => set('priority', event.target.value) }, (known('priority').enum ?? ['normal']).map(band => h('option', { value: band }, band))), { error: errors.priority }),
    text('begin', 'Not before', { hint: 'optional', props: { placeholder: '16:00, tomorrow, now+2h' } })));
}
const ifInterrupted = () => h('fieldset', null, h('legend', null, 'If it is interrupted'), h('div', { class: 'row wrap gap' }, check('preemptible', 'may be preempted', 'goes on from its checkpoint'), check('requeue', 'run again when its node fails'), h('label', { class: 'check' }, 'checkpoint every', h('input', { class: 'in slim', id: 'f-checkpoint', placeholder: '10m', 'aria-label': 'Checkpoint every', value: values.checkpoint ?? '', oninput: event => set('checkpoint', event.target.value || undefined) }))), errors.checkpoint ? problemLine(errors.checkpoint) : null);
function rest() {
  if (!schema) return null;
  const names = Object.keys(schema.properties).filter(name => !LEFT_OUT.has(name));
  return h('fieldset', null, h('details', { open: names.some(name => errors[name]) || undefined }, h('summary', null, h('b', null, 'More'), h('span', { class: 'dim' }, ' array, depends on, output files, account, nodes, features')),
    h('div', { class: 'more-fields' }, names.map(name => schemaField(name, schema.properties[name], values, errors, set)))));
}
const scriptForm = () => h('fieldset', null, h('legend', null, 'Batch script'), h('textarea', { class: 'in mono', id: 'f-script', rows: 18, spellcheck: 'false', 'aria-label': 'Batch script', value: script, 'aria-invalid': errors.script || errors[''] ? 'true' : null, oninput: event => { script = event.target.value; errors = {}; redraw(); }, ondragover: event => event.preventDefault(), ondrop: dropped }), errors[''] || errors.script ? problemLine(errors.script ?? errors['']) : h('p', { class: 'hint' }, 'As sbatch takes it, with its #SBATCH lines. A file may be dropped here.'));
async function dropped(event) {
  const file = event.dataTransfer?.files[0];
  if (!file) return;
  event.preventDefault();
  if (file.size > 4 << 20) { failed(new Error(`${file.name} has ${bytes(file.size)}; a script has at most 4 MB`)); return; }
  script = await file.text();
  event.target.value = script;
  redraw();
}

/* ---- beside it ---- */

const limitOf = () => trial?.time_limit_s ?? null;
function outcome() {
  if (route.query.get('tab') === 'script') return { title: 'Goes to the queue', text: 'The service reads the #SBATCH lines as Slurm does, and refuses what Slurm would refuse.' };
  if (wordsTrouble) return { bad: true, title: 'It cannot start', text: `${wordsTrouble}.` };
  if (!trial) return general ? { bad: true, title: 'It cannot start', text: `${general}.` } : { title: '…', text: '' };
  if (trial.error) return { bad: true, title: 'It cannot start', text: `${trial.error.message}.` };
  const limit = limitOf(), start = trial.start_at ? Date.parse(trial.start_at) : null, ends = start && limit ? ` Ends by ${time(new Date(Math.max(start, now()) + 1000 * limit).toISOString())} at the latest.` : '';
  if (isNow(trial)) return { title: 'Starts at once', text: `On ${trial.node ?? 'a node'}.${ends}` };
  if (start) return { title: `Starts about ${time(trial.start_at)}`, text: `In ${duration((start - now()) / 1000)}, on ${trial.node ?? 'a node'}, as things stand.${ends}`, exact: exact(trial.start_at) };
  return { title: 'Waits', text: trial.reason_text ? `${trial.reason_text}; when it starts cannot be said.` : 'When it starts cannot be said.' };
}
function whatWillHappen() {
  const { title, text: more, bad, exact: at } = outcome(), asScript = route.query.get('tab') === 'script', limit = limitOf(), gpus = values.gpus ?? 0;
  return card('What will happen', null, h('div', { class: 'pad', 'aria-live': 'polite' }, h('p', { class: bad ? 'big failed' : 'big', title: at }, title), h('p', { class: 'ink2' }, more),
    asScript || bad || !trial ? null : h('ul', { class: 'tickets' }, trial.ahead && !isNow(trial) ? h('li', null, glyph('queued'), h('span', null, 'Before it in the queue'), h('span', { class: 'dim sm' }, count(trial.ahead, 'job'))) : null, gpus && limit ? h('li', null, glyph('completed'), h('span', null, 'Costs at most'), h('span', { class: 'dim sm' }, `${Math.round(gpus * limit / 360) / 10} GPU hours`)) : null),
    h('button', { class: 'btn primary big wide', id: 'submit', disabled: busy || (!asScript && (!commandText.trim() || Boolean(bad))), onclick: submit }, busy ? 'Submitting …' : 'Submit', h('kbd', null, 'Ctrl ↵'))));
}
function shellText() {
  if (route.query.get('tab') === 'script') return 'sbatch job.sh';
  let words = [];
  try { words = cutWords(commandText); } catch { /* said elsewhere */ }
  const flags = Object.entries(values).filter(([, value]) => value !== undefined && value !== '' && value !== false).map(([name, value]) => `--${name.replaceAll('_', '-')}${value === true ? '' : ` ${quoteWord(String(value))}`}`);
  return ['strata submit', ...flags.map(flag => `  ${flag}`), `  -- ${words.length ? joinWords(words) : '…'}`].join(' \\\n');
}

export const submitPage = {
  title: () => 'Submit a job',
  hints: [['Ctrl Enter', 'submit'], ['Esc', 'leave a field']],
  keys: { 'Ctrl Enter': () => document.getElementById('submit')?.click(), Escape: () => history.back() },
  async open() {
    [values, commandText, errors, trial, picks, busy, wordsTrouble, general] = [{}, '', {}, null, [], false, null, null];
    if (route.query.get('again')) {
      const { command, script: old, environment, ...rest_ } = JSON.parse(sessionStorage.getItem('strata.again') ?? '{}');
      values = Object.fromEntries(Object.entries(rest_).filter(([, value]) => typeof value !== 'object'));
      commandText = Array.isArray(command) ? joinWords(command) : '';
    }
    every = setInterval(() => { if (!document.hidden) tryIt(); }, TRY_AGAIN_MS);
    this.stop = onData(() => { if (!picks.length) soon(0); });
    if (data.loaded) soon(0);
    try { schema = await schemaOf('/api/v1/jobs', 'post'); } catch (trouble) { failed(trouble); }
    redraw();
  },
  close() { clearTimeout(timer); clearInterval(every); this.stop?.(); round++; },
  draw() {
    const tab = route.query.get('tab') === 'script' ? 'script' : 'form';
    return [h('div', { class: 'head middle' }, h('h1', { class: 'grow' }, 'Submit a job'), segments('Kind', [['form', 'Form'], ['script', 'Batch script']], tab, value => { errors = {}; go(`#/submit${value === 'script' ? '?tab=script' : ''}`); redraw(); })),
      h('div', { class: 'sub2' }, h('form', { class: 'card', key: tab, onsubmit: event => { event.preventDefault(); submit(); } }, tab === 'script' ? scriptForm() : [whatRuns(), whatItNeeds(), ifInterrupted(), rest(), errors[''] ? h('div', { class: 'pad' }, problemLine(errors[''])) : null]),
        h('aside', { class: 'stack aside', 'aria-label': 'What will happen' }, whatWillHappen(), h('section', { class: 'card' }, h('header', null, h('h2', null, 'The same in a shell'), h('span', { class: 'grow' }), copyButton(shellText)), h('div', { class: 'pad' }, h('pre', { class: 'cmd' }, shellText())))))];
  },
};
