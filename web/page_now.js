/* Now: is anything wrong, is there room, when is my turn? */
import { ask, get } from './api.js';
import { go, redraw, route, setQuery } from './app.js';
import { data, WAITING_SHOWN } from './data.js';
import { glyph, h, icon } from './dom.js';
import { count, duration, exact, gpus, now, time } from './format.js';
import { atLeast, isMine, nameOf } from './me.js';
import { nodeTile } from './node_tile.js';
import { confirm, failed, toast } from './overlay.js';
import { card, empty } from './parts.js';
import { moreProblems, problems } from './problems.js';
import { spark } from './spark.js';
import { asks, nameOfJob, startText, startTitle } from './state.js';

const QUEUE_SHOWN = 9, FREE_NEXT_SHOWN = 5, HAPPENED_SHOWN = 6, NODES_SHOWN = 24;
const SERIES_MS = 60_000;
let allNodes = false, series = null, timer = 0;

async function loadSeries() {
  if (document.hidden) return;
  try { series = await get('/series'); } catch { /* a minute later again */ }
  redraw();
}

/* ---- the sentence ---- */

function sentence() {
  const all = data.nodes.filter(node => node.state === 'up'), total = all.reduce((sum, node) => sum + node.gpus, 0);
  const free = all.reduce((sum, node) => sum + node.gpus_free, 0), busy = Math.round((total - free) * 10) / 10;
  const waits = (data.counts.queued ?? 0) + (data.counts.preempted ?? 0), next = data.waiting.find(job => job.expected_start_at);
  const place = !data.nodes.length ? 'There are no nodes.' : !total ? `${count(data.running.length, 'job')} ${data.running.length === 1 ? 'runs' : 'run'}.` : busy === 0 ? `All ${count(total, 'GPU')} are free.` : free < 0.05 ? `All ${count(total, 'GPU')} are busy.` : `${busy} of ${count(total, 'GPU')} are busy.`;
  const line = !waits ? data.running.length ? 'Nothing waits.' : 'Nothing runs, nothing waits.' : `${count(waits, 'job')} ${waits === 1 ? 'waits' : 'wait'}${next ? `; the next one starts ${startText(next).replace('≈', 'about')}` : ''}.`;
  return h('h1', { class: 'say' }, `${place} `, h('em', null, line));
}

/* ---- figures ---- */

function figures() {
  const mine = data.waiting.filter(isMine).length, waits = (data.counts.queued ?? 0) + (data.counts.preempted ?? 0);
  const up = data.nodes.filter(node => node.state === 'up'), sum = (list, key) => list.reduce((all, node) => all + node[key], 0);
  const share = (part, whole) => whole ? `${Math.round(100 * part / whole)}` : '–';
  const whole = series?.complete, median = series?.wait_median_s ?? null;
  const pictures = sum(data.models, 'pending') + sum(data.models, 'running');
  return h('div', { class: 'stats' }, [
    ['GPUs in use, 24 h', share(sum(up, 'gpus') - sum(up, 'gpus_free'), sum(up, 'gpus')), '%', `${up.length} of ${count(data.nodes.length, 'node')} up`, whole ? spark(series.gpus, sum(data.nodes, 'gpus'), 'gpu') : null],
    ['Wait until start', median == null ? '–' : duration(median), median == null ? '' : 'median', series?.wait_longest_s != null ? `longest ${duration(series.wait_longest_s)}` : 'nothing started in 24 h', whole ? spark(series.wait_s) : null],
    ['Jobs waiting', waits.toLocaleString('en'), '', `${count(data.counts.running ?? 0, 'runs', 'run')}${mine && waits <= WAITING_SHOWN ? `, ${mine} waiting ${mine === 1 ? 'is' : 'are'} yours` : ''}`, whole ? spark(series.waiting) : null],
    ['Pictures', `${pictures}`, 'on the way', `${count(sum(data.models, 'workers'), 'worker')}`],
  ].map(([name, value, unit, more, line]) => h('div', { class: 'stat' }, h('span', null, name, h('i', null, more)), h('b', null, value, ' ', h('small', null, unit)), line)));
}

/* ---- problems ---- */

function problemList() {
  const list = problems(), more = moreProblems();
  if (!list.length) return h('p', { class: 'okline' }, icon('check'), 'No problems.');
  return h('ul', { class: 'problems', 'aria-label': 'Problems' }, list.map(one => h('li', { key: one.key, class: one.grave ? '' : 'mild' }, icon('warn'), h('b', { class: 'cut' }, one.title), h('span', { class: 'what' }, one.text), h('a', { class: 'btn tiny', href: one.to, title: one.command ?? '' }, one.act))), more > 0 ? h('li', { class: 'mild' }, icon('warn'), h('span', { class: 'what' }, `and ${more} more`)) : null);
}

