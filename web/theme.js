/* Light or dark, before anything is drawn: as it was chosen, else as the system has it. */
'use strict';
{
  let chosen = null;
  try { chosen = localStorage.getItem('strata.theme'); } catch { /* a browser that keeps nothing */ }
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.dataset.theme = chosen === 'dark' || chosen === 'light' ? chosen : dark ? 'dark' : 'light';
}
