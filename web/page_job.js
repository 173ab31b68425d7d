/* One job. It runs: is it well, how long still? It waits: when, and why not now? It failed: why? */
import { ApiError, ask, get } from './api.js';
import { cancelJob, holdJob, requeueJob } from './actions.js';
import { go, redraw, route } from './app.js';
import { glyph, h, icon } from './dom.js';
import { ago, bytes, count, duration, exact, now, time } from './format.js';
import { stateHistory } from './history.js';
import { onEvent } from './live.js';
import { Log } from './log.js';
import { isMine, mayChange, maySee, nameOf } from './me.js';
import { failed, toast } from './overlay.js';
import { card, copyButton, empty, facts } from './parts.js';
import { Samples } from './samples.js';
import { asks, isLive, leftText, lookOf, nameOfJob, ranFor, startText, startTitle, stateMark, waits, where } from './state.js';

const CHECK_MS = 5000; /* what waits is asked for anew so often: others' jobs move it */
const SOONER_MS = 15_000;
const SAMPLES_MS = 10_000; /* what a job uses is written down every 5 s at most */
let job = null, why = null, checkpoints = [], steps = [], sooner = [], samples = null, trouble = null, log = null, stop = null, timer = 0, sampling = 0, soonerAt = 0, id = null;

/* ---- what is known ---- */

async function load() {
  const asked = id;
  try {
    const next = await get(`/jobs/${encodeURIComponent(asked)}`);
    const [reasons, points, list] = await Promise.all([waits(next) ? get(`/jobs/${next.id}/why`) : null, get(`/jobs/${next.id}/checkpoints`), get(`/jobs/${next.id}/steps`)]);
    if (asked !== id) return;
    [job, why, checkpoints, steps, trouble] = [next, reasons, points.checkpoints, list.steps, null];
    if (!log && job.started_at && maySee(job)) { log = new Log(redraw); log.open(job.id); samples = new Samples(job.id); }
    samples?.load();
    lookSooner();
  } catch (error) { if (asked !== id) return; if (error instanceof ApiError) trouble = error.message; }
  redraw();
}
/* What would let it start earlier; asked for seldom, since it is planned for. */
async function lookSooner() {
  if (!job || !waits(job) || !mayChange(job) || Date.now() - soonerAt < SOONER_MS) return;
  soonerAt = Date.now();
  const asked = id;
  try { const answer = await get(`/jobs/${job.id}/sooner`); if (asked === id) { sooner = answer.sooner; redraw(); } } catch { /* it may have started */ }
}
async function change(fields) {
  try { await ask('PATCH', `/jobs/${job.id}`, fields); toast('It asks for less now, and keeps its place.'); sooner = []; soonerAt = 0; load(); } catch (trouble) { failed(trouble); }
}
function submitAgain() {
  sessionStorage.setItem('strata.again', JSON.stringify(job.request ?? {}));
  go('#/submit?again=1');
}

/* ---- the top ---- */

function title() {
  const of = isMine(job) ? 'Your job' : `Job of ${job.user}`;
  const rest = job.state === 'running' ? [' on ', where(job), ' · ', h('b', null, leftText(job))] : waits(job) ? [' · ', h('b', { title: startTitle(job) }, job.expected_start_at ? `starts ${startText(job)}` : 'no start is known')] : job.ended_at ? [` · ended ${ago(job.ended_at)}`, job.started_at ? ` after ${duration(ranFor(job))}` : ''] : '';
  return h('div', { class: 'grow' }, h('div', { class: 'title' }, h('h1', { class: 'cut' }, nameOfJob(job)), stateMark(job)), h('p', null, `${of} ${job.id} · ${asks(job)}`, rest));
}
function actions() {
  if (!mayChange(job)) return null;
  const held = lookOf(job) === 'held', list = [];
  if (waits(job)) list.push(h('button', { class: 'btn', onclick: () => holdJob(job, !held) }, held ? 'Release' : 'Hold', h('kbd', null, 'H')));
  if (job.state === 'running') list.push(h('button', { class: 'btn', onclick: () => requeueJob(job) }, 'Send back to queue'));
  if (isMine(job) && job.request) list.push(h('button', { class: 'btn', onclick: submitAgain }, 'Submit again', h('kbd', null, 'R')));
  if (isLive(job) && !job.stopping) list.push(h('button', { class: 'btn danger', onclick: () => cancelJob(job, checkpoints.length) }, 'Cancel …', h('kbd', null, 'X')));
  return h('div', { class: 'acts' }, list);
}

