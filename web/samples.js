/* What a job used over time, beside what it asked for. */
import { ApiError, get } from './api.js';
import { redraw } from './app.js';
import { h } from './dom.js';
import { bytes, duration, time } from './format.js';
import { card } from './parts.js';
import { plot, ticks } from './plot.js';

const LEAST_POINTS = 2, LITTLE = 0.5, LONG_ENOUGH_S = 600, SHORT_S = 600, GIB = 2 ** 30;
const mean = list => list.reduce((sum, one) => sum + one, 0) / (list.length || 1);

export class Samples {
  constructor(job) { this.job = job; this.known = null; this.table = false; this.asked = 0; }

  async load() {
    const asked = ++this.asked;
    try {
      const known = await get(`/jobs/${this.job}/samples`);
      if (asked === this.asked) this.known = known;
    } catch (trouble) { if (!(trouble instanceof ApiError)) return; }
    redraw();
  }

  /* Seconds of which each point speaks. */
  spans() { const s = this.known.seconds; return s.map((at, i) => at - (i ? s[i - 1] : 0)); }
  over(list) { const spans = this.spans(), sum = list.reduce((all, one, i) => all + one * spans[i], 0); return sum / (this.known.seconds.at(-1) || 1); }

  plot(name, title, list, { top, asked, format, base = 10, tick = format }) {
    const { seconds, from } = this.known, start = Date.parse(from), end = seconds.at(-1), last = list.at(-1), most = Math.max(...list);
    const marks = ticks(Math.max(top ?? 0, asked ?? 0, most), 2, base), steps = list.flatMap((y, i) => [[i ? seconds[i - 1] : 0, y], [seconds[i], y]]);
    return h('div', { class: 'sample' }, h('div', { class: 'row' }, h('span', { class: 'grow' }, title), h('b', null, asked ? `${format(last)} of ${format(asked)}` : format(last))),
      plot({ name: `${name}-${this.job}`, label: `${title}: ${format(last)} at last, ${format(this.over(list))} on average, ${format(most)} at most${asked ? `, of ${format(asked)}` : ''}`, x0: 0, x1: end, top: marks.at(-1), ys: marks.map(y => [y, tick(y)]),
        xs: end < SHORT_S ? [[0, 'start'], [end, `+ ${duration(end)}`]] : [[0, time(start)], [end, time(start + end * 1000)]], lines: [{ points: steps, area: true }], across: asked ? [[asked, 'asked']] : [] }));
  }

  asTable(columns) {
    const start = Date.parse(this.known.from), step = Math.max(1, Math.ceil(this.known.seconds.length / 30));
    const rows = this.known.seconds.map((s, i) => [s, i]).filter(([, i]) => i % step === 0 || i === this.known.seconds.length - 1);
    return h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'What it used, as a table' }, h('table', null, h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'until'), columns.map(one => h('th', { scope: 'col', class: 'n' }, one[1])))),
      h('tbody', null, rows.map(([s, i]) => h('tr', { key: i }, h('td', null, time(start + s * 1000)), columns.map(one => h('td', { class: 'n' }, one[3].format(one[2][i]))))))));
  }

  /* What was never used, for those whose job has run for a while. */
  advice(job) {
    const end = this.known.seconds.at(-1), spare = [];
    if (end < LONG_ENOUGH_S) return null;
    const cpus = Math.ceil(Math.max(...this.known.cpus)), memory = Math.ceil(Math.max(...this.known.memory_bytes) / GIB) * GIB;
    if (job.cpus > 1 && cpus < job.cpus * LITTLE) spare.push(`${job.cpus - cpus} CPUs`);
    if (job.memory_bytes && memory < job.memory_bytes * LITTLE) spare.push(bytes(job.memory_bytes - memory));
    return spare.length ? h('p', { class: 'foot sm' }, `${spare.join(' and ')} were never used. Asking for less lets jobs start sooner, yours too.`) : null;
  }

  draw(job) {
    const known = this.known;
    if (!known || known.seconds.length < LEAST_POINTS) return null;
    const cores = n => n >= 10 ? n.toFixed(0) : n.toFixed(1).replace(/\.0$/, ''), per = n => `${Math.round(n * 100)} %`;
    const columns = [['cpus', 'CPUs', known.cpus, { asked: job.cpus, format: cores }], ['memory', 'Memory', known.memory_bytes, { asked: job.memory_bytes || null, format: bytes, base: 1024 }]];
    if (known.gpus) columns.unshift(['gpu', 'GPU work', known.gpus_busy.map(one => one / known.gpus), { top: 1, format: per }], ['gpu-memory', 'GPU memory', known.gpu_memory_bytes, { format: bytes, base: 1024 }]);
    return h('section', { class: 'card', 'aria-label': 'Asked and used' }, h('header', null, h('h2', null, 'Asked and used'), h('span', { class: 'sub' }, `over ${duration(known.seconds.at(-1))}`), h('span', { class: 'grow' }), h('span', { class: 'plotkey sm' }, h('span', null, h('i', { class: 'dash' }), 'asked'), h('span', null, h('i', null), 'used')),
      h('button', { class: 'btn tiny quiet', 'aria-pressed': String(this.table), onclick: () => { this.table = !this.table; redraw(); } }, 'As a table')),
      this.table ? this.asTable(columns) : h('div', { class: 'samples pad' }, columns.map(([name, title, list, how]) => this.plot(name, title, list, how))), this.advice(job));
  }
}
