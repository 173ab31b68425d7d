/*
 * What a terminal would show of a line, as pieces with classes. Colours and bold (SGR) are honoured;
 * every other escape is dropped, so that a log can neither move, hide nor forge what is around it. A
 * carriage return begins the line anew, as progress bars do.
 */
const ESCAPE = /\x1b(?:\[([0-9;:]*)([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_]|[ -/]+[0-~])/g;
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/* How the pen is after these numbers. `pen` = { bold, dim, colour }. */
function sgr(pen, text) {
  const numbers = text === '' ? [0] : text.split(/[;:]/).map(Number);
  let next = { ...pen };
  for (let i = 0; i < numbers.length; i++) {
    const n = numbers[i];
    if (n === 0) next = {};
    else if (n === 1) next.bold = true;
    else if (n === 2) next.dim = true;
    else if (n === 22) { next.bold = false; next.dim = false; }
    else if (n >= 30 && n <= 37) next.colour = n;
    else if (n >= 90 && n <= 97) next.colour = n - 60;
    else if (n === 39) next.colour = 0;
    else if (n === 38 || n === 48) i += numbers[i + 1] === 5 ? 2 : numbers[i + 1] === 2 ? 4 : 0; /* of 256 or more colours: the ink's */
  }
  return next;
}
const classOf = pen => [pen.bold ? 'a1' : '', pen.dim ? 'a2' : '', pen.colour > 30 && pen.colour < 37 ? `a${pen.colour}` : ''].filter(Boolean).join(' ');

/* { pieces: [{ text, class }], pen }: the line, and how the pen is behind it. */
export function readLine(line, pen = {}) {
  const begin = line.lastIndexOf('\r', line.endsWith('\r') ? line.length - 2 : line.length);
  let pieces = [], at = 0, now = pen;
  const add = (text, from) => { const clean = text.replace(CONTROL, ''); if (clean && from > begin) pieces.push({ text: clean.replace(/\r/g, ''), class: classOf(now) }); };
  const plain = (from, to) => { /* what stands before the last return is written over */
    const start = Math.max(from, begin + 1);
    if (start < to) add(line.slice(start, to), start);
  };
  for (const found of line.matchAll(ESCAPE)) {
    plain(at, found.index);
    if (found[2] === 'm') now = sgr(now, found[1] ?? '');
    at = found.index + found[0].length;
  }
  plain(at, line.length);
  pieces = pieces.filter(piece => piece.text);
  return { pieces, pen: now };
}