/* ---- cards ---- */

function beforeList() {
  if (!why.before?.length) return null;
  const more = why.before_count - why.before.length;
  return [h('h3', { class: 'label' }, 'Before it'), h('ul', { class: 'tickets' }, why.before.map(one => h('li', { key: one.id }, glyph('queued'), h('span', { class: 'cut' }, h('a', { class: 'link', href: `#/job/${one.id}` }, one.name || `job ${one.id}`), ' ', h('span', { class: 'dim' }, nameOf(one.user))), h('span', { class: 'dim sm', title: startTitle(one) }, startText(one)))), more > 0 ? h('li', { class: 'dim' }, h('span', null), h('span', null, `and ${count(more, 'more job')}`)) : null)];
}
function shareLine() {
  const share = why.fair_share;
  if (!share) return null;
  return h('p', { class: 'sm dim share' }, `Fair share ${share.share.toFixed(2)}: ${nameOf(job.user) === 'you' ? 'you have' : `${job.user} has`} used ${share.gpu_hours.toFixed(1)} GPU hours lately, with weight ${share.weight}. `, share.users_waiting > 1 ? `Of ${count(share.users_waiting, 'user')} with waiting jobs ${share.users_before ? `${share.users_before} ${share.users_before === 1 ? 'has' : 'have'} used less` : 'nobody has used less'}.` : '');
}
function soonerList() {
  if (!sooner.length) return null;
  return h('div', { class: 'sooner' }, h('h3', { class: 'label' }, 'It would start sooner with'), h('ul', null, sooner.map(one => h('li', { key: one.text },
    h('span', { title: exact(one.start_at) }, h('b', null, Date.parse(one.start_at) <= now() + 2000 ? 'now' : `≈ ${time(one.start_at)}`), h('span', { class: 'dim' }, ` on ${one.node}`)), h('span', { class: 'grow' }, one.text), h('button', { class: 'btn tiny', onclick: () => change(one.change), 'aria-label': `Ask for ${one.text}` }, 'Ask for this')))));
}
function whyCard() {
  if (!why) return null;
  const left = job.expected_start_at ? (Date.parse(job.expected_start_at) - now()) / 1000 : null;
  return card('Why it waits', 'as the scheduler has it now', h('div', { class: 'pad' },
    h('p', { class: 'big', title: startTitle(job) }, job.expected_start_at ? startText(job) : 'Not known', left != null && left > 0 ? h('span', { class: 'dim' }, ` in ${duration(left)}`) : null),
    h('p', { class: 'ink2' }, job.expected_start_at ? `Expected on ${job.expected_node ?? 'a node'}. ${job.promised ? 'A promise: then, or earlier.' : 'An estimate: it changes with what others do.'}` : job.reason_text ?? ''),
    h('ol', { class: 'reasons' }, why.sentences.map((sentence, i) => h('li', { key: i }, sentence))), beforeList(), shareLine()), soonerList());
}
function failCard() {
  if (job.state !== 'failed') return null;
  const how = job.exit_signal ? `signal ${job.exit_signal}` : job.exit_code != null ? `exit status ${job.exit_code}` : null;
  return h('section', { class: 'card failcard', 'aria-label': 'Why it failed' }, glyph('failed'), h('p', null, h('b', null, job.reason === 'exit_code' && how ? `It ended with ${how}` : job.reason_text ? `${job.reason_text[0].toUpperCase()}${job.reason_text.slice(1)}${how ? ` (${how})` : ''}` : 'It failed'), '.', job.reason === 'out_of_memory' && job.memory_bytes ? ` It asked for ${bytes(job.memory_bytes)}.` : job.reason === 'time_limit' ? ` Its limit was ${duration(job.time_limit_s)}.` : ''));
}

