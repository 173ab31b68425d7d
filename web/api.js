/*
 * Asking the service. The session is a cookie that scripts do not see; each request also has the
 * page's key, without which the cookie is good for nothing. An answer that is an error becomes an
 * ApiError with the service's own sentence.
 */
const KEY = 'strata.key';
const PREFIX = '/api/v1';
let key = null;
try { key = localStorage.getItem(KEY); } catch { /* a browser that keeps nothing: signed in until it is closed */ }

export class ApiError extends Error {
  constructor(status, error) { super(error?.message ?? `the service answered with ${status}`); this.status = status; this.code = error?.code; this.field = error?.field ?? null; this.leader = error?.leader ?? null; }
}
/* The service is not there. */
export class AwayError extends Error { constructor() { super('the service does not answer'); } }

/* Called when the session is good no more. */
let whenOut = () => {};
export function onSignedOut(act) { whenOut = act; }

export const pageKey = () => key;
export function setPageKey(value) {
  key = value;
  try { if (value) localStorage.setItem(KEY, value); else localStorage.removeItem(KEY); } catch { /* as above */ }
}
/* Another tab signed in or out. */
addEventListener('storage', event => { if (event.key === KEY) { key = event.newValue; location.reload(); } });

export async function request(method, path, { body, raw, headers, signal, token } = {}) {
  const sent = { ...(key ? { 'X-Strata-Page': key } : {}), ...(token ? { Authorization: `Bearer ${token}` } : {}), ...(body != null ? { 'Content-Type': 'application/json' } : raw != null ? { 'Content-Type': 'application/octet-stream' } : {}), ...headers };
  let answer;
  try {
    answer = await fetch(PREFIX + path, { method, headers: sent, body: body != null ? JSON.stringify(body) : raw ?? undefined, signal, cache: 'no-store', credentials: 'same-origin' });
  } catch (trouble) { throw trouble.name === 'AbortError' ? trouble : new AwayError(); }
  if (!answer.ok) {
    const text = await answer.text().catch(() => '');
    let error = null;
    try { error = JSON.parse(text).error; } catch { /* not ours: a proxy in between */ }
    if (answer.status === 401 && key && !token) whenOut();
    throw new ApiError(answer.status, error);
  }
  return answer;
}
export async function ask(method, path, body, more = {}) {
  const answer = await request(method, path, { body, ...more });
  return answer.status === 204 ? null : answer.json();
}
export const get = (path, more) => ask('GET', path, undefined, more);

/* A picture, as an address for <img>; who asks for it gives it back with URL.revokeObjectURL. */
export async function picture(path, signal) { return URL.createObjectURL(await (await request('GET', path, { signal })).blob()); }

/* The parts of a text as they come; `each` may be called for a long time. */
export async function follow(path, each, { signal, headers } = {}) {
  const reader = (await request('GET', path, { signal, headers })).body.getReader(), decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      each(decoder.decode(value, { stream: true }));
    }
  } catch (trouble) { throw trouble.name === 'AbortError' ? trouble : new AwayError(); }
}

/* Server-sent events: each(kind, data, id). EventSource sends no headers of ours, so it is read here. */
export async function followEvents(path, each, { signal, alive, headers } = {}) {
  let rest = '', event = {};
  await follow(path, part => {
    alive?.();
    const lines = (rest + part).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      if (line === '') { if (event.data != null) each(event.event ?? 'message', JSON.parse(event.data), event.id); event = {}; continue; }
      const colon = line.indexOf(':');
      if (colon > 0) event[line.slice(0, colon)] = line.slice(colon + 1).replace(/^ /, '');
    }
  }, { signal, headers });
}
