/* People: who uses how much, who is next by fair share, what limits hold. Who may changes them; each change is in the events. */
import { ask, get } from './api.js';
import { redraw, route, setQuery } from './app.js';
import { glyph, h, icon } from './dom.js';
import { ago, count, exact } from './format.js';
import { onEvent } from './live.js';
import { atLeast, me } from './me.js';
import { close, confirm, failed, overlay, toast } from './overlay.js';
import { bar, card, empty, field, problemLine, segments } from './parts.js';

const KINDS = [['users', 'Users'], ['accounts', 'Accounts'], ['qos', 'QOS']], WEEK = 'now-7days', SOON_MS = 2000;
const LIMITS = [['jobs', 'Jobs at a time'], ['waiting', 'Jobs waiting'], ['gpus', 'GPUs at a time'], ['gpu_hours', 'GPU hours']];
let lists = { users: [], accounts: [], qos: [] }, week = new Map(), tokens = [], audit = [], loaded = false, stop = null, timer = 0, search = '';

const kind = () => KINDS.some(([name]) => name === route.query.get('kind')) ? route.query.get('kind') : 'users';
/* Operators: weight and limits of users that are neither operators nor administrators; the service says of whom. */
const mayEdit = one => kind() === 'users' ? Boolean(one.may_change) : atLeast('admin');
const hours = n => n >= 100 ? Math.round(n).toLocaleString('en') : n.toFixed(1);

/* ---- what is known ---- */

async function load() {
  try {
    const [users, accounts, qos, used, list, events] = await Promise.all([get('/users'), get('/accounts'), get('/qos'), get(`/accounting?since=${WEEK}`), get('/tokens'), get('/events?format=json&last=500&limit=500')]);
    lists = { users: users.users, accounts: accounts.accounts, qos: qos.qos };
    week = new Map(used.rows.map(row => [row.user, row]));
    tokens = list.tokens;
    audit = events.events.filter(event => /^(entity|token)\./.test(event.kind)).reverse().slice(0, 12);
    loaded = true;
  } catch (trouble) { failed(trouble); }
  redraw();
}

/* Not with every job that ends. */
function soon() { if (!timer) timer = setTimeout(() => { timer = 0; load(); }, SOON_MS); }

/* ---- changing ---- */

function edit(one) {
  const of = kind(), form = { weight: one.weight, ...Object.fromEntries(LIMITS.map(([name]) => [name, one.limits?.[name] || ''])) };
  let trouble = null;
  const number = (name, label, help) => field(label, h('input', { class: 'in', id: `p-${name}`, inputmode: 'decimal', value: form[name] ?? '', placeholder: 'no limit', oninput: event => { form[name] = event.target.value; } }), { help });
  const save = async event => {
    event.preventDefault();
    const body = { limits: {} };
    for (const [name, label] of LIMITS) {
      const value = form[name] === '' ? 0 : Number(form[name]);
      if (Number.isNaN(value)) { trouble = `${label}: '${form[name]}' is not a number`; show(); return; }
      if (value !== (one.limits?.[name] || 0)) body.limits[name] = value;
    }
    if (of !== 'qos' && Number(form.weight) !== one.weight) body.weight = Number(form.weight);
    if (!Object.keys(body.limits).length) delete body.limits;
    try { await ask('PATCH', `/${of}/${encodeURIComponent(one.name)}`, body); close(); toast(`${one.name} is changed.`); load(); } catch (error) { trouble = error.message; show(); }
  };
  const show = () => overlay(h('form', { class: 'pad', onsubmit: save, 'aria-labelledby': 'edit-title' }, h('h2', { id: 'edit-title' }, `Change ${one.name}`), of === 'qos' ? null : number('weight', 'Weight', 'Twice the weight is twice the share.'), h('div', { class: 'two' }, LIMITS.map(([name, label]) => number(name, label))),
    trouble ? problemLine(`${trouble}.`) : null, h('p', { class: 'hint' }, 'Empty: no limit. It holds at once, and stands in the events with your name.'), h('div', { class: 'do' }, h('button', { class: 'btn', type: 'button', onclick: close }, 'Leave it'), h('button', { class: 'btn primary', type: 'submit', 'data-test': 'save' }, 'Save'))));
  show();
}
async function revoke(token) {
  if (!await confirm({ title: `Revoke the token ${token.id}?`, text: `${token.user}: ${token.comment ?? 'no comment'}. Programs and sessions that use it are out at once.`, keep: 'Keep it', act: 'Revoke it' })) return;
  try { await ask('DELETE', `/tokens/${encodeURIComponent(token.id)}`); toast('The token is revoked.'); load(); } catch (trouble) { failed(trouble); }
}

