/* A command line as words, as a shell would cut it: quotes and backslashes, nothing else. And back. */
export function cutWords(text) {
  const words = [];
  let word = null, quote = '';
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quote === "'") { if (c === "'") quote = ''; else word += c; } else if (c === '\\' && i + 1 < text.length) { const next = text[++i]; word = (word ?? '') + (quote && !'"\\$`'.includes(next) ? `\\${next}` : next); } else if (quote) { if (c === '"') quote = ''; else word += c; } else if (c === '"' || c === "'") { quote = c; word = word ?? ''; } else if (/\s/.test(c)) { if (word != null) words.push(word); word = null; } else word = (word ?? '') + c;
  }
  if (quote) throw new Error(`the command has a ${quote} without its end`);
  if (word != null) words.push(word);
  return words;
}
export const quoteWord = word => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
export const joinWords = words => words.map(quoteWord).join(' ');
