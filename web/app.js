/*
 * Which page is shown, by what stands behind the # of the address: "#/jobs?state=failed". A page is
 * an object: title(), draw() → what is shown, and perhaps open(parameters), close(), keys,
 * hints. redraw() shows what has changed, once for all that changes before the next frame.
 */
import { patch } from './dom.js';

const pages = new Map();
const frames = []; /* what is drawn around every page */
export const route = { name: '', page: null, id: null, query: new URLSearchParams() };
let planned = false, shown = null;

export function addPage(name, page) { pages.set(name, page); }
export function addFrame(draw) { frames.push(draw); }

function drawAll() {
  planned = false;
  if (!route.page) return;
  for (const draw of frames) draw();
  document.title = `${route.page.title()} · Strata`;
  patch(document.getElementById('main'), route.page.draw());
  route.page.drawn?.();
}
export function redraw() { if (!planned) { planned = true; requestAnimationFrame(drawAll); } }

function read() {
  const [path, query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const [name = '', id] = path.split('/').map(part => { try { return decodeURIComponent(part); } catch { return part; } });
  return { name: pages.has(name) ? name : 'now', id: id ?? null, query: new URLSearchParams(query) };
}

/* Shows the page of the address. Same page: it hears of its new parameters and stays. */
export function show() {
  const next = read(), page = pages.get(next.name), same = shown === `${next.name}/${next.id}`;
  if (!same) { route.page?.close?.(); patch(document.getElementById('main')); }
  Object.assign(route, next, { page });
  shown = `${next.name}/${next.id}`;
  if (same) page.changed?.(route); else page.open?.(route);
  drawAll();
  if (!same) { scrollTo(0, 0); document.getElementById('main').focus({ preventScroll: true }); }
}

/* Only one page there is: that of who is not signed in. */
export function showOnly(page) {
  route.page?.close?.();
  patch(document.getElementById('main'));
  Object.assign(route, { name: '', id: null, page });
  shown = null;
  page.open?.(route);
  drawAll();
}

export const go = hash => { location.hash = hash; };
/* Parameters of the address, without a step in the history of the browser. */
export function setQuery(changes) {
  for (const [name, value] of Object.entries(changes)) if (value == null || value === '') route.query.delete(name); else route.query.set(name, value);
  const text = route.query.toString();
  history.replaceState(null, '', `#/${route.name}${route.id != null ? `/${encodeURIComponent(route.id)}` : ''}${text ? `?${text}` : ''}`);
  redraw();
}
