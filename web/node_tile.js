/* A node as a tile: its GPUs side by side, each with who has it; below, how much of its cores and memory is given away. */
import { glyph, h } from './dom.js';
import { bytes, duration, gpus, now } from './format.js';
import { isMine, nameOf } from './me.js';
import { bar } from './parts.js';
import { nameOfJob, leftText } from './state.js';

const WIDE_FROM = 5; /* a node with so many GPUs has two columns */

/* Which jobs have each GPU of the node. */
function holders(node, jobs) {
  const lists = Array.from({ length: node.gpus }, () => []);
  for (const job of jobs) for (const id of job.gpu_ids?.[node.name] ?? []) lists[id]?.push(job);
  return lists;
}
/* GPUs that follow each other and have the same jobs are one block. */
function blocks(lists) {
  const out = [];
  lists.forEach((jobs, at) => {
    const last = out.at(-1);
    if (last && jobs.length && last.jobs.length === jobs.length && last.jobs.every((job, i) => job.id === jobs[i].id)) last.count++;
    else out.push({ at, count: 1, jobs });
  });
  return out;
}

function filled(node, block, pools) {
  const [job] = block.jobs, several = block.jobs.length > 1, pool = pools.has(job.name), mine = block.jobs.some(isMine);
  const taken = 1 - (node.gpu_free?.[block.at] ?? 0), owner = pool ? 'pictures' : nameOf(job.user);
  const wide = block.count > 1 || node.gpus < WIDE_FROM;
  return h('a', { key: `${node.name}-${block.at}`, class: `job ${pool ? 'pool' : mine ? 'mine' : ''}`, vars: { 'grid-column': `span ${block.count}` }, href: several ? `#/jobs?text=node:${node.name}` : `#/job/${job.id}`, 'data-user': job.user,
    title: block.jobs.map(one => `${nameOfJob(one)} of ${one.user}, ${gpus(one.gpus)}, ${leftText(one)}`).join('\n'), 'aria-label': several ? `${block.jobs.length} jobs on GPU ${block.at}` : `${nameOfJob(job)} of ${owner}, ${gpus(block.count)}, ${leftText(job)}` },
    Array.from({ length: block.count }, (_, i) => h('u', { vars: { '--m': taken } }, h('small', null, taken < 0.999 ? `${Math.round(taken * 100)} %` : block.at + i))),
    h('span', null, h('b', null, several ? `${block.jobs.length} jobs` : wide ? nameOfJob(job) : owner), h('i', null, several ? owner : wide ? `${owner}${block.count > 1 ? ` · ${leftText(job)}` : ''}` : nameOfJob(job))));
}

function hole(node, block) {
  return node.state === 'up' ? h('span', { key: `${node.name}-${block.at}`, class: 'job none', title: `GPU ${block.at} of ${node.name} is free` }, 'free')
    : h('span', { key: `${node.name}-${block.at}`, class: 'job gone' }, node.state === 'down' ? 'down' : 'closed');
}

function room(node) {
  if (node.state === 'down') return h('span', { class: 'state failed' }, glyph('failed'), 'down');
  if (node.state !== 'up') return h('span', { class: 'state preempted' }, glyph('preempted'), node.state);
  const free = Math.floor((node.gpus ? node.gpus_free : node.cpus_free) * 10) / 10;
  return free ? h('b', null, `${free} ${node.gpus ? 'free' : 'CPUs free'}`) : 'full';
}

export function nodeTile(node, jobs, pools, { hot, actions } = {}) {
  const used = [['CPU', node.cpus - node.cpus_free, node.cpus, x => `${Math.round(x * 10) / 10}`], ['Memory', node.memory_bytes - node.memory_free_bytes, node.memory_bytes, bytes]];
  return h('article', { key: node.name, class: node.gpus < WIDE_FROM ? 'node half' : 'node', 'data-state': node.state, vars: { '--n': Math.max(1, node.gpus) }, 'aria-label': `node ${node.name}`, 'data-hot': hot ? '' : null },
    h('header', null, h('h3', null, node.name), h('span', { class: 'sm dim cut' }, node.gpus ? `${node.gpus} × ${(node.gpu_type ?? 'GPU').toUpperCase()}` : 'no GPU'), h('span', { class: 'free' }, room(node))),
    node.state !== 'up' && node.reason ? h('p', { class: 'sm ink2 cut', title: node.reason }, `${node.reason}${node.since ? ` · ${duration((now() - Date.parse(node.since)) / 1000)}` : ''}`) : null,
    node.gpus ? h('div', { class: 'gpus' }, blocks(holders(node, jobs)).map(block => block.jobs.length ? filled(node, block, pools) : hole(node, block))) : null,
    h('footer', null, used.map(([what, some, all, show]) => h('div', null, h('span', { class: 'cut' }, `${what} ${show(some)} of ${show(all)}`), bar(some / all, `${what} given to jobs`)))),
    actions ? h('div', { class: 'tile-acts' }, actions) : null);
}