function logCard() {
  const header = h('header', { class: 'wrap' }, h('h2', null, 'Log'), h('code', { class: 'sub cut', title: job.output ?? '' }, (job.output ?? '').split('/').at(-1)), h('span', { class: 'grow' }),
    log && !log.trouble ? [h('input', { class: 'in slim', type: 'search', placeholder: 'Find in the log', 'aria-label': 'Find in the log', oninput: event => log.find(event.target.value) }),
      h('label', { class: 'check' }, h('input', { type: 'checkbox', id: 'follow', checked: log.follow, onchange: event => log.setFollow(event.target.checked) }), 'follow')] : null, copyButton(() => `strata logs -f ${job.id}`, 'Command'));
  let body;
  if (!maySee(job)) body = h('p', { class: 'pad dim' }, 'What a job writes is for its owner and for operators.');
  else if (!job.started_at) body = h('p', { class: 'pad dim' }, isLive(job) ? 'What it writes appears here once it runs.' : 'It never ran, so it wrote nothing.');
  else if (log?.trouble) body = h('p', { class: 'pad dim' }, log.trouble);
  else body = [log?.dropped ? h('p', { class: 'sm dim padx' }, 'The last part of it; all of it is in the file.') : null, log && !log.lines.length ? h('p', { class: 'padx dim' }, log.over ? 'It wrote nothing.' : 'It has written nothing yet.') : null, log?.search ? h('p', { class: 'sm dim padx', role: 'status' }, `${count(log.found, 'line')} with this text`) : null,
    h('div', { class: 'log', own: true, tabindex: '0', role: 'log', 'aria-label': 'Output of the job', 'aria-live': 'off', ref: element => log?.attach(element) })];
  return h('section', { class: 'card logcard' }, header, body);
}

