/* Small parts that several pages have. */
import { h, icon } from './dom.js';

export const bar = (share, what, running = false) => h('span', { class: running ? 'bar run' : 'bar', vars: { '--v': Math.max(0, Math.min(1, share || 0)) }, title: what }, h('i'));
export const card = (title, sub, ...content) => h('section', { class: 'card' }, h('header', null, h('h2', null, title), sub ? h('span', { class: 'sub' }, sub) : null), content);
export const facts = rows => h('dl', { class: 'facts' }, rows.filter(Boolean).map(([name, value]) => [h('dt', null, name), h('dd', null, value)]));
export const copyButton = (text, what = 'Copy') => h('button', { class: 'btn tiny quiet', type: 'button', onclick: event => { navigator.clipboard?.writeText(text()); event.currentTarget.lastChild.data = 'Copied'; } }, icon('copy'), what);

export function empty(title, text, ...action) {
  const line = (x, y, width) => h('rect', { x, y, width, height: 12, rx: 4 });
  return h('div', { class: 'empty' }, h('svg', { class: 'art', viewBox: '0 0 120 56', fill: 'none', stroke: 'currentColor', 'stroke-width': '1.5', 'stroke-dasharray': '4 4', 'aria-hidden': 'true' }, line(8, 4, 64), line(30, 22, 82), line(16, 40, 56)), h('h2', null, title), h('p', null, text), action);
}
/* A group of buttons of which one is pressed. */
export const segments = (label, list, on, choose) => h('span', { class: 'seg', role: 'group', 'aria-label': label }, list.map(([value, text]) => h('button', { type: 'button', 'aria-pressed': String(value === on), onclick: () => choose(value) }, text)));
export const problemLine = (text, id) => h('p', { class: 'err', role: 'alert', id }, icon('warn'), h('span', null, text));
/* A label with its field. `hint` stands at the right, `error` below. */
export function field(label, control, { hint, error, help } = {}) {
  return h('label', { class: 'field' }, h('span', null, label, hint ? h('i', null, hint) : null), control, error ? problemLine(error) : help ? h('p', { class: 'hint' }, help) : null);
}
