/**
 * DeltaTemplate is the JSON or the frame around a text that alone changes from chunk to chunk of a stream. Chunks
 * that match a template need no parsing, and are written without serialising.
 */

/** The bytes before and after the text, its quotes included. All chunks of a run share one template. */
export interface DeltaTemplate {
  readonly before: Buffer;
  readonly after: Buffer;
}

/** PlainText is a string as it stands in a chunk, without any escape. */
export interface PlainText {
  readonly template: DeltaTemplate;
  readonly bytes: Buffer;
}

/**
 * findTemplate returns the template around a member's text; undefined where the member is not found in the usual spelling, or more than
 * once.
 */
export function findTemplate(key: string, text: string, from: Buffer): DeltaTemplate | undefined {
  const name = from.includes(`"${key}": `) ? `"${key}": ` : `"${key}":`;
  const member = Buffer.from(name + JSON.stringify(text));
  const at = from.indexOf(member);
  if (at === -1 || from.includes(member, at + 1)) return undefined;
  const to = at + name.length + 1;
  const end = at + member.length - 1;
  // A copy of its own lasts as long as the stream. A slice would keep the chunk's memory, or Node's shared pool,
  // alive.
  const own = Buffer.allocUnsafeSlow(to + from.length - end);
  own.set(from.subarray(0, to));
  own.set(from.subarray(end), to);
  return { before: own.subarray(0, to), after: own.subarray(to) };
}
