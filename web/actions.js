/* What can be done to a job. What cannot be undone asks first and says what is lost. */
import { ask } from './api.js';
import { duration, gpus } from './format.js';
import { confirm, failed, toast } from './overlay.js';
import { nameOfJob, ranFor } from './state.js';

const change = async (job, body) => { await ask('PATCH', `/jobs/${job.id}`, body); };

export async function cancelJob(job, checkpoint) {
  const lost = job.state === 'running' ? `It has run for ${duration(ranFor(job))} on ${gpus(job.gpus)}. ${checkpoint ? 'Its last checkpoint stays.' : 'What it has not written is lost.'}` : 'It has not started; it loses its place in the queue.';
  if (!await confirm({ title: `Cancel ${nameOfJob(job)}?`, text: lost, keep: 'Keep it', act: 'Cancel the job' })) return;
  try { const answer = await ask('DELETE', `/jobs/${job.id}`); toast(answer.stopping ? `Job ${job.id} is being stopped.` : `Job ${job.id} is cancelled.`); } catch (trouble) { failed(trouble); }
}
export async function holdJob(job, hold) {
  try { await change(job, { hold }); toast(hold ? `Job ${job.id} is held.` : `Job ${job.id} may start.`, () => holdJob(job, !hold)); } catch (trouble) { failed(trouble); }
}
export async function requeueJob(job) {
  if (!await confirm({ title: `Send ${nameOfJob(job)} back to the queue?`, text: `It is stopped after ${duration(ranFor(job))} and starts again when it is its turn; from its last checkpoint, if it wrote one.`, keep: 'Let it run', act: 'Send it back' })) return;
  try { await change(job, { requeue: true }); toast(`Job ${job.id} goes back to the queue.`); } catch (trouble) { failed(trouble); }
}
