/*
 * A long list of which only what is in view is in the document. Rows have one height; they are
 * placed in a box that is as high as all of them, so that the bar at the side tells the truth and
 * nothing moves when rows come and go above.
 */
import { h } from './dom.js';

const MORE_ROWS = 12; /* above and below what is seen */

export class VirtualList {
  constructor(rowHeight, redraw) { this.rowHeight = rowHeight; this.redraw = redraw; this.first = 0; this.last = 60; this.box = null; this.onscroll = () => this.look(); }

  open() { addEventListener('scroll', this.onscroll, { passive: true }); addEventListener('resize', this.onscroll); }
  close() { removeEventListener('scroll', this.onscroll); removeEventListener('resize', this.onscroll); this.box = null; }

  look() {
    if (!this.box) return;
    const top = -this.box.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(top / this.rowHeight) - MORE_ROWS), last = Math.ceil((top + innerHeight) / this.rowHeight) + MORE_ROWS;
    /* half of what is held ready may be used up before rows are changed */
    if (Math.abs(first - this.first) >= MORE_ROWS / 2 || Math.abs(last - this.last) >= MORE_ROWS / 2) { this.first = first; this.last = last; this.redraw(); }
  }

  draw(items, row, props = {}) {
    const first = Math.max(0, Math.min(this.first, Math.max(0, items.length - 1))), last = Math.min(items.length, Math.max(this.last, first + 1));
    return h('div', { ...props, vars: { height: `${items.length * this.rowHeight}px` }, ref: element => { this.box = element; } },
      items.slice(first, last).map((item, i) => row(item, first + i, { transform: `translateY(${(first + i) * this.rowHeight}px)` })));
  }

  /* Brings a row into view. */
  reveal(index) {
    if (!this.box) return;
    const top = this.box.getBoundingClientRect().top + index * this.rowHeight, below = top + 2 * this.rowHeight + 60 - innerHeight, above = top - 110;
    if (above < 0) scrollBy(0, above); else if (below > 0) scrollBy(0, below);
  }
}
