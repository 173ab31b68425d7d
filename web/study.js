/* Asking the service to work something out, and waiting for it: see api/v1/studies. */
import { ApiError, ask, get } from './api.js';
import { redraw } from './app.js';

const PAUSE_MS = 400, PAUSE_MAX_MS = 3000;

/* Of one page: the study that it shows, and what is wrong. */
export class Study {
  constructor(kind) { this.kind = kind; this.study = null; this.trouble = null; this.timer = 0; this.open = false; }

  running() { return Boolean(this.study) && (this.study.state === 'waiting' || this.study.state === 'running'); }

  /* The last one of this kind, if the service still has it. */
  async enter() {
    this.open = true;
    const known = await get('/studies');
    const last = known.studies.find(one => one.kind === this.kind);
    if (last && !this.study) this.look(last.id);
    return known;
  }
  leave() { this.open = false; clearTimeout(this.timer); }

  async begin(send) {
    this.trouble = null;
    redraw();
    try { const study = await send(); this.study = study; this.look(study.id); } catch (trouble) { this.trouble = trouble.message; redraw(); }
  }
  async look(id, pause = PAUSE_MS) {
    clearTimeout(this.timer);
    try {
      this.study = await get(`/studies/${id}`);
      this.trouble = this.study.state === 'failed' ? this.study.error : null;
    } catch (trouble) {
      if (trouble instanceof ApiError && trouble.status === 404) { this.study = null; this.trouble = 'The service was started anew and has forgotten it. Ask again'; } else if (trouble instanceof ApiError) this.trouble = trouble.message;
    }
    redraw();
    if (this.open && this.running()) this.timer = setTimeout(() => this.look(id, Math.min(PAUSE_MAX_MS, pause * 1.3)), pause);
  }
  async cancel() {
    if (!this.study) return;
    try { await ask('DELETE', `/studies/${this.study.id}`); if (this.running()) this.look(this.study.id); } catch (trouble) { this.trouble = trouble.message; }
    redraw();
  }
}
