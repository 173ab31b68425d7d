/* Jobs in words and shapes: their state, where they are or why not, when they start or end. */
import { glyph, h } from './dom.js';
import { duration, exact, now, ranges, since, time } from './format.js';

const STATES = new Set(['running', 'queued', 'scheduled', 'preempted', 'completed', 'failed', 'cancelled', 'held']);
export const lookOf = job => job.state === 'queued' && /held/.test(job.reason ?? '') ? 'held' : STATES.has(job.state) ? job.state : 'failed';
export const isLive = job => ['queued', 'scheduled', 'running', 'preempted'].includes(job.state);
export const waits = job => job.state === 'queued' || job.state === 'preempted';
export const numberOf = job => job.array_id != null && job.array_index != null ? `${job.array_id}_${job.array_index}` : `${job.id}`;
export const nameOfJob = job => job.name || `job ${job.id}`;

export function stateMark(job, word) {
  const look = lookOf(job);
  return h('span', { class: `state ${look}` }, glyph(look), word ?? (job.stopping ? 'stopping' : look));
}

/* "n1 GPU 0–3" */
export function where(job) {
  const names = job.node_names ?? [];
  if (!names.length) return '';
  const ids = job.gpu_ids?.[names[0]];
  return [names[0], names.length > 1 ? ` and ${names.length - 1} more` : '', ids?.length && names.length === 1 ? h('span', { class: 'dim' }, ` GPU ${ranges(ids)}`) : ''];
}

/* "by 14:30" is a promise, "≈ 14:30" an estimate. */
export function startText(job) {
  if (!job.expected_start_at) return '–';
  if (job.reason === 'begin_time') return `at ${time(job.expected_start_at)}`;
  return `${job.promised ? 'by' : '≈'} ${time(job.expected_start_at)}`;
}
export const startTitle = job => !job.expected_start_at ? 'not known' : `${job.promised ? 'promised: then, or earlier' : 'an estimate'}: ${exact(job.expected_start_at)}`;
export const leftText = job => {
  if (!job.expected_end_at) return '';
  const left = (Date.parse(job.expected_end_at) - now()) / 1000;
  return left > 0 ? `${duration(left)} left` : 'ends any moment';
};
export const ranFor = job => job.started_at ? since(job.started_at, job.ended_at ? Date.parse(job.ended_at) : now()) : 0;

/* What it asks for, in a word. */
export function asks(job) {
  if (job.gpu_share) return `${job.gpu_share} GPU`;
  if (!job.gpus) return job.cpus ? `${job.cpus} CPU` : 'CPU';
  return `${job.gpus} ${job.gpu_type ? job.gpu_type.toUpperCase() : job.gpus === 1 ? 'GPU' : 'GPUs'}`;
}
