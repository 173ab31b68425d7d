/* Jobs: where are mine, and what are they doing? Filters stand in the address, so that a list can be kept and sent. */
import { go, redraw, route, setQuery } from './app.js';
import { cancelJob } from './actions.js';
import { glyph, h, icon } from './dom.js';
import { duration, exact, now, since, time } from './format.js';
import { JobList } from './job_list.js';
import { atLeast, isMine, mayChange, me, nameOf } from './me.js';
import { bar, empty, problemLine } from './parts.js';
import { asks, isLive, leftText, nameOfJob, numberOf, ranFor, startText, startTitle, stateMark, waits, where } from './state.js';
import { VirtualList } from './virtual_list.js';

const DRAWN_MS = 5000; /* times that pass are drawn anew so often */
const ROW = 38, ROW_NARROW = 62, NARROW = matchMedia('(max-width: 720px)');
const CHIPS = [['live', 'Live'], ['running', 'Running'], ['queued', 'Waiting'], ['completed', 'Completed'], ['failed', 'Failed'], ['cancelled', 'Cancelled']];
const ENDED = new Set(['completed', 'failed', 'cancelled']);
let jobs = null, list = null, shown = [], at = 0, sortedFor = null;

/* ---- what is shown ---- */

const filters = () => ({ state: route.query.get('state') ?? 'live', mine: route.query.get('mine') === '1', text: route.query.get('text') ?? '', sort: route.query.get('sort') ?? '' });
const inState = (job, state) => state === 'live' ? isLive(job) : state === 'queued' ? waits(job) : state === 'running' ? job.state === 'running' || job.state === 'scheduled' : job.state === state;

/* "user:bo node:n3 train": words are all to be met. */
function test(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean).map(word => { const [key, value] = word.split(/:(.*)/s); return value ? { key, value } : { word }; });
  const of = { user: job => job.user, node: job => (job.node_names ?? []).join(' '), gpu: job => job.gpu_type ?? '', state: job => job.state, name: job => job.name ?? '', reason: job => job.reason ?? '' };
  return job => words.every(({ key, value, word }) => key ? String(of[key]?.(job) ?? '').toLowerCase().includes(value) : `${job.name} ${job.id} ${job.array_id ?? ''} ${job.user} ${(job.node_names ?? []).join(' ')}`.toLowerCase().includes(word));
}
const SORTS = { id: job => job.id, name: job => job.name ?? '', user: job => job.user, gpus: job => job.gpus ?? 0, time: job => -(job.started_at ? ranFor(job) : since(job.submitted_at)) };

function choose() {
  const { state, mine, text, sort } = filters(), from = ENDED.has(state) ? jobs.ended : jobs.jobs, key = [state, mine, text, sort, jobs.version, from.size].join('|');
  if (key === sortedFor) return;
  sortedFor = key;
  const fits = test(text), all = [...from.values()].filter(job => inState(job, state) && (!mine || isMine(job)) && fits(job));
  const by = SORTS[sort.replace('-', '')], turn = sort.startsWith('-') ? -1 : 1;
  shown = by ? all.sort((a, b) => { const x = by(a), y = by(b); return (x < y ? -1 : x > y ? 1 : a.id - b.id) * turn; }) : all;
  at = Math.max(0, Math.min(at, shown.length - 1));
}

/* ---- rows ---- */

const whyText = job => job.state === 'failed' || job.state === 'cancelled' ? h('span', { class: job.state === 'failed' ? 'failed' : '' }, job.reason_text ?? (job.exit_code ? `exit status ${job.exit_code}` : job.state)) : job.node_names?.length ? where(job) : job.reason_text ?? '';
function timeText(job) {
  if (job.state === 'running') return h('span', { class: 'prog' }, h('span', null, duration(ranFor(job))), job.time_limit_s ? bar(ranFor(job) / job.time_limit_s, `of its limit of ${duration(job.time_limit_s)}`, true) : null);
  return isLive(job) ? h('span', { class: 'dim' }, `waits ${duration(since(job.submitted_at))}`) : job.started_at ? duration(ranFor(job)) : '–';
}
const whenText = job => job.state === 'running' ? leftText(job) : isLive(job) ? startText(job) : job.ended_at ? `ended ${time(job.ended_at)}` : '';

function row(job, index, place) {
  return h('div', { ...place, class: 'jr', role: 'row', 'aria-rowindex': index + 2, 'aria-selected': String(index === at), onclick: event => { if (!event.target.closest('a')) go(`#/job/${job.id}`); } },
    h('span', { role: 'cell', class: 'c-state' }, stateMark(job)), h('span', { role: 'cell', class: 'dim hidep' }, numberOf(job)), h('span', { role: 'cell', class: 'c-name cut' }, h('a', { class: 'name', href: `#/job/${job.id}`, tabindex: index === at ? '0' : '-1' }, nameOfJob(job))),
    h('span', { role: 'cell', class: 'hidep cut' }, isMine(job) ? h('b', null, 'you') : nameOf(job.user)), h('span', { role: 'cell', class: 'hidep cut' }, asks(job)), h('span', { role: 'cell', class: 'c-why cut', title: job.reason_text ?? '' }, whyText(job)),
    h('span', { role: 'cell', class: 'hidep' }, timeText(job)), h('span', { role: 'cell', class: 'num nw c-time', onmouseenter: event => { event.target.title = waits(job) ? startTitle(job) : exact(job.ended_at ?? job.expected_end_at); } }, whenText(job)));
}

/* ---- the page ---- */

