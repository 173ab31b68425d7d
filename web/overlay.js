/* What lies over the page: one dialog, for what cannot be undone and for finding; one line that says what was done. */
import { h, icon, patch } from './dom.js';

const TOAST_MS = 6000;
const dialog = () => document.getElementById('dialog');
let timer = 0, before = null, whenOver = null;

/* What belongs to a dialog ends with it at once: the browser tells of a closing later, when another may be open. */
function over() {
  const told = whenOver, back = before;
  whenOver = before = null;
  patch(dialog());
  if (back?.isConnected) back.focus();
  told?.();
}
export const isOpen = () => dialog().open;
export function close() { if (dialog().open) { dialog().close(); over(); } }
export function overlay(...content) {
  if (!dialog().open && before) over();
  before = before ?? document.activeElement;
  patch(dialog(), content);
  if (!dialog().open) dialog().showModal();
}
export function setUp() {
  dialog().onclick = event => { if (event.target === dialog()) close(); };
  dialog().oncancel = event => { event.preventDefault(); close(); };
  dialog().onclose = () => { if (!dialog().open) over(); };
}

/* Asks before something that cannot be undone; true: do it. */
export function confirm({ title, text, keep, act }) {
  return new Promise(resolve => {
    let answer = false;
    overlay(h('form', { class: 'pad', method: 'dialog', 'aria-labelledby': 'ask-title' }, h('h2', { id: 'ask-title' }, title), h('p', { class: 'ink2' }, text), h('div', { class: 'do' },
      h('button', { class: 'btn', type: 'button', onclick: close, ref: element => queueMicrotask(() => element.focus()) }, keep),
      h('button', { class: 'btn danger solid', type: 'button', 'data-test': 'confirm', onclick: () => { answer = true; close(); } }, act))));
    whenOver?.();
    whenOver = () => resolve(answer);
  });
}

export function toast(text, undo) {
  clearTimeout(timer);
  const place = document.getElementById('toast'), gone = () => patch(place);
  patch(place, h('div', null, text, undo ? h('button', { onclick: () => { gone(); undo(); } }, 'Undo') : null));
  timer = setTimeout(gone, TOAST_MS);
}
export function failed(trouble) {
  const place = document.getElementById('toast');
  clearTimeout(timer);
  patch(place, h('div', { class: 'bad' }, icon('warn'), trouble.message, h('button', { onclick: () => patch(place) }, 'Close')));
  timer = setTimeout(() => patch(place), 2 * TOAST_MS);
}