function asked() {
  const request = job.request ?? {};
  return card('Asked for', null, h('div', { class: 'pad' }, facts([['GPUs', job.gpus ? `${job.gpus}${job.gpu_type ? ` × ${job.gpu_type.toUpperCase()}` : ''}` : job.gpu_share ? `${job.gpu_share} of one` : 'none'], ['CPUs', job.cpus], ['Memory', job.memory_bytes ? bytes(job.memory_bytes) : 'no limit said'],
    job.nodes > 1 || job.tasks > 1 ? ['Tasks', `${job.tasks} on ${count(job.nodes, 'node')}`] : null, ['Limit', job.time_limit_s ? duration(job.time_limit_s) : 'none'], ['Priority', `${job.priority}${job.nice ? `, nice ${job.nice}` : ''}`], job.account ? ['Account', job.account] : null, job.partition ? ['Partition', job.partition] : null, job.qos ? ['QOS', job.qos] : null,
    job.dependencies ? ['Waits for', h('code', null, job.dependencies)] : null, ['Preemptible', request.preemptible ? 'yes' : 'no']])));
}
function used() {
  if (job.cpu_user_ms == null && job.memory_peak_bytes == null) return null;
  const cores = job.cpu_user_ms != null && ranFor(job) ? (job.cpu_user_ms + (job.cpu_system_ms ?? 0)) / 1000 / ranFor(job) : null;
  return card('Used', null, h('div', { class: 'pad' }, facts([cores != null ? ['CPUs', `${cores.toFixed(cores < 10 ? 1 : 0)} of ${job.cpus}, on average`] : null, job.memory_peak_bytes != null ? ['Memory', `${bytes(job.memory_peak_bytes)} at most${job.memory_bytes ? `, of ${bytes(job.memory_bytes)}` : ''}`] : null])));
}
function whereAndWhat() {
  const command = Array.isArray(job.command) ? job.command.map(word => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`).join(' ') : job.command;
  return card('Where and what', null, h('div', { class: 'pad' }, facts([job.node_names?.length ? ['Node', where(job)] : null, command ? ['Command', h('code', null, command)] : null, job.working_dir ? ['Directory', h('code', null, job.working_dir)] : null, job.output ? ['Output', h('code', null, job.output)] : null,
    ['Submitted', h('span', { title: exact(job.submitted_at) }, time(job.submitted_at))], job.attempt > 1 ? ['Attempt', `${job.attempt}${job.preempted ? `, preempted ${count(job.preempted, 'time')}` : ''}`] : null, job.comment ? ['Comment', job.comment] : null, job.cancelled_by ? ['Cancelled by', job.cancelled_by] : null])));
}
const checkpointCard = () => checkpoints.length ? card('Checkpoints', null, h('ul', { class: 'tickets list' }, checkpoints.map(one => h('li', { key: one.path }, glyph('completed'), h('span', { class: 'cut', title: one.path }, one.step != null ? `step ${one.step} ` : '', h('span', { class: 'dim' }, bytes(one.size_bytes))), h('span', { class: 'dim sm', title: exact(one.time) }, ago(one.time)))))) : null;
const stepCard = () => steps.length ? card('Steps', null, h('ul', { class: 'tickets list' }, steps.map(step => h('li', { key: step.number }, glyph(lookOf(step)), h('span', { class: 'cut' }, h('b', null, step.name ?? `step ${step.number}`), ' ', h('span', { class: 'dim' }, count(step.tasks ?? 1, 'task'))), h('span', { class: 'dim sm' }, step.exit_code ? `exit status ${step.exit_code}` : step.state))))) : null;

export const jobPage = {
  title: () => job ? `${nameOfJob(job)} (${job.id})` : `Job ${id}`,
  hints: [['H', 'hold'], ['R', 'submit again'], ['X', 'cancel'], ['F', 'follow the log'], ['Esc', 'back']],
  keys: {
    h: () => { if (job && waits(job) && mayChange(job)) holdJob(job, lookOf(job) !== 'held'); }, r: () => { if (job?.request && isMine(job) && mayChange(job)) submitAgain(); },
    x: () => { if (job && isLive(job) && mayChange(job)) cancelJob(job, checkpoints.length); }, f: () => log?.setFollow(!log.follow), Escape: () => go('#/jobs'),
  },
  open({ id: asked }) {
    [job, why, checkpoints, steps, sooner, samples, trouble, log, id] = [null, null, [], [], [], null, null, null, asked];
    soonerAt = 0;
    stop = onEvent((kind, event) => { if (kind === 'reconnected' || event?.job === job?.id) load(); });
    timer = setInterval(() => { if (job && waits(job)) load(); }, CHECK_MS);
    sampling = setInterval(() => { if (job?.state === 'running' && !document.hidden) samples?.load(); }, SAMPLES_MS);
    load();
  },
  close() { stop?.(); clearInterval(timer); clearInterval(sampling); log?.close(); log = null; },
  draw() {
    if (!job) return trouble ? [h('h1', { class: 'sr' }, `Job ${id}`), h('div', { class: 'card' }, empty(`There is no job ${id} to show`, `${trouble}.`, h('a', { class: 'btn', href: '#/jobs' }, 'All jobs')))] : h('h1', null, h('span', { class: 'skel' }, 'a job of somebody'));
    return h('div', { class: 'fresh' }, h('nav', { class: 'crumb', 'aria-label': 'Where you are' }, h('a', { href: '#/jobs' }, 'Jobs'), icon('right'), h('span', null, job.array_id ? `${job.array_id}, element ${job.array_index}` : job.id)),
      h('div', { class: 'head' }, title(), actions()), failCard(),
      h('div', { class: 'jobgrid' }, h('div', { class: 'stack' }, card('States', 'length by duration, compressed', h('div', { class: 'pad' }, stateHistory(job), h('p', { class: 'sm' }, h('a', { class: 'link', href: `#/flow/${job.id}` }, 'Its flow: states, steps and checkpoints as slices')))), whyCard(), logCard(), samples?.draw(job)), h('div', { class: 'stack' }, asked(), used(), whereAndWhat(), checkpointCard(), stepCard())));
  },
};
