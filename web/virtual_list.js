/*
 * A long list of which only what is in view is in the document. Rows have one height; they are
 * placed in a box that is as high as all of them, so that the bar at the side tells the truth and
 * nothing moves when rows come and go above. A row that leaves at one end comes in again at the
 * other, with other words: while one scrolls, hardly an element is made and none is moved. When it
 * rests they are put in their order again, for those who read by it.
 */
import { h } from './dom.js';

const MORE_ROWS = 12; /* above and below what is seen */
const REST_MS = 700;  /* without scrolling, after which rows stand in the document in their order: longer than a slow frame, since that moves all of them */

export class VirtualList {
  constructor(rowHeight, redraw) { this.rowHeight = rowHeight; this.redraw = redraw; this.first = 0; this.last = 60; this.box = null; this.onscroll = () => this.scrolled(); this.moving = false; this.kept = new Map(); }

  open() { addEventListener('scroll', this.onscroll, { passive: true }); addEventListener('resize', this.onscroll); }
  close() { removeEventListener('scroll', this.onscroll); removeEventListener('resize', this.onscroll); clearTimeout(this.rest); this.box = null; }

  /* After drawing: where things are is asked for only when there are more or fewer of them, since asking just behind a change is dear. */
  settle(count) { if (count !== this.count) { this.count = count; this.look(); } }

  scrolled() {
    this.moving = true;
    clearTimeout(this.rest);
    this.rest = setTimeout(() => { this.moving = false; this.redraw(); }, REST_MS);
    this.look();
  }
  look() {
    if (!this.box) return;
    const top = -this.box.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(top / this.rowHeight) - MORE_ROWS), last = Math.ceil((top + innerHeight) / this.rowHeight) + MORE_ROWS;
    /* half of what is held ready may be used up before rows are changed */
    if (Math.abs(first - this.first) >= MORE_ROWS / 2 || Math.abs(last - this.last) >= MORE_ROWS / 2) { this.first = first; this.last = last; this.redraw(); }
  }

  /* Rows are kept as long as `stamp` is the same: while one scrolls only those that come into view are made. */
  draw(items, row, props = {}, stamp = null) {
    const first = Math.max(0, Math.min(this.first, Math.max(0, items.length - 1))), last = Math.min(items.length, Math.max(this.last, first + 1));
    const slots = Math.max(this.slots ?? 0, last - first);
    if (stamp == null || stamp !== this.stamp || slots !== this.slots) this.kept = new Map();
    this.stamp = stamp;
    this.slots = slots;
    for (const i of this.kept.keys()) if (i < first || i >= last) this.kept.delete(i);
    return h('div', { ...props, vars: { height: `${items.length * this.rowHeight}px` }, ref: element => { this.box = element; } },
      this.order(Array.from({ length: last - first }, (_, i) => first + i), slots).map(i => this.rowAt(items, i, row, slots)));
  }

  rowAt(items, i, row, slots) {
    let node = this.kept.get(i);
    if (!node) { node = row(items[i], i, { key: `slot-${i % slots}`, vars: { transform: `translateY(${i * this.rowHeight}px)` } }); this.kept.set(i, node); }
    return node;
  }

  order(numbers, slots) { return this.moving ? numbers.sort((a, b) => a % slots - b % slots) : numbers; }

  /* Brings a row into view. */
  reveal(index) {
    if (!this.box) return;
    const top = this.box.getBoundingClientRect().top + index * this.rowHeight, below = top + 2 * this.rowHeight + 60 - innerHeight, above = top - 110;
    if (above < 0) scrollBy(0, above); else if (below > 0) scrollBy(0, below);
  }
}
