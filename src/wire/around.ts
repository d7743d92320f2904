/**
 * What stands around the text in frames of a stream that differ from one another in that text alone: by it such frames are
 * known without being parsed, and written without being put together anew.
 */

/** What stands around a text, its quotes included, in JSON or in the frame of it. All that are alike share one. */
export interface Around {
  readonly before: Buffer;
  readonly after: Buffer;
}

/** A text as it stands in a frame: its bytes stand for themselves, and none of them is escaped. */
export interface PlainText {
  readonly around: Around;
  readonly bytes: Buffer;
}

/** Returns what stands around a member's text; undefined where it is not found as it is mostly written, or at several places. */
export function aroundText(key: string, text: string, from: Buffer): Around | undefined {
  const name = from.includes(`"${key}": `) ? `"${key}": ` : `"${key}":`;
  const member = Buffer.from(name + JSON.stringify(text));
  const at = from.indexOf(member);
  if (at === -1 || from.includes(member, at + 1)) return undefined;
  // Copies, for a piece of what was read would keep all of it.
  const before = Buffer.from(from.subarray(0, at + name.length + 1));
  return { before, after: Buffer.from(from.subarray(at + member.length - 1)) };
}
