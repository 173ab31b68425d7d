/* A small line from zero, for the last day. What it shows is said in words beside it. */
import { h } from './dom.js';

const WIDTH = 200, HEIGHT = 30;

export function spark(values, top, kind = '') {
  const most = Math.max(top ?? 0, ...values.filter(value => value != null)) || 1, step = WIDTH / (values.length - 1);
  const points = values.map((value, i) => [i * step, HEIGHT - (value ?? 0) / most * (HEIGHT - 2)]).map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`);
  return h('svg', { class: `spark ${kind}`, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' }, h('path', { class: 'area', d: `M0 ${HEIGHT}L${points.join('L')}L${WIDTH} ${HEIGHT}Z` }), h('path', { class: 'line', d: `M${points.join('L')}`, 'vector-effect': 'non-scaling-stroke' }));
}