/* ---- nodes ---- */

async function setNode(node, state, reason) {
  try {
    await ask('PATCH', `/nodes/${encodeURIComponent(node.name)}`, { state, ...(reason ? { reason } : {}) });
    toast(`${node.name} is ${state}.`, () => setNode(node, node.state === 'up' ? 'up' : 'drained', node.reason));
  } catch (trouble) { failed(trouble); }
}
async function drain(node) {
  if (await confirm({ title: `Drain ${node.name}?`, text: `Nothing new starts there. ${node.jobs.length ? `${count(node.jobs.length, 'job')} that ${node.jobs.length === 1 ? 'runs' : 'run'} there may finish.` : 'Nothing runs there now.'}`, keep: 'Leave it open', act: 'Drain the node' })) setNode(node, 'drained', 'drained on the page');
}
const nodeActions = node => !atLeast('operator') ? null : node.state === 'up' ? h('button', { class: 'btn tiny', onclick: () => drain(node) }, 'Drain') : h('button', { class: 'btn tiny', onclick: () => setNode(node, 'up') }, 'Open again');

function users() {
  const totals = new Map();
  for (const job of data.running) if (job.gpus || job.gpu_share) totals.set(job.user, (totals.get(job.user) ?? 0) + (job.gpus || job.gpu_share));
  return [...totals].sort((a, b) => b[1] - a[1]).slice(0, 10);
}

function nodes() {
  const pools = new Set(data.models.map(model => `worker-${model.name}`)), hot = route.query.get('user'), chosen = route.query.get('node');
  const list = [...data.nodes].sort((a, b) => (b.name === chosen) - (a.name === chosen)), shown = allNodes ? list : list.slice(0, NODES_SHOWN);
  return h('section', { 'aria-label': 'Nodes' }, h('div', { class: 'sect' }, h('h2', null, 'Nodes'), h('div', { class: 'who', role: 'group', 'aria-label': 'Highlight a user' }, users().map(([user, number]) =>
    h('button', { key: user, 'aria-pressed': String(user === hot), onclick: () => setQuery({ user: user === hot ? null : user }) }, nameOf(user), ' ', h('b', null, Math.round(number * 10) / 10))))),
    data.nodes.length ? h('div', { class: hot ? 'nodes dimmed' : 'nodes', 'data-hot': hot }, shown.map(node => nodeTile(node, data.running.filter(job => job.gpu_ids?.[node.name]), pools, { hot: node.name === chosen, actions: nodeActions(node) })))
      : h('div', { class: 'card' }, empty('There are no nodes', 'The service has nothing to run jobs on.', h('code', null, 'strata serve --node n1:cpus=8:memory=64G:gpus=4'))),
    list.length > shown.length ? h('button', { class: 'btn', onclick: () => { allNodes = true; redraw(); } }, `Show ${count(list.length - shown.length, 'more node')}`) : null,
    h('div', { class: 'legend' }, [['mine', 'yours'], ['other', 'others'], ['pool', 'draws pictures'], ['none', 'free'], ['gone', 'cannot be used']].map(([kind, text]) => h('span', null, h('i', { class: `l-${kind}` }), text))));
}

/* ---- the queue ---- */

function queue() {
  const total = (data.counts.queued ?? 0) + (data.counts.preempted ?? 0), shown = data.waiting.slice(0, QUEUE_SHOWN);
  return h('section', { class: 'card', 'aria-label': 'Queue' }, h('header', null, h('h2', null, 'Queue'), h('span', { class: 'sub' }, 'in the order of start'), h('span', { class: 'grow' }), h('a', { class: 'sm link', href: '#/jobs?state=queued' }, 'all that wait')),
    shown.length ? h('ol', { class: 'queue' }, shown.map((job, i) => h('li', { key: job.id, class: isMine(job) ? 'mine' : '' }, h('span', { class: 'pos' }, i + 1), h('a', { class: 'cut', href: `#/job/${job.id}` }, h('b', null, nameOfJob(job)), ' ', h('span', { class: 'dim' }, nameOf(job.user))),
      h('span', { class: job.promised ? 'when' : 'when soft', title: startTitle(job) }, startText(job)), h('span', { class: 'why cut', title: job.reason_text ?? '' }, job.reason_text ?? job.reason), h('span', { class: 'ask' }, asks(job)))))
      : empty('The queue is empty', 'A job that you submit now starts at once, if there is room for it.', atLeast('user') ? h('a', { class: 'btn primary', href: '#/submit' }, 'Submit a job') : null, h('p', null, h('code', null, 'strata submit --gpus 1 -- python train.py'))),
    total > shown.length ? h('a', { class: 'more', href: '#/jobs?state=queued' }, `${count(total - shown.length, 'more')}`.replace('mores', 'more'), ' in the queue') : null);
}

