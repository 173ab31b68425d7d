/*
 * A trace (the JSON that ui.perfetto.dev reads) as slices on lanes: what began and ended on a thread,
 * each below what it happened in.
 */
const SLICES_MAX = 50_000;

export function lanesOf(trace) {
  const names = new Map(), open = new Map(), slices = [], events = (Array.isArray(trace) ? trace : trace.traceEvents ?? []).slice(0, 4 * SLICES_MAX);
  const key = event => `${event.pid}/${event.tid}`;
  for (const event of events) {
    if (event.ph === 'M' && event.name === 'thread_name') names.set(key(event), String(event.args?.name ?? ''));
    if (event.ph === 'M' && event.name === 'process_name') names.set(String(event.pid), String(event.args?.name ?? ''));
    if (slices.length >= SLICES_MAX) continue;
    if (event.ph === 'X') slices.push({ lane: key(event), name: String(event.name), from: Number(event.ts), to: Number(event.ts) + Number(event.dur ?? 0), args: event.args });
    if (event.ph === 'B') { if (!open.has(key(event))) open.set(key(event), []); open.get(key(event)).push(event); }
    if (event.ph === 'E') { const begun = open.get(key(event))?.pop(); if (begun) slices.push({ lane: key(event), name: String(begun.name), from: Number(begun.ts), to: Number(event.ts), args: { ...begun.args, ...event.args } }); }
  }
  const lanes = new Map();
  for (const slice of slices.filter(one => Number.isFinite(one.from) && Number.isFinite(one.to)).sort((a, b) => a.from - b.from || b.to - a.to)) {
    if (!lanes.has(slice.lane)) lanes.set(slice.lane, { name: [names.get(slice.lane.split('/')[0]), names.get(slice.lane)].filter(Boolean).join(' · ') || slice.lane, slices: [], depth: 0, ends: [] });
    const lane = lanes.get(slice.lane);
    while (lane.ends.length && lane.ends.at(-1) <= slice.from) lane.ends.pop();
    slice.depth = lane.ends.length;
    lane.ends.push(slice.to);
    lane.depth = Math.max(lane.depth, slice.depth + 1);
    lane.slices.push(slice);
  }
  return [...lanes.values()];
}