/* ---- drawing ---- */

function sentence() {
  const active = lists.users.filter(user => user.running || user.waiting), most = [...lists.users].sort((a, b) => b.gpu_hours - a.gpu_hours)[0], own = lists.users.find(user => user.name === me.user);
  const before = own ? lists.users.filter(user => user.waiting && user.name !== me.user && user.share > own.share).length : 0;
  return h('h1', { class: 'say' }, `${count(active.length, 'user')} ${active.length === 1 ? 'has' : 'have'} jobs. `, h('em', null, most?.gpu_hours > 0.05 ? `${most.name === me.user ? 'You have' : `${most.name} has`} used most lately. ` : '', own?.waiting ? before ? `${count(before, 'user')} with waiting jobs ${before === 1 ? 'goes' : 'go'} before you.` : 'By fair share nobody goes before you.' : ''));
}
function limitsText(limits, one) {
  const list = LIMITS.filter(([name]) => limits?.[name]).map(([name, label]) => `${limits[name]} ${label.toLowerCase()}`);
  return list.length ? list.join(', ') : h('span', { class: 'dim' }, one.limits ? 'none' : '–');
}
function rows() {
  const list = lists[kind()].filter(one => one.name.toLowerCase().includes(search.toLowerCase())).sort((a, b) => (b.gpu_hours ?? 0) - (a.gpu_hours ?? 0) || a.name.localeCompare(b.name)), top = Math.max(1e-9, ...list.map(one => one.share ?? 0)), of = kind();
  if (!list.length) return empty(search ? 'Nobody of that name' : of === 'users' ? 'Nobody yet' : 'There are none yet', of === 'users' ? 'Whoever submits a job is here.' : 'They group people and set limits for them.', h('code', null, of === 'qos' ? 'strata qos set fast --priority 10' : `strata ${of} set ${of === 'users' ? 'ann --weight 2' : 'vision --weight 3'}`));
  const heads = [of === 'qos' ? 'QOS' : of === 'users' ? 'User' : 'Account', ...(of === 'qos' ? ['Priority'] : ['Share', 'Weight', 'Running', 'Waiting', 'GPU hours, faded']), ...(of === 'users' ? ['GPU hours, 7 days', 'Account'] : []), 'Limits', ''];
  return h('div', { class: 'scroll tall', tabindex: '0', role: 'group', 'aria-label': heads[0] }, h('table', { class: 'people' }, h('thead', null, h('tr', null, heads.map((text, i) => h('th', { scope: 'col', class: i && i < heads.length - 2 ? 'n' : null }, text || h('span', { class: 'sr' }, 'Change'))))),
    h('tbody', null, list.map(one => h('tr', { key: one.name, class: one.name === me.user && of === 'users' ? 'mine' : null }, h('th', { scope: 'row' }, of === 'users' ? h('a', { class: 'link', href: `#/jobs?user=${encodeURIComponent(one.name)}` }, one.name === me.user ? `${one.name} (you)` : one.name) : one.name),
      of === 'qos' ? h('td', { class: 'n' }, one.priority) : [h('td', { class: 'n share' }, bar((one.share ?? 0) / top, `share ${(one.share ?? 0).toFixed(3)}`), h('span', { class: 'sm' }, (one.share ?? 0).toFixed(2))), h('td', { class: 'n' }, one.weight), h('td', { class: 'n' }, one.running), h('td', { class: 'n' }, one.waiting), h('td', { class: 'n' }, hours(one.gpu_hours ?? 0))],
      of === 'users' ? [h('td', { class: 'n' }, hours(week.get(one.name)?.gpu_hours ?? 0)), h('td', { class: 'n' }, one.account ?? h('span', { class: 'dim' }, '–'))] : null, h('td', null, limitsText(one.limits, one)), h('td', { class: 'n' }, mayEdit(one) ? h('button', { class: 'btn tiny', onclick: () => edit(one), 'aria-label': `Change ${one.name}` }, 'Change') : null))))));
}
const tokenList = () => card('Tokens', me.role === 'admin' ? 'of everybody' : 'yours', tokens.length ? h('ul', { class: 'tickets list' }, tokens.slice(0, 30).map(token => h('li', { key: token.id }, glyph('held'), h('span', { class: 'cut', title: token.comment ?? '' }, h('b', null, token.user), ' ', h('span', { class: 'dim' }, `${token.role}${token.comment ? ` · ${token.comment}` : ''}`)), h('span', { class: 'row' }, h('span', { class: 'dim sm', title: token.used_at ? exact(token.used_at) : '' }, token.used_at ? ago(token.used_at) : 'never used'), h('button', { class: 'btn tiny', 'aria-label': `Revoke ${token.id} of ${token.user}`, onclick: () => revoke(token) }, 'Revoke'))))) : h('p', { class: 'pad dim' }, 'There are none.'));
/* "jobs 3 → 7": what was set, from what, limits one by one. */
const told = value => value == null || value === '' ? 'nothing' : Array.isArray(value) ? value.join(', ') || 'nothing' : typeof value === 'object' ? JSON.stringify(value) : String(value);
function changesText(about) {
  const list = [];
  for (const [name, to] of Object.entries(about?.to ?? {})) {
    const from = about.from?.[name];
    if (name === 'limits' && to && typeof to === 'object') for (const [limit, most] of Object.entries(to)) list.push(`${limit.replace('_', ' ')} ${told(from?.[limit] || null)} → ${told(most || null)}`);
    else list.push(`${name.replaceAll('_', ' ')} ${told(from)} → ${told(to)}`);
  }
  return list.join(', ');
}
const auditLine = event => { const about = event.about, text = changesText(about); return `${/^entity/.test(event.kind) ? `${event.kind.split('.')[1]} ${about?.kind ?? ''}` : event.kind.replace('.', ' ')} ${about?.name ?? about?.user ?? ''}${text ? `: ${text}` : ''}`; };
const auditList = () => card('Changes', 'who changed what', audit.length ? h('ul', { class: 'tickets list' }, audit.map(event => h('li', { key: event.sequence }, icon('check'), h('span', { class: 'cut' }, h('b', null, event.about?.by ?? 'the configuration'), ' ', h('span', { class: 'dim', title: changesText(event.about) }, auditLine(event))), h('span', { class: 'dim sm', title: exact(event.at) }, ago(event.at))))) : h('p', { class: 'pad dim' }, 'Nothing was changed lately.'));

export const peoplePage = {
  title: () => 'People',
  hints: [['/', 'filter']],
  keys: { '/': () => document.getElementById('people-filter')?.focus() },
  open() { load(); stop = onEvent(event => { if (/^(reconnected|entity|token|job\.(started|ended))/.test(event)) soon(); }); },
  close() { stop?.(); clearTimeout(timer); timer = 0; },
  draw() {
    if (!loaded) return h('h1', { class: 'say' }, h('span', { class: 'skel' }, '0 users have jobs.'));
    return h('div', { class: 'fresh' }, sentence(), h('div', { class: 'row wrap gap bar-row' }, segments('What', KINDS, kind(), value => setQuery({ kind: value === 'users' ? null : value })), h('span', { class: 'grow' }), h('input', { class: 'in slim', id: 'people-filter', type: 'search', placeholder: 'Filter', 'aria-label': 'Filter by name', value: search, oninput: event => { search = event.target.value; redraw(); } })),
      h('section', { class: 'card', 'aria-label': KINDS.find(([name]) => name === kind())[1] }, rows()), h('div', { class: 'halves' }, tokenList(), auditList()));
  },
};
