/* Keys. None of them acts while a field has the focus or something lies over the page, but those with Ctrl. */
import { go, route } from './app.js';
import { h } from './dom.js';
import { isOpen, overlay } from './overlay.js';
import { find } from './find.js';
import { switchTheme } from './shell.js';
import { atLeast } from './me.js';

const CHORD_MS = 1200;
const GOES = { n: '#/now', j: '#/jobs', t: '#/timeline', g: '#/generate', w: '#/whatif', m: '#/place', p: '#/people', s: '#/submit', y: '#/you' };
let chordAt = 0;

const KEYS = [
  ['Everywhere', [['G then N J T G W M P S Y', 'go to a page'], ['C', 'submit a job'], ['Ctrl K', 'find anything'], ['Shift T', 'light or dark'], ['?', 'this list']]],
  ['Lists', [['J K', 'down, up'], ['Enter', 'open'], ['M', 'only mine'], ['X', 'cancel, with a question'], ['/', 'filter']]],
  ['One job', [['H', 'hold or release'], ['R', 'submit again'], ['X', 'cancel, with a question'], ['F', 'follow the log'], ['Esc', 'back']]],
  ['Timeline', [['+ −', 'zoom'], ['← →', 'move'], ['0', 'back to now']]],
  ['Generate', [['Ctrl Enter', 'generate'], ['S', 'another seed'], ['← →', 'move in the gallery'], ['U', 'use its settings']]],
];
export const keyWords = text => text.split(' ').map(word => word === 'then' ? ' then ' : h('kbd', null, word));
export function showKeys() {
  overlay(h('div', { class: 'pad' }, h('h2', null, 'Keys'), h('div', { class: 'keys' }, KEYS.map(([title, list]) => h('div', null, h('h3', null, title),
    list.map(([keys, what]) => h('p', null, h('span', null, what), h('span', { class: 'row' }, keyWords(keys)))))))));
}

function everywhere(key) {
  if (Date.now() - chordAt < CHORD_MS) { chordAt = 0; if (GOES[key] && (key !== 's' || atLeast('user'))) { go(GOES[key]); return true; } }
  if (key === 'g') chordAt = Date.now();
  else if (key === '?') showKeys();
  else if (key === 'T') switchTheme();
  else if (key === 'c' && atLeast('user')) go('#/submit');
  else return false;
  return true;
}

export function setUp() {
  addEventListener('keydown', event => {
    if (!route.name) return;
    if ((event.ctrlKey || event.metaKey) && event.key === 'k') { event.preventDefault(); find(); return; }
    if ((event.ctrlKey || event.metaKey) && event.key === 'Enter' && !isOpen()) { if (route.page.keys?.['Ctrl Enter']) { event.preventDefault(); route.page.keys['Ctrl Enter'](); } return; }
    if (event.ctrlKey || event.metaKey || event.altKey || isOpen()) return;
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) { if (event.key === 'Escape') event.target.blur(); return; }
    if (everywhere(event.key)) { event.preventDefault(); return; }
    const act = route.page.keys?.[event.key];
    if (act && act(event) !== false) event.preventDefault();
  });
}
