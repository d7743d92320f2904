/**
 * What stands around the text in frames of a stream that differ from one another in that text alone: by it such frames are
 * known without being parsed, and written without being put together anew.
 */

/** What stands around a text, its quotes included, in JSON or in the frame of it. All that are alike share one. */
export interface DeltaTemplate {
  readonly before: Buffer;
  readonly after: Buffer;
}

/** A text as it stands in a frame: its bytes stand for themselves, and none of them is escaped. */
export interface PlainText {
  readonly template: DeltaTemplate;
  readonly bytes: Buffer;
}

/** Returns what stands around a member's text; undefined where it is not found as it is mostly written, or at several places. */
export function findTemplate(key: string, text: string, from: Buffer): DeltaTemplate | undefined {
  const name = from.includes(`"${key}": `) ? `"${key}": ` : `"${key}":`;
  const member = Buffer.from(name + JSON.stringify(text));
  const at = from.indexOf(member);
  if (at === -1 || from.includes(member, at + 1)) return undefined;
  const to = at + name.length + 1;
  const end = at + member.length - 1;
  // In memory of their own, for as long as the stream lasts: what they stand in now, and what Node keeps for short pieces, is
  // many others', and would all be kept.
  const own = Buffer.allocUnsafeSlow(to + from.length - end);
  own.set(from.subarray(0, to));
  own.set(from.subarray(end), to);
  return { before: own.subarray(0, to), after: own.subarray(to) };
}
