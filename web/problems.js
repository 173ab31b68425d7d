/* What is wrong, from what the pages know: each with its consequence and one thing to do. */
import { count, duration, gpus, since } from './format.js';
import { nameOf } from './me.js';
import { nameOfJob } from './state.js';

const STUCK = new Set(['impossible', 'dependency_never']);

function ofNode(node) {
  const lost = node.gpus ? `${gpus(node.gpus)} cannot be used` : 'its cores cannot be used', long = node.since ? ` for ${duration(since(node.since))}` : '';
  if (node.state === 'down') return { key: `down-${node.name}`, grave: true, title: `${node.name} is down`, text: `${node.reason ? `${node.reason}. ` : ''}${lost}${long}.`, act: 'See the node', to: `#/now?node=${encodeURIComponent(node.name)}` };
  return { key: `drained-${node.name}`, grave: false, title: `${node.name} is drained`, text: `${node.reason ? `${node.reason}. ` : ''}Nothing new starts there${long}; ${node.jobs.length ? `${count(node.jobs.length, 'job')} still ${node.jobs.length === 1 ? 'runs' : 'run'}` : 'nothing runs'}.`, act: 'See the node', to: `#/now?node=${encodeURIComponent(node.name)}` };
}
const ofJob = job => ({ key: `stuck-${job.id}`, grave: true, title: `${nameOfJob(job)} can never start`, text: `Job ${job.id} of ${nameOf(job.user)}: ${job.reason_text ?? job.reason}.`, act: 'Open the job', to: `#/job/${job.id}` });
const ofModel = model => ({ key: `model-${model.name}`, grave: true, title: `${model.name} draws nothing`, text: `${model.trouble}. ${count(model.pending, 'picture')} ${model.pending === 1 ? 'waits' : 'wait'} for it.`, act: 'See pictures', to: '#/generate' });

export function problems({ nodes, waiting, models }) {
  return [...nodes.filter(node => node.state !== 'up').map(ofNode), ...waiting.filter(job => STUCK.has(job.reason)).map(ofJob), ...models.filter(model => model.trouble && model.pending).map(ofModel)]
    .sort((a, b) => b.grave - a.grave);
}
