/* Around every page: where one is, whether it is live, who one is, which keys there are. */
import { addFrame, redraw, route } from './app.js';
import { h, icon, patch } from './dom.js';
import { find } from './find.js';
import { duration, time } from './format.js';
import { keyWords, showKeys } from './keys.js';
import { onState, state, tryNow } from './live.js';
import { atLeast, me } from './me.js';

const PAGES = [['now', 'Now', 'now'], ['jobs', 'Jobs', 'jobs'], ['timeline', 'Timeline', 'timeline'], ['generate', 'Generate', 'generate'], ['whatif', 'What if', 'whatif'], ['place', 'Place', 'place'], ['people', 'People', 'people']];
const TABS = 4; /* of them, on a phone */
const LOST_SHOWN_MS = 700; /* a restart that is quicker than this disturbs nobody */
const TRY_NOW_AFTER = 3;

export function switchTheme() {
  const theme = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
  document.documentElement.dataset.theme = theme;
  try { localStorage.setItem('strata.theme', theme); } catch { /* until the page is closed */ }
}

const current = () => ({ job: 'jobs', flow: 'jobs', trace: 'generate' })[route.name] ?? route.name;
const link = (name, ...content) => h('a', { href: `#/${name}`, 'aria-current': current() === name ? 'page' : null }, content);
const isLost = () => state.lostAt != null && Date.now() - state.lostAt >= LOST_SHOWN_MS;

function top() {
  return [h('a', { class: 'brand', href: '#/now', 'aria-label': 'Strata, go to Now' }, h('svg', { class: 'i', 'aria-hidden': 'true' }, h('use', { href: '#i-logo' })), h('b', null, 'strata')),
    h('nav', { id: 'nav', 'aria-label': 'Pages' }, PAGES.map(([name, title]) => link(name, title))), h('span', { class: 'grow' }),
    h('button', { class: 'find', 'aria-haspopup': 'dialog', 'aria-label': 'Find a job, node or page', onclick: find }, icon('search'), h('span', null, 'Find a job, node, page'), h('kbd', null, 'Ctrl K')),
    h('span', { class: isLost() ? 'live off' : 'live', id: 'live' }, isLost() ? 'not live' : 'live'),
    h('button', { class: 'icon', 'aria-label': 'Light or dark theme', title: 'Light or dark (Shift T)', onclick: switchTheme }, icon('theme')),
    atLeast('user') ? h('a', { class: 'btn primary', href: '#/submit' }, icon('plus'), h('span', null, 'Submit')) : null,
    h('a', { class: 'me', href: '#/you', 'aria-label': `${me.user}: your account and sessions`, title: `${me.user} · ${me.role}` }, (me.user ?? '?').slice(0, 2))];
}

function banner() {
  if (state.leader) return [h('span', null, h('b', null, 'This server stands by.'), ' It shows what there is, and changes nothing. The one that leads: ', /^https?:/.test(state.leader) ? h('a', { class: 'link', href: state.leader }, state.leader) : state.leader)];
  if (!isLost()) return [];
  const seconds = (Date.now() - state.lostAt) / 1000;
  return [h('span', { class: 'spin', 'aria-hidden': 'true' }), h('span', null, h('b', null, 'Reconnecting.'), ` This is from ${time(state.lostAt)}${seconds >= 10 ? `, ${duration(seconds - seconds % 10)} ago` : ''}. Jobs go on running.`),
    h('span', { class: 'grow' }), state.tries >= TRY_NOW_AFTER ? h('button', { class: 'btn tiny', onclick: tryNow }, 'Try now') : null];
}

function foot() {
  return [(route.page.hints ?? []).map(([keys, what]) => h('span', null, keyWords(keys), ' ', what)), h('span', { class: 'grow' }), h('span', null, `${me.cluster} · ${me.version}`), h('button', { class: 'row', onclick: showKeys }, h('kbd', null, '?'), ' all keys')];
}

function draw() {
  const place = id => document.getElementById(id), here = Boolean(route.name);
  patch(place('top'), here ? top() : [h('span', { class: 'brand' }, h('svg', { class: 'i', 'aria-hidden': 'true' }, h('use', { href: '#i-logo' })), h('b', null, 'strata')), h('span', { class: 'grow' }), h('button', { class: 'icon', 'aria-label': 'Light or dark theme', onclick: switchTheme }, icon('theme'))]);
  patch(place('banner'), here ? banner() : []);
  patch(place('foot'), here ? foot() : []);
  patch(place('tabs'), here ? [...PAGES.slice(0, TABS), ...(atLeast('user') ? [['submit', 'Submit', 'plus']] : [])].map(([name, title, mark]) => link(name, icon(mark), title)) : []);
  document.body.classList.toggle('stale', here && isLost());
  document.body.classList.toggle('outside', !here);
}

export function setUp() {
  addFrame(draw);
  onState(redraw);
  onState(now => { if (!now.live) setTimeout(redraw, LOST_SHOWN_MS + 10); });
  document.getElementById('skip').onclick = event => { event.preventDefault(); document.getElementById('main').focus(); };
}
