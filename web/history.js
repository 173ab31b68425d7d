/* The states of a job side by side, each as long as the square root of its time, so that minutes stay visible beside days. */
import { glyph, h } from './dom.js';
import { duration, exact, now, time } from './format.js';

const ENDS = { completed: 'completed', failed: 'failed', cancelled: 'cancelled' };

function segments(job) {
  const submitted = Date.parse(job.submitted_at), started = job.started_at ? Date.parse(job.started_at) : null, ended = job.ended_at ? Date.parse(job.ended_at) : null, out = [];
  out.push({ kind: 'queued', from: submitted, to: started ?? ended ?? now(), text: 'waited' });
  if (started) out.push({ kind: 'running', from: started, to: ended ?? now(), text: 'ran' });
  const expected = started ? job.expected_end_at : job.expected_start_at;
  if (!ended && expected && Date.parse(expected) > now()) out.push({ kind: 'left', from: now(), to: Date.parse(expected), text: started ? 'at most' : 'expected' });
  return out.filter(part => part.to >= part.from);
}

export function stateHistory(job) {
  const parts = segments(job), seconds = part => (part.to - part.from) / 1000, end = ENDS[job.state];
  return h('div', { class: 'hist', role: 'img', 'aria-label': parts.map(part => `${part.text} ${duration(seconds(part))}`).join(', ') + (end ? `, then ${end}` : '') },
    parts.map((part, i) => h('div', { key: i, vars: { '--f': Math.sqrt(seconds(part) + 1) } }, h('div', { class: `h-${part.kind}`, title: `${exact(part.from)} – ${exact(part.to)}` }, part.kind === 'left' ? null : glyph(part.kind), `${part.text} ${duration(seconds(part))}`), h('small', null, part.kind === 'left' ? 'now' : time(part.from)))),
    end ? h('div', { class: 'end' }, h('div', { class: `h-${end}` }, glyph(end), end), h('small', null, time(job.ended_at))) : null);
}
