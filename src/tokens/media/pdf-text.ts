/** Measures the text that a page's content shows: the operands of its strings, in bytes. */

const [open, close, backslash] = [0x28, 0x29, 0x5c] as const;
const [less, more, percent] = [0x3c, 0x3e, 0x25] as const;
const [newLine, carriageReturn] = [0x0a, 0x0d] as const;
/** Strings are shown by the operators Tj, TJ, ' and ". */
const shows = /[)>\]]\s*(?:T[jJ]|['"])/;

/** shownBytes returns at most how many bytes of text the content shows. Content that shows no text counts 0. */
export function shownBytes(content: Buffer): number {
  if (!shows.test(content.toString("latin1"))) return 0;
  let bytes = 0;
  for (let at = 0; at < content.length; at++) {
    const end = endOfString(content, at);
    if (end === undefined) continue;
    // Two digits are a byte.
    bytes += content[at] === less ? Math.ceil((end - at) / 2) : end - at;
    at = end;
  }
  return bytes;
}

/** endOfString returns the last byte of the string or comment that begins there; undefined where none does. A comment counts, too. */
function endOfString(content: Buffer, at: number): number | undefined {
  switch (content[at]) {
    case open:
      return endOfLiteral(content, at);
    case less:
      // Two of them begin a dictionary, whose strings may be shown in place of a glyph's own text.
      return content[at + 1] === less ? undefined : endOf(content, more, at);
    case percent:
      return endOfLine(content, at);
    default:
      return undefined;
  }
}

function endOf(content: Buffer, mark: number, at: number): number {
  const end = content.indexOf(mark, at);
  return end === -1 ? content.length : end;
}

function endOfLine(content: Buffer, from: number): number {
  let at = from;
  while (at < content.length && content[at] !== newLine && content[at] !== carriageReturn) at++;
  return at;
}

/** Parentheses within a string are balanced, or escaped. */
function endOfLiteral(content: Buffer, from: number): number {
  let depth = 0;
  for (let at = from; at < content.length; at++) {
    const byte = content[at];
    if (byte === backslash) at++;
    else if (byte === open) depth++;
    else if (byte === close && --depth === 0) return at;
  }
  return content.length;
}
