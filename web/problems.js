/* What is wrong, as the service tells it: asked for when something has happened, and now and then. */
import { get } from './api.js';
import { redraw } from './app.js';
import { onData } from './data.js';
import { duration, since } from './format.js';

const LEAST_MS = 1500, EVERY_MS = 20_000; /* a disk fills without an event */
let known = { problems: [], count: 0 }, at = 0, timer = 0;

async function load() {
  at = Date.now();
  try { known = await get('/problems'); redraw(); } catch { /* said elsewhere */ }
}
/* At once, or when the last time is long enough ago. */
function soon() {
  if (timer || document.hidden) return;
  timer = setTimeout(() => { timer = 0; load(); }, Math.max(0, at + LEAST_MS - Date.now()));
}
onData(soon);
setInterval(() => { if (at) soon(); }, EVERY_MS);

const textOf = one => one.since && one.kind.startsWith('node') ? `${one.text.replace(/\.$/, '')}, for ${duration(since(one.since))}.` : one.text;
export const problems = (list = known.problems) => list.map(one => ({ key: `${one.kind}-${one.about ?? one.job ?? ''}`, grave: one.grave, title: one.title, text: textOf(one), act: one.action.text, to: one.action.page, command: one.action.command }));
export const moreProblems = () => known.count - known.problems.length;
