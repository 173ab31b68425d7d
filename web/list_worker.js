/* A long list is asked for and read here, beside the page, and handed over in pieces that are each quick to take. */
const PIECE = 2000;

onmessage = async ({ data: { number, path, key } }) => {
  try {
    const answer = await fetch(path, { headers: { 'X-Strata-Page': key }, cache: 'no-store', credentials: 'same-origin' }), document = await answer.json();
    if (!answer.ok) { postMessage({ number, status: answer.status, error: document.error }); return; }
    const { jobs, ...rest } = document;
    for (let at = 0; at < jobs.length; at += PIECE) postMessage({ number, jobs: jobs.slice(at, at + PIECE) });
    postMessage({ number, done: rest });
  } catch (trouble) { postMessage({ number, away: String(trouble) }); }
};