/* ---- what comes and what was ---- */

function freeNext() {
  const list = data.running.filter(job => (job.gpus || job.gpu_share) && job.expected_end_at).sort((a, b) => a.expected_end_at.localeCompare(b.expected_end_at)).slice(0, FREE_NEXT_SHOWN);
  return card('Free next', 'when running jobs should end', list.length ? h('ol', { class: 'queue plain' }, list.map(job => h('li', { key: job.id }, h('a', { class: 'cut', href: `#/job/${job.id}` }, h('b', null, job.node_names?.[0] ?? ''), ' ', h('span', { class: 'dim' }, `${gpus(job.gpus || 1)} of ${nameOfJob(job)}`)),
    h('span', { class: 'when', title: exact(job.expected_end_at) }, Date.parse(job.expected_end_at) < now() ? 'any moment' : `by ${time(job.expected_end_at)}`)))) : h('p', { class: 'pad dim' }, 'No GPU is in use.'));
}

const ENDS = { completed: 'completed', failed: 'failed', cancelled: 'was cancelled' };
function eventLine(event) {
  const about = event.about ?? {}, nodes = Object.keys(about.gpu_ids ?? {});
  if (event.kind === 'node.changed') return ['preempted', about.node ?? about.name ?? 'a node', `is ${about.state ?? about.to ?? 'changed'}`, '#/now'];
  const look = event.kind === 'job.ended' ? ENDS[about.state] ? about.state : 'completed' : event.kind === 'job.started' ? 'running' : event.kind === 'job.requeued' ? 'preempted' : 'failed';
  const what = event.kind === 'job.started' ? `started${nodes.length ? ` on ${nodes[0]}` : ''}` : event.kind === 'job.ended' ? ENDS[about.state] ?? 'ended' : event.kind === 'job.requeued' ? 'went back to the queue' : 'could not start';
  return [look, `job ${event.job}`, what, `#/job/${event.job}`];
}
function happened() {
  return card('Just happened', null, data.happened.length ? h('ol', { class: 'queue plain' }, data.happened.slice(0, HAPPENED_SHOWN).map(event => {
    const [look, name, what, to] = eventLine(event);
    return h('li', { key: event.sequence }, h('a', { class: 'row cut', href: to }, glyph(look), h('span', { class: 'cut' }, h('b', null, name), ' ', h('span', { class: 'dim' }, what))), h('span', { class: 'when soft', title: exact(event.at) }, (now() - Date.parse(event.at)) < 3600_000 ? `${duration((now() - Date.parse(event.at)) / 1000)} ago` : time(event.at)));
  })) : h('p', { class: 'pad dim' }, 'Nothing yet.'));
}

const skeleton = () => [h('h1', { class: 'say' }, h('span', { class: 'skel' }, '00 of 00 GPUs are busy.')), h('div', { class: 'stats' }, [1, 2, 3, 4].map(() => h('div', { class: 'stat' }, h('span', null, h('span', { class: 'skel' }, 'figure')), h('b', null, h('span', { class: 'skel' }, '00 %')))))];
const openNth = key => { const job = data.waiting[Number(key) - 1]; if (job) go(`#/job/${job.id}`); };

export const nowPage = {
  title: () => 'Now',
  hints: [['G then J', 'jobs'], ['C', 'submit'], ['1–9', 'open that job of the queue']],
  keys: Object.fromEntries('123456789'.split('').map(key => [key, () => openNth(key)])),
  open() { loadSeries(); timer = setInterval(loadSeries, SERIES_MS); },
  close() { clearInterval(timer); },
  draw() {
    if (!data.loaded) return skeleton();
    return h('div', { class: 'fresh' }, sentence(), figures(), problemList(), h('div', { class: 'nowgrid' }, nodes(), h('div', { class: 'stack q' }, queue()), h('div', { class: 'two below' }, freeNext(), happened())));
  },
  drawn() {
    const hot = route.query.get('user');
    for (const cell of document.querySelectorAll('.nodes .job[data-user]')) cell.classList.toggle('hot', cell.dataset.user === hot);
  },
};