const HEADS = [['State', null], ['ID', 'id'], ['Name', 'name'], ['User', 'user'], ['Asks for', 'gpus'], ['Where, or why not yet', null], ['Time of its limit', 'time'], ['Left, start or end', null]];
function head([title, key]) {
  const { sort } = filters(), on = key && sort.replace('-', '') === key, down = on && sort.startsWith('-');
  return h('span', { role: 'columnheader', 'aria-sort': on ? down ? 'descending' : 'ascending' : null }, key ? h('button', { onclick: () => setQuery({ sort: on ? down ? null : `-${key}` : key }) }, title, on ? down ? ' ↓' : ' ↑' : '') : title);
}

function chips() {
  const { state, mine } = filters(), counts = jobs.counts, live = ['queued', 'scheduled', 'running', 'preempted'].reduce((sum, name) => sum + (counts[name] ?? 0), 0);
  const number = { live, running: (counts.running ?? 0) + (counts.scheduled ?? 0), queued: (counts.queued ?? 0) + (counts.preempted ?? 0) };
  return [CHIPS.map(([name, title]) => h('button', { class: 'chip', 'aria-pressed': String(state === name), onclick: () => { at = 0; setQuery({ state: name === 'live' ? null : name }); youMayWant(); } }, name === 'live' ? null : glyph(name), title, number[name] != null && jobs.loaded ? [' ', h('b', null, number[name].toLocaleString('en'))] : null)),
    h('button', { class: 'chip', 'aria-pressed': String(mine), onclick: toggleMine }, 'Only mine ', h('kbd', { class: 'hidep' }, 'M'))];
}
const toggleMine = () => { at = 0; setQuery({ mine: filters().mine ? null : '1' }); youMayWant(true); };

/* Those that ended are asked for when they are looked at. */
function youMayWant(anew) {
  const { state, mine } = filters();
  jobs.forgetEnded();
  if (ENDED.has(state)) jobs.more(state, mine ? me.user : null);
  sortedFor = anew ? null : sortedFor;
}
function moreLine() {
  const { state, mine } = filters();
  return ENDED.has(state) && !jobs.whole ? h('button', { class: 'more', onclick: () => jobs.more(state, mine ? me.user : null) }, jobs.asking ? 'Looking …' : 'Show older ones') : null;
}

function nothing() {
  const { state, mine, text } = filters();
  if (!jobs.loaded || jobs.asking) return h('p', { class: 'pad dim', role: 'status' }, 'Looking …');
  if (state === 'live' && !mine && !text) return empty('Nothing runs, nothing waits', 'Jobs that you submit here, with strata submit or with sbatch show up within a moment.', atLeast('user') ? h('a', { class: 'btn primary', href: '#/submit' }, 'Submit a job') : null);
  return empty('No job matches', 'Nothing in this state, of this user, with this text.', h('button', { class: 'btn', onclick: () => { setQuery({ state: null, mine: null, text: null }); document.getElementById('filter').value = ''; } }, 'Clear the filters'));
}

const move = by => { at = Math.max(0, Math.min(at + by, shown.length - 1)); list.reveal(at); redraw(); };

export const jobsPage = {
  title: () => 'Jobs',
  hints: [['J', 'down'], ['K', 'up'], ['Enter', 'open'], ['M', 'only mine'], ['X', 'cancel'], ['/', 'filter']],
  keys: {
    j: () => move(1), k: () => move(-1), ArrowDown: () => move(1), ArrowUp: () => move(-1), m: toggleMine,
    Enter: event => { if (event.target.closest('a, button') || !shown[at]) return false; go(`#/job/${shown[at].id}`); return true; },
    x: () => { if (shown[at] && isLive(shown[at]) && mayChange(shown[at])) cancelJob(shown[at]); },
    '/': () => document.getElementById('filter').focus(),
  },
  open() {
    at = 0;
    sortedFor = null;
    jobs = new JobList(() => { jobs.version = (jobs.version ?? 0) + 1; redraw(); });
    list = new VirtualList(NARROW.matches ? ROW_NARROW : ROW, redraw);
    jobs.open();
    list.open();
    youMayWant();
  },
  close() { jobs.close(); list.close(); },
  changed() { youMayWant(true); },
  draw() {
    choose();
    return [h('div', { class: 'head' }, h('h1', { class: 'grow' }, 'Jobs')),
      h('div', { class: 'filters' }, h('div', { class: 'with' }, icon('search'), h('input', { class: 'in', id: 'filter', placeholder: 'name, number, user:bo, node:n3, gpu:a100', 'aria-label': 'Filter jobs', autocomplete: 'off', spellcheck: 'false', value: filters().text, oninput: event => { at = 0; setQuery({ text: event.target.value || null }); } }), h('kbd', { class: 'hidep' }, '/')), chips()),
      jobs.trouble ? problemLine(jobs.trouble) : null,
      h('div', { class: 'card fresh jobs', role: 'table', 'aria-label': 'Jobs', 'aria-rowcount': shown.length + 1, 'aria-busy': String(!jobs.loaded) }, h('div', { class: 'jh', role: 'row', 'aria-rowindex': 1 }, HEADS.map(head)), shown.length ? list.draw(shown, row, { class: 'jlist', role: 'rowgroup' }, [sortedFor, at, Math.floor(now() / DRAWN_MS)].join('|')) : null),
      shown.length ? null : h('div', { class: 'card' }, nothing()), moreLine(), h('p', { class: 'sr', role: 'status' }, jobs.loaded ? `${shown.length} jobs` : '')];
  },
  drawn() { list.settle(shown.length); },
};
