/* Numbers, sizes and times as people read them. Times are relative where that says more; the exact ones are a title away. */
const MINUTE = 60, HOUR = 3600, DAY = 86400;
let skewMs = 0; /* how far the service's clock is before ours */

export const now = () => Date.now() + skewMs;
/* The service said what time it is; a second or two are the way. */
export function setClock(at) { const ahead = Date.parse(at) - Date.now(); skewMs = Math.abs(ahead) > 3000 ? ahead : 0; }
export const since = (at, until = now()) => Math.max(0, (until - Date.parse(at)) / 1000);

export function duration(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < MINUTE) return `${s} s`;
  if (s < HOUR) return `${Math.floor(s / MINUTE)} min`;
  if (s < DAY) { const m = Math.floor(s % HOUR / MINUTE); return `${Math.floor(s / HOUR)} h${m ? ` ${m} m` : ''}`; }
  const hours = Math.floor(s % DAY / HOUR);
  return `${Math.floor(s / DAY)} d${hours ? ` ${hours} h` : ''}`;
}

export function bytes(count) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  let at = 0, value = count;
  while (value >= 1024 && at < units.length - 1) { value /= 1024; at++; }
  return `${value >= 100 || at === 0 || Number.isInteger(value) ? Math.round(value) : value.toFixed(1)} ${units[at]}`;
}

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hour12: false });
const day = new Intl.DateTimeFormat(undefined, { weekday: 'short', hour: '2-digit', minute: '2-digit', hour12: false });
const date = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', hour12: false });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' });

/* "14:31", "Tue 14:31", "3 Dec 14:31": as little as is clear. */
export function time(at) {
  const then = new Date(at), away = Math.abs(then - now()) / 1000;
  if (then.toDateString() === new Date(now()).toDateString() || away < 6 * HOUR) return clock.format(then);
  return (away < 6 * DAY ? day : date).format(then);
}
export const exact = at => at ? whole.format(new Date(at)) : '';
export const ago = at => { const s = since(at); return s < 10 ? 'just now' : `${duration(s)} ago`; };
export const count = (n, one, many = `${one}s`) => `${n.toLocaleString('en')} ${n === 1 ? one : many}`;
export const gpus = n => n ? count(n, 'GPU') : 'no GPU';
/* "0–3, 6" */
export function ranges(numbers) {
  const out = [];
  for (const n of [...numbers].sort((a, b) => a - b)) { const last = out.at(-1); if (last && n === last[1] + 1) last[1] = n; else out.push([n, n]); }
  return out.map(([a, b]) => a === b ? `${a}` : `${a}–${b}`).join(', ');
}
