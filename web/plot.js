/*
 * Plots of lines: axes, a grid, areas and steps, drawn at the width that is there and again when
 * that changes. What a plot shows is said in words by its label, and each can be had as a table.
 */
import { redraw } from './app.js';
import { h } from './dom.js';

const widths = new Map();
const observer = new ResizeObserver(entries => {
  for (const { target, contentRect } of entries) {
    const width = Math.round(contentRect.width);
    if (width && widths.get(target.dataset.plot) !== width) { widths.set(target.dataset.plot, width); redraw(); }
  }
});
/* draw(width) → what is in the box. */
export const sized = (name, draw) => h('div', { class: 'plot', key: `plot-${name}`, 'data-plot': name, ref: element => observer.observe(element) }, draw(widths.get(name) ?? 360));

/* Round numbers from 0 to what is enough for `most`; `units` is what one step may be a multiple of. */
export function ticks(most, count = 4, base = 10) {
  if (!(most > 0)) return [0, 1];
  const power = base ** Math.floor(Math.log(most / count) / Math.log(base));
  const step = (base === 1024 ? [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024] : [1, 2, 2.5, 5, 10]).map(one => one * power).find(one => one * count >= most * 0.999) ?? power * base;
  const out = [];
  for (let at = 0; at < most + step * 0.999; at += step) out.push(at);
  return out;
}

const MARGIN = { left: 46, right: 8, top: 8, bottom: 20 };

/*
 * lines: [{ points: [[x, y]…], kind, area }]; x0 … x1 and y 0 … top; xs, ys: [[value, label]…]; marks: more elements, by
 * place(x, y).
 */
export function plot({ name, label, height = 120, x0, x1, top, xs, ys, lines, marks, across = [], left = MARGIN.left, scaleX = x => x }) {
  return sized(name, width => {
    const inner = Math.max(40, width - left - MARGIN.right), tall = height - MARGIN.top - MARGIN.bottom, from = scaleX(x0), span = scaleX(x1) - from || 1;
    const X = x => left + (scaleX(x) - from) / span * inner, Y = y => MARGIN.top + tall - Math.min(1.02, y / (top || 1)) * tall;
    const path = points => points.map(([x, y], i) => `${i ? 'L' : 'M'}${X(x).toFixed(1)} ${Y(y).toFixed(1)}`).join('');
    return h('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label },
      ys.map(([y, text]) => [h('path', { class: y ? 'grid' : 'axis', d: `M${left} ${Y(y).toFixed(1)}H${width - MARGIN.right}` }), h('text', { x: left - 6, y: Y(y) + 4, class: 'end' }, text)]),
      xs.map(([x, text]) => h('text', { x: X(x), y: height - 4, class: X(x) > width - 40 ? 'end' : X(x) < left + 20 ? null : 'mid' }, text)),
      lines.map(line => line.points.length ? [line.area ? h('path', { class: `area ${line.kind ?? ''}`, d: `${path(line.points)}L${X(line.points.at(-1)[0]).toFixed(1)} ${Y(0)}L${X(line.points[0][0]).toFixed(1)} ${Y(0)}Z` }) : null, h('path', { class: `line ${line.kind ?? ''}`, d: path(line.points) })] : null),
      across.map(([y, kind]) => h('path', { class: `across ${kind ?? ''}`, d: `M${left} ${Y(y).toFixed(1)}H${width - MARGIN.right}` })), marks?.(X, Y, { width, height }));
  });
}
