/* Find anything: pages, jobs that are known, any job by its number, nodes. */
import { go } from './app.js';
import { data } from './data.js';
import { glyph, h, icon, patch } from './dom.js';
import { close, overlay } from './overlay.js';
import { lookOf, nameOfJob, numberOf } from './state.js';
import { atLeast, nameOf } from './me.js';

const SHOWN = 9;

function everything(text) {
  const number = /^\d+(_\d+)?$/.test(text.trim()) ? [{ text: `Job ${text.trim()}`, hint: 'by its number', to: `#/job/${text.trim()}`, mark: icon('right') }] : [];
  const pages = [['Now', '#/now', 'G N'], ['Jobs', '#/jobs', 'G J'], ['Timeline', '#/timeline', 'G T'], ['Generate', '#/generate', 'G G'], ['What if: another policy', '#/whatif', 'G W'], ['Place a model', '#/place', 'G M'], ['People, shares and limits', '#/people', 'G P'], ['You and your sessions', '#/you', 'G Y'], ...(atLeast('user') ? [['Submit a job', '#/submit', 'C']] : [])];
  return [...number, ...pages.map(([name, to, hint]) => ({ text: name, hint, to, mark: icon('right') })),
    ...[...data.running, ...data.waiting].map(job => ({ text: `${nameOfJob(job)} · ${numberOf(job)} · ${nameOf(job.user)}`, hint: lookOf(job), to: `#/job/${job.id}`, mark: glyph(lookOf(job)) })),
    ...data.nodes.map(node => ({ text: `Node ${node.name}`, hint: node.state, to: `#/now?node=${encodeURIComponent(node.name)}`, mark: icon('now') }))];
}

export function find() {
  let text = '', at = 0, hits = [];
  const take = hit => { if (hit) { close(); go(hit.to); } };
  const draw = () => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    hits = everything(text).filter(hit => hit.hint === 'by its number' || words.every(word => hit.text.toLowerCase().includes(word))).slice(0, SHOWN);
    at = Math.max(0, Math.min(at, hits.length - 1));
    overlay(h('div', { class: 'pal' },
      h('input', { id: 'find', placeholder: "A job's name or number, a node, a page", 'aria-label': 'Find', role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'found', 'aria-activedescendant': hits.length ? `found-${at}` : null, autocomplete: 'off', spellcheck: 'false',
        oninput: event => { text = event.target.value; at = 0; draw(); }, onkeydown: move }),
      h('ul', { id: 'found', role: 'listbox', 'aria-label': 'Found' }, hits.map((hit, i) => h('li', { id: `found-${i}`, role: 'option', 'aria-selected': String(i === at), onclick: () => take(hit) }, hit.mark, h('span', { class: 'cut' }, hit.text), h('span', { class: 'dim' }, hit.hint)))),
      hits.length ? null : h('p', { class: 'pad dim', role: 'status' }, 'Nothing that runs or waits has this name. A number opens any job.')));
  };
  const move = event => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') { at += event.key === 'ArrowDown' ? 1 : -1; draw(); event.preventDefault(); } else if (event.key === 'Enter') { event.preventDefault(); take(hits[at]); }
  };
  patch(document.getElementById('dialog'));
  draw();
  document.getElementById('find').focus();
}
