/* Who one is, and where one is signed in. */
import { ask } from './api.js';
import { redraw } from './app.js';
import { h } from './dom.js';
import { ago, exact, time } from './format.js';
import { load, me, signOut } from './me.js';
import { failed, toast } from './overlay.js';
import { card, facts } from './parts.js';

const MAY = { 'read-only': 'sees everything but what jobs write', user: 'has jobs and pictures of its own', operator: 'also changes the jobs of others, and drains nodes', admin: 'may do everything' };
const browser = text => /(Firefox|Edg|Chrome|Safari)\/[\d.]+/.exec(text ?? '')?.[0].replace('Edg/', 'Edge/').replace(/\.[\d.]+$/, '').replace('/', ' ') ?? text ?? 'a program';

async function endSession(session) {
  try { await ask('DELETE', `/session/${encodeURIComponent(session.id)}`); toast('That session has ended.'); await load(); } catch (trouble) { failed(trouble); }
  redraw();
}

export const youPage = {
  title: () => 'You',
  hints: [['G then N', 'now']],
  open() { load().then(redraw, failed); },
  draw: () => [h('div', { class: 'head' }, h('div', { class: 'grow' }, h('h1', null, me.user), h('p', null, `Signed in as ${me.role}: ${MAY[me.role] ?? ''}.`)), h('button', { class: 'btn', onclick: () => signOut().then(() => location.reload(), failed) }, 'Sign out')),
    h('div', { class: 'jobgrid' }, card('Sessions', 'browsers that are signed in as you', h('ul', { class: 'tickets list' }, me.sessions.map(session => h('li', { key: session.id },
      h('span', { class: session.this ? 'completed' : 'dim' }, session.this ? '●' : '○'), h('span', { class: 'cut', title: session.browser ?? '' }, browser(session.browser), h('span', { class: 'dim' }, session.this ? ' · this one' : ` · used ${session.used_at ? ago(session.used_at) : 'never'}`)),
      h('span', { class: 'row' }, h('span', { class: 'dim sm', title: exact(session.expires_at) }, `until ${time(session.expires_at)}`), session.this ? null : h('button', { class: 'btn tiny', onclick: () => endSession(session) }, 'End')))))),
    card('Elsewhere', null, h('div', { class: 'pad' }, h('p', { class: 'row wrap gap more-pages' }, h('a', { class: 'link', href: '#/whatif' }, 'What if'), h('a', { class: 'link', href: '#/place' }, 'Place a model'), h('a', { class: 'link', href: '#/people' }, 'People')), facts([['Tokens', h('code', null, 'strata token list')], ['New token', h('code', null, 'strata token create --expires-in 30d')], ['Cluster', me.cluster], ['Version', me.version]]))))],
};
