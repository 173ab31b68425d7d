/*
 * All jobs that run or wait, and on demand those that have ended. The whole list is read once;
 * after that events say which jobs changed, and only those are asked for. After very many changes
 * the list is read anew, and not often.
 */
import { AwayError, get, pageKey } from './api.js';
import { FIELDS } from './data.js';
import { onEvent, suspect } from './live.js';

const LIVE_MAX = 100_000, HISTORY_PAGE = 200, ASKED_AT_ONCE = 16, GATHER_MS = 250, RELOAD_MS = 10_000;
const HISTORY_KEYS = FIELDS.split(',');

export class JobList {
  constructor(changed) { this.changed = changed; this.jobs = new Map(); this.ended = new Map(); this.next = null; this.counts = {}; this.loaded = false; this.trouble = null; this.dirty = new Set(); this.number = 0; this.reloadedAt = 0; }

  open() {
    this.worker = new Worker(new URL('./list_worker.js', import.meta.url));
    this.worker.onmessage = event => this.take(event.data);
    this.worker.onerror = () => { this.trouble = 'the list cannot be read: the page is older than the service; load it anew'; this.changed(); };
    this.stop = onEvent((kind, event) => this.hear(kind, event));
    this.reload();
  }
  close() { this.stop?.(); this.worker?.terminate(); clearTimeout(this.timer); clearTimeout(this.later); }

  reload() {
    this.reloadedAt = Date.now();
    this.coming = [];
    this.dirty.clear();
    this.worker.postMessage({ number: ++this.number, path: `/api/v1/queue?limit=${LIVE_MAX}&fields=${FIELDS}`, key: pageKey() });
  }
  take(part) {
    if (part.number !== this.number) return;
    if (part.jobs) { this.coming.push(...part.jobs); return; }
    if (part.done) {
      this.jobs = new Map(this.coming.map(job => [job.id, job]));
      this.counts = part.done.counts;
      this.trouble = null;
      this.loaded = true;
    } else { this.trouble = part.error?.message ?? null; if (part.away) { suspect(); this.later = setTimeout(() => this.reload(), 3000); } }
    this.changed();
  }

  hear(kind, event) {
    if (kind === 'reconnected') { this.reload(); return; }
    if (!event?.job || !kind.startsWith('job.')) return;
    const many = event.about?.jobs ?? 1;
    for (let i = 0; i < Math.min(many, ASKED_AT_ONCE + 1); i++) this.dirty.add(event.job + i);
    if (!this.timer) this.timer = setTimeout(() => { this.timer = 0; this.catchUp(); }, GATHER_MS);
  }
  async catchUp() {
    if (!this.loaded) return;
    if (this.dirty.size > ASKED_AT_ONCE) {
      clearTimeout(this.later);
      this.later = setTimeout(() => this.reload(), Math.max(0, this.reloadedAt + RELOAD_MS - Date.now()));
      return;
    }
    const ids = [...this.dirty];
    this.dirty.clear();
    try { for (const job of await Promise.all(ids.map(id => get(`/jobs/${id}`).catch(trouble => { if (trouble instanceof AwayError) throw trouble; return null; })))) if (job) this.put(job); } catch { suspect(); }
    this.changed();
  }
  put(whole) {
    const job = Object.fromEntries(HISTORY_KEYS.map(key => [key, whole[key]])), ended = Boolean(job.ended_at), before = this.jobs.get(job.id);
    if (ended) this.jobs.delete(job.id); else this.jobs.set(job.id, job);
    if (ended && this.ended.size) this.ended = new Map([[job.id, job], ...this.ended]);
    if (before && before.state !== job.state) this.counts = { ...this.counts, [before.state]: this.counts[before.state] - 1 };
    if (!before || before.state !== job.state) this.counts = { ...this.counts, [job.state]: (this.counts[job.state] ?? 0) + 1 };
  }

  /* A page of those that ended, newest first; the next when called again. */
  async more(states, user) {
    if (this.asking) return;
    this.asking = true;
    const query = `?limit=${HISTORY_PAGE}&state=${states}${user ? `&user=${encodeURIComponent(user)}` : ''}${this.next ? `&after=${this.next}` : ''}`;
    try { const page = await get(`/jobs${query}`); for (const job of page.jobs) this.ended.set(job.id, job); this.next = page.next; this.whole = page.next == null; } catch (trouble) { this.trouble = trouble.message; this.whole = true; }
    this.asking = false;
    this.changed();
  }
  forgetEnded() { this.ended.clear(); this.next = null; this.whole = false; }
}
