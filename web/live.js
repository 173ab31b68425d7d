/*
 * What happens, as it happens. One stream of events for the whole page; it is opened again when it
 * breaks, behind the last event that was seen, and rests while the page is hidden, since a browser
 * has few connections for all pages of a service. Listeners hear of events and of whether the
 * service is there.
 */
import { ApiError, followEvents } from './api.js';

const SILENCE_MS = 40_000; /* the service says something every 15 s */
const PAUSES_MS = [300, 600, 1200, 2500, 5000];
const listeners = new Set(), watchers = new Set();
let last = null, stop = null, tries = 0, timer = 0, wanted = false;
export const state = { live: false, lostAt: null, tries: 0, leader: null };

function tell(changes) { Object.assign(state, changes); for (const watcher of watchers) watcher(state); }

function seen() {
  clearTimeout(timer);
  timer = setTimeout(() => stop?.abort(), SILENCE_MS);
  tries = 0;
  if (!state.live) { tell({ live: true, lostAt: null, tries: 0, leader: null }); for (const listener of listeners) listener('reconnected', null); }
}

async function run() {
  stop = new AbortController();
  try {
    await followEvents(`/events${last != null ? `?after=${last}` : ''}`, (kind, event) => {
      last = event.sequence;
      for (const listener of listeners) listener(kind, event);
    }, { signal: stop.signal, alive: seen });
  } catch (trouble) {
    if (trouble instanceof ApiError && trouble.status === 401) { wanted = false; return; }
    if (trouble instanceof ApiError && trouble.leader) tell({ leader: trouble.leader });
  }
  clearTimeout(timer);
  if (!wanted) return;
  tries++;
  tell({ live: false, lostAt: state.lostAt ?? Date.now(), tries });
  timer = setTimeout(run, PAUSES_MS[Math.min(tries, PAUSES_MS.length) - 1]);
}

export function start() { if (!wanted) { wanted = true; run(); } }
export function end() { wanted = false; clearTimeout(timer); stop?.abort(); }
/* Now, not after the pause. */
export function tryNow() { clearTimeout(timer); if (!state.live) run(); }
/* A request found nobody: the stream may not have noticed yet. */
export function suspect() { if (state.live) stop?.abort(); }
export function onEvent(listener) { listeners.add(listener); return () => listeners.delete(listener); }
export function onState(watcher) { watchers.add(watcher); return () => watchers.delete(watcher); }

document.addEventListener('visibilitychange', () => {
  if (document.hidden) { if (wanted) { end(); wanted = null; } } else if (wanted === null) { wanted = true; run(); }
});
