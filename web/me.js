/* Who is signed in, and what that allows. What is not allowed is not shown; the service decides either way. */
import { ask, get, setPageKey } from './api.js';

const ROLES = ['none', 'read-only', 'user', 'operator', 'admin'];
export const me = { user: null, role: 'none', cluster: '', version: '', sessions: [] };

export const atLeast = role => ROLES.indexOf(me.role) >= ROLES.indexOf(role);
export const isMine = thing => thing.user === me.user;
export const mayChange = job => atLeast('operator') || (atLeast('user') && isMine(job));
/* What a job writes is for its owner and for operators. */
export const maySee = mayChange;
export const nameOf = user => user === me.user ? 'you' : user;

export async function load() { Object.assign(me, await get('/session')); return me; }
export async function signIn(token) {
  setPageKey(null);
  const answer = await ask('POST', '/session', undefined, { token });
  setPageKey(answer.key);
  return load();
}
export async function signOut() {
  try { await ask('DELETE', '/session'); } finally { setPageKey(null); }
}
