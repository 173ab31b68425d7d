/*
 * Which bars a timeline has: each job where it ran, runs or is expected, as lanes of its node from
 * one time to another. Pure: jobs and nodes in, bars out. A lane is a GPU; nodes without any have
 * lanes that jobs share out among themselves. Where a planned job will be within its node is not
 * known before it starts: it is drawn in the first lanes that are free then.
 */
const PLAIN_LANES = 4; /* of a node without GPUs */

export const lanesOf = node => node.gpus || PLAIN_LANES;
/* Lanes that follow each other are one bar: [[first, count] …]. */
function groups(lanes) {
  const out = [];
  for (const lane of [...lanes].sort((a, b) => a - b)) { const last = out.at(-1); if (last && lane === last[0] + last[1]) last[1]++; else out.push([lane, 1]); }
  return out;
}

class Room {
  constructor(node) { this.taken = Array.from({ length: lanesOf(node) }, () => []); }
  free(lane, from, to) { return this.taken[lane].every(one => one[1] <= from || one[0] >= to); }
  take(lane, from, to) { this.taken[lane]?.push([from, to]); }
  /* The first lanes that are free; too few: the first ones, which then lie over others. */
  find(count, from, to) {
    const found = this.taken.map((_, lane) => lane).filter(lane => this.free(lane, from, to)).slice(0, count);
    return found.length === count ? found : this.taken.map((_, lane) => lane).slice(0, count);
  }
}

/* { node, lane, count, from, to, until, kind, job }: `until` is how far it is expected to go on; kinds: past, running, planned. */
export function bars(nodes, jobs, now) {
  const rooms = new Map(nodes.map(node => [node.name, new Room(node)])), byName = new Map(nodes.map(node => [node.name, node])), out = [];
  const put = (job, name, lanes, from, to, until, kind) => {
    const room = rooms.get(name);
    for (const lane of lanes) room.take(lane, from, until);
    for (const [lane, count] of groups(lanes)) out.push({ node: name, lane, count, from, to, until, kind, job });
  };
  const times = job => { const from = Date.parse(job.started_at), to = job.ended_at ? Date.parse(job.ended_at) : now, until = job.ended_at ? to : Math.max(to, job.expected_end_at ? Date.parse(job.expected_end_at) : to); return [from, to, until]; };
  const placed = jobs.filter(job => job.started_at && job.node_names?.length).sort((a, b) => a.started_at.localeCompare(b.started_at));
  for (const job of placed) for (const name of job.node_names) {
    const node = byName.get(name), ids = job.gpu_ids?.[name] ?? [];
    if (!node || (node.gpus && !ids.length)) continue; /* a job without GPUs takes none of the lanes */
    const [from, to, until] = times(job);
    put(job, name, node.gpus ? ids.filter(id => id < node.gpus) : rooms.get(name).find(1, from, until), from, to, until, job.ended_at ? 'past' : 'running');
  }
  for (const job of jobs.filter(one => !one.started_at && one.expected_start_at && one.expected_node).sort((a, b) => a.expected_start_at.localeCompare(b.expected_start_at))) {
    const node = byName.get(job.expected_node), from = Math.max(now, Date.parse(job.expected_start_at)), until = from + 1000 * (job.time_limit_s ?? 3600);
    if (!node || (node.gpus && !job.gpus && !job.gpu_share)) continue;
    put(job, job.expected_node, rooms.get(job.expected_node).find(node.gpus ? Math.max(1, Math.min(node.gpus, job.gpus || 1)) : 1, from, until), from, from, until, 'planned');
  }
  return out;
}

/* Times for the axis: [{ at, text, day }], about one for each `least` pixels. */
export function ticks(from, to, width, least = 90) {
  const steps = [5, 10, 15, 30, 60, 120, 180, 360, 720, 1440].map(minutes => minutes * 60_000), step = steps.find(one => one / (to - from) * width >= least) ?? steps.at(-1), out = [];
  const zone = new Date(from).getTimezoneOffset() * 60_000;
  for (let at = Math.ceil((from - zone) / step) * step + zone; at <= to; at += step) {
    const then = new Date(at), midnight = then.getHours() === 0 && then.getMinutes() === 0;
    out.push({ at, day: midnight, text: midnight ? then.toLocaleDateString(undefined, { weekday: 'short', day: 'numeric' }) : `${String(then.getHours()).padStart(2, '0')}:${String(then.getMinutes()).padStart(2, '0')}` });
  }
  return out;
}
