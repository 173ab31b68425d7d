/*
 * What the pages show of the cluster: jobs that run, the first of those that wait, nodes, what just
 * happened. Events say that something changed; it is then asked for once, however many they were,
 * and not sooner than the service can answer with ease.
 */
import { get, AwayError } from './api.js';
import { onEvent, suspect } from './live.js';
import { setClock } from './format.js';

export const FIELDS = 'id,name,user,state,reason,reason_text,gpus,gpu_type,gpu_share,cpus,node_names,gpu_ids,submitted_at,started_at,ended_at,time_limit_s,expected_start_at,expected_end_at,promised,position,array_id,array_index,stopping,exit_code';
export const WAITING_SHOWN = 40;
const RUNNING_MAX = 2000, EVENTS_SHOWN = 12, LEAST_PAUSE_MS = 400, PAUSE_FACTOR = 8;
export const data = { running: [], waiting: [], counts: {}, nodes: [], models: [], tasks: [], happened: [], loaded: false, at: null };
const listeners = new Set();
export function onData(listener) { listeners.add(listener); return () => listeners.delete(listener); }
const tell = () => { for (const listener of listeners) listener(); };

/* Those whose start is known before the others; equals stay in the order of the queue. */
const byStart = (a, b) => (a.expected_start_at ?? '9').localeCompare(b.expected_start_at ?? '9');

async function load() {
  const fields = `&fields=${FIELDS}`;
  const [running, waiting, nodes, models] = await Promise.all([
    get(`/queue?state=running,scheduled&limit=${RUNNING_MAX}${fields}`), get(`/queue?state=queued,preempted&limit=${WAITING_SHOWN}${fields}`), get('/nodes'), get('/models')]);
  setClock(running.at);
  Object.assign(data, { running: running.jobs, waiting: waiting.jobs.sort(byStart), counts: running.counts, nodes: nodes.nodes, models: models.models, at: Date.now(), loaded: true });
}

let busy = false, again = false, timer = 0;
export async function refresh() {
  if (busy) { again = true; return; }
  busy = true;
  clearTimeout(timer);
  const began = performance.now();
  let pause = LEAST_PAUSE_MS;
  try { await load(); tell(); } catch (trouble) { if (trouble instanceof AwayError) suspect(); pause = 2000; again = again || !data.loaded; }
  pause = Math.max(pause, PAUSE_FACTOR * (performance.now() - began));
  timer = setTimeout(() => { busy = false; if (again) { again = false; refresh(); } }, pause);
}

export async function loadHappened() {
  const page = await get('/events?format=json&last=60&limit=60');
  data.happened = page.events.filter(isTold).reverse().slice(0, EVENTS_SHOWN);
  tell();
}
const TOLD = new Set(['job.started', 'job.ended', 'job.requeued', 'job.start_failed', 'node.changed']);
const isTold = event => TOLD.has(event.kind);

onEvent((kind, event) => {
  if (kind === 'reconnected') { refresh(); loadHappened().catch(() => {}); return; }
  if (!event) return;
  if (isTold(event)) data.happened = [event, ...data.happened].slice(0, EVENTS_SHOWN);
  if (/^(job|task|node|reservation|entity|model)\b/.test(kind)) refresh();
});
