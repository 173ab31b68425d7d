/* Signing in, with a token or by the link of `strata web`. */
import { h, icon } from './dom.js';
import { redraw } from './app.js';
import { problemLine } from './parts.js';
import { signIn } from './me.js';

let trouble = '', busy = false, done = () => {};

async function enter(token) {
  busy = true;
  trouble = '';
  redraw();
  try { await signIn(token); done(); } catch (error) { trouble = error.status === 401 ? 'This token is not known, has expired or was revoked. A link of strata web works once, for two minutes.' : `${error.message}.`; }
  busy = false;
  redraw();
}

/* The link has its secret behind the #; it is taken away from the address at once. */
export function takeLink() {
  const found = /^#(strata_[\w-]{43})$/.exec(location.hash);
  if (found) history.replaceState(null, '', '/#/now');
  return found?.[1] ?? null;
}

export const signInPage = {
  title: () => 'Sign in',
  set whenDone(act) { done = act; },
  enter,
  say(text) { trouble = text; },
  draw: () => h('div', { class: 'door' }, h('h1', null, 'Sign in to Strata'),
    h('form', { class: 'card pad stack', onsubmit: event => { event.preventDefault(); const text = document.getElementById('token').value.trim(); if (text) enter(text); } },
      h('label', { class: 'field' }, h('span', null, 'Token'), h('input', { class: 'in mono', id: 'token', type: 'password', autocomplete: 'current-password', spellcheck: 'false', placeholder: 'strata_…', required: true, 'aria-describedby': trouble ? 'trouble' : null, ref: element => queueMicrotask(() => element.focus()) })),
      trouble ? problemLine(trouble, 'trouble') : null,
      h('button', { class: 'btn primary big', disabled: busy }, busy ? 'Signing in …' : 'Sign in')),
    h('div', { class: 'prose ink2' }, h('p', null, 'On the machine of the service, ', h('code', null, 'strata web'), ' prints a link that signs you in.'),
      h('p', null, h('code', null, 'strata token create'), ' makes a token for anywhere else. This page lasts no longer than the token, at most a week.'),
      h('p', { class: 'row' }, icon('check'), 'Scripts and other programs cannot read your session.'))),
};
