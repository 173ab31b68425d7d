/*
 * A job from its submission to its end as a trace (the JSON that ui.perfetto.dev reads): what state it was in, its steps,
 * and what each checkpoint kept. States of earlier attempts come from the events, as far back as those are asked for.
 */
const STATES = { 'job.submitted': 'waited', 'job.scheduled': 'starting', 'job.started': 'ran', 'job.requeued': 'waited', 'job.start_failed': 'waited', 'job.ended': null };
const LANES = [['states', 1], ['steps', 2], ['checkpoints', 3]];
const us = time => typeof time === 'number' ? time * 1000 : Date.parse(time) * 1000;

/* Where one state ends and the next begins, in their order; what is said twice counts once. */
function turns(job, events) {
  const own = events.filter(one => one.job === job.id && one.kind in STATES), list = [{ at: us(job.submitted_at), state: 'waited', mark: 'submitted', args: { user: job.user } }];
  for (const one of own) list.push({ at: us(one.at), state: STATES[one.kind], mark: one.kind.slice(4).replace('_', ' '), args: one.about ?? {} });
  /* the event of the same start is a moment later, behind that of the place it got */
  if (job.started_at && !own.some(one => one.kind === 'job.started' && us(one.at) >= us(job.started_at))) list.push({ at: us(job.started_at), state: 'ran', mark: 'started', args: { nodes: (job.node_names ?? []).join(', '), attempt: job.attempt } });
  list.sort((a, b) => a.at - b.at);
  const out = list.filter((one, i) => one.state !== null && (i === 0 || one.state !== list[i - 1].state));
  if (!job.ended_at) return { turns: out, end: null };
  /* the job's own times are whole seconds, those of events are not */
  const second = us(job.ended_at), kept = out.filter(one => one.at < second + 1e6);
  const ended = own.filter(one => one.kind === 'job.ended').map(one => us(one.at)).filter(at => at >= second && at < second + 1e6);
  return { turns: kept, end: Math.max(second, ...ended, ...kept.map(one => one.at)) };
}

export function flowOf(job, checkpoints, steps, events, nowMs) {
  const { turns: states, end } = turns(job, events), last = end ?? us(nowMs), out = [{ ph: 'M', pid: 1, name: 'process_name', args: { name: `job ${job.id}` } }];
  const slice = (tid, name, from, to, args) => out.push({ ph: 'X', pid: 1, tid, name, ts: from, dur: Math.max(0, to - from), args });
  const mark = (name, at, args) => out.push({ ph: 'i', s: 'p', pid: 1, tid: 1, name, ts: at, args });
  for (const [name, tid] of LANES) out.push({ ph: 'M', pid: 1, tid, name: 'thread_name', args: { name } });
  states.forEach((one, i) => { slice(1, one.state, one.at, states[i + 1]?.at ?? last, one.args); mark(one.mark, one.at, one.args); });
  if (end != null) mark(`ended: ${job.state}`, end, { exit_code: job.exit_code, exit_signal: job.exit_signal, reason: job.reason });
  for (const step of steps) if (step.started_at) slice(2, `step ${step.number}${step.name ? ` ${step.name}` : ''}`, us(step.started_at), step.ended_at ? us(step.ended_at) : last, { state: step.state, tasks: step.tasks, exit_code: step.exit_code });
  let from = us(job.started_at ?? job.submitted_at);
  for (const one of [...checkpoints].sort((a, b) => us(a.time) - us(b.time))) {
    slice(3, one.step != null ? `up to the checkpoint of step ${one.step}` : 'up to a checkpoint', Math.min(from, us(one.time)), us(one.time), { path: one.path, size_bytes: one.size_bytes });
    mark('checkpoint', us(one.time), { step: one.step });
    from = us(one.time);
  }
  return { displayTimeUnit: 'ms', traceEvents: out };
}
