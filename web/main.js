/* The page begins: who is it, then what there is. */
import { onSignedOut, pageKey, setPageKey } from './api.js';
import { addPage, redraw, show, showOnly } from './app.js';
import { loadHappened, onData, refresh } from './data.js';
import * as keys from './keys.js';
import * as live from './live.js';
import { load } from './me.js';
import * as overlay from './overlay.js';
import { generatePage } from './page_generate.js';
import { jobPage } from './page_job.js';
import { jobsPage } from './page_jobs.js';
import { nowPage } from './page_now.js';
import { peoplePage } from './page_people.js';
import { placePage } from './page_place.js';
import { signInPage, takeLink } from './page_sign_in.js';
import { submitPage } from './page_submit.js';
import { timelinePage } from './page_timeline.js';
import { tracePage } from './page_trace.js';
import { whatIfPage } from './page_what_if.js';
import { youPage } from './page_you.js';
import * as shell from './shell.js';

const OVER = 'Your session has ended. Sign in again to go on.';
const CLOCK_MS = 5000; /* times that pass are drawn so often */

function enter() {
  document.body.classList.remove('outside');
  live.start();
  refresh();
  loadHappened().catch(() => {});
  onData(redraw);
  addEventListener('hashchange', show);
  show();
}
function leave(text) {
  live.end();
  removeEventListener('hashchange', show);
  signInPage.say(text);
  showOnly(signInPage);
}

async function begin() {
  for (const [name, page] of Object.entries({ now: nowPage, jobs: jobsPage, job: jobPage, timeline: timelinePage, generate: generatePage, submit: submitPage, whatif: whatIfPage, place: placePage, people: peoplePage, trace: tracePage, flow: tracePage, you: youPage })) addPage(name, page);
  setInterval(() => { if (!document.hidden) redraw(); }, CLOCK_MS);
  overlay.setUp();
  shell.setUp();
  keys.setUp();
  signInPage.whenDone = enter;
  onSignedOut(() => { setPageKey(null); leave(OVER); });
  const link = takeLink();
  if (link) { showOnly(signInPage); signInPage.enter(link); return; }
  if (!pageKey()) { showOnly(signInPage); return; }
  try { await load(); enter(); } catch (trouble) {
    if (pageKey()) leave(`${trouble.message}. Load the page again in a moment.`);
  }
}
begin();
