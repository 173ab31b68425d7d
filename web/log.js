/*
 * A job's output, followed. The stream is cut into lines as it comes and drawn once a frame; the
 * document has the last few thousand lines. Following goes on while the end is in view and stops
 * when somebody scrolls up to read.
 */
import { ApiError, AwayError, follow } from './api.js';
import { readLine } from './ansi.js';

const LINES_MAX = 5000, TAIL_BYTES = 1 << 20, LINE_BYTES_MAX = 16_384, RETRY_MS = 1500;

export class Log {
  /* `place` is an element of our own; `told` hears of changes: lines, trouble, following. */
  constructor(told) { this.told = told; this.place = null; this.lines = []; this.rest = ''; this.pen = {}; this.number = 0; this.dropped = false; this.search = ''; this.found = 0; this.follow = true; this.trouble = null; this.over = false; this.frame = 0; this.pending = []; }

  attach(element) {
    if (this.place === element) return;
    this.place = element;
    element.onscroll = () => {
      const atEnd = element.scrollHeight - element.scrollTop - element.clientHeight < 24;
      if (this.follow !== atEnd && !this.moving) { this.follow = atEnd; this.told(); }
      this.moving = false;
    };
    for (const line of this.lines) element.append(line.element);
    this.toEnd();
  }
  open(id) { this.id = id; this.stop = new AbortController(); this.run(); }
  close() { this.stop?.abort(); cancelAnimationFrame(this.frame); clearTimeout(this.again); this.place = null; }

  async run() {
    try {
      await follow(`/jobs/${this.id}/output?follow=1&tail=${TAIL_BYTES}`, text => this.add(text), { signal: this.stop.signal });
      this.over = true;
      if (this.rest) { this.pending.push(this.rest); this.rest = ''; this.plan(); }
    } catch (trouble) {
      if (trouble instanceof ApiError) this.trouble = trouble.message;
      else if (trouble instanceof AwayError) { this.clear(); this.again = setTimeout(() => this.run(), RETRY_MS); } else return;
    }
    this.told();
  }
  /* From the beginning: where a stream broke is not known to the byte. */
  clear() { this.lines = []; this.pending = []; this.rest = ''; this.pen = {}; this.number = 0; this.place?.replaceChildren(); }

  add(text) {
    const parts = (this.rest + text).split('\n');
    this.rest = parts.pop();
    if (this.rest.length > LINE_BYTES_MAX) { parts.push(this.rest); this.rest = ''; }
    this.pending.push(...parts);
    if (this.pending.length > LINES_MAX) { const gone = this.pending.length - LINES_MAX; this.pending.splice(0, gone); this.number += gone; this.dropped = true; }
    this.plan();
  }
  plan() { if (!this.frame) this.frame = requestAnimationFrame(() => { this.frame = 0; this.draw(); }); }

  make(text) {
    const element = document.createElement('div'), number = document.createElement('i'), body = document.createElement('span');
    const { pieces, pen } = readLine(text, this.pen);
    this.pen = pen;
    number.textContent = String(++this.number);
    number.setAttribute('aria-hidden', 'true');
    for (const piece of pieces) {
      if (!piece.class) { body.append(piece.text); continue; }
      const span = document.createElement('span');
      span.className = piece.class;
      span.textContent = piece.text;
      body.append(span);
    }
    element.append(number, body);
    return { element, text: body.textContent.toLowerCase() };
  }
  draw() {
    const fresh = this.pending.map(text => this.make(text));
    this.pending = [];
    for (const line of fresh) { line.element.hidden = Boolean(this.search) && !line.text.includes(this.search); this.found += !line.element.hidden; }
    this.lines.push(...fresh);
    this.place?.append(...fresh.map(line => line.element));
    const over = this.lines.length - LINES_MAX;
    if (over > 0) { for (const line of this.lines.splice(0, over)) line.element.remove(); this.dropped = true; }
    this.toEnd();
    this.told();
  }
  toEnd() { if (this.place && this.follow) { this.moving = true; this.place.scrollTop = this.place.scrollHeight; } }
  setFollow(on) { this.follow = on; this.toEnd(); this.told(); }
  /* Shows the lines with this text only. */
  find(text) {
    this.search = text.toLowerCase();
    let found = 0;
    for (const line of this.lines) { line.element.hidden = Boolean(this.search) && !line.text.includes(this.search); found += !line.element.hidden; }
    this.found = found;
    this.toEnd();
    this.told();
  }
}
