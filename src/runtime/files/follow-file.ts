/**
 * followFile tells when a file holds another text than was read of it last.
 *
 * It compares texts and waits for no events: those do not come from every kind of volume, and a mounted ConfigMap changes by a link in
 * another folder. Since it is asked what was read, and does not begin with what the file holds when it is first looked at, no change is
 * missed, however late that is. A file that is replaced by a rename, whose folder comes later, or that is written in several steps is
 * a file with another text like any other.
 */
import { readFile, stat } from "node:fs/promises";

/** FollowTimes are in milliseconds. */
export interface FollowTimes {
  /** lookMs is how long it waits between two looks. */
  readonly lookMs: number;
  /** stillMs is how long a text must have stayed before it is told of: whoever writes it may not be done. */
  readonly stillMs: number;
  /**
   * settleMs is how long the times of a file must have stayed before they are relied on, and its text is not read again until they change.
   * Some file systems count them in steps of two seconds, within which a second write leaves them as they were.
   */
  readonly settleMs: number;
}

export interface FollowFileOptions {
  readonly file: string;
  /** isKnown reports whether this is the text that was read last; undefined stands for a file that cannot be read. */
  readonly isKnown: (text: string | undefined) => boolean;
  /** onChange is called when the text is not known. The file is looked at again once it has ended. It must not reject. */
  readonly onChange: () => Promise<void>;
  readonly times?: FollowTimes;
}

const usualTimes: FollowTimes = { lookMs: 500, stillMs: 250, settleMs: 3000 };

/** followFile begins at once, and keeps no process alive. Returns a function that ends it. */
export function followFile({ file, isKnown, onChange, times = usualTimes }: FollowFileOptions): () => void {
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  /** mark is what the file's times were at the last look, and `since` when they were first seen so. */
  let mark: string | undefined;
  let since = 0;
  /** isSettled is true once a text that was read after settleMs is known. */
  let isSettled = false;
  /** unknown is a text that is not known, and since when. */
  let unknown: { readonly text: string | undefined; readonly since: number } | undefined;

  /** look returns in how many milliseconds to look again. */
  async function look(): Promise<number> {
    const seen = await markOf(file);
    const now = performance.now();
    if (seen !== mark) [mark, since, isSettled] = [seen, now, false];
    if (isSettled) return times.lookMs;
    const text = await readFile(file, "utf8").catch(() => undefined);
    if (isKnown(text)) {
      unknown = undefined;
      isSettled = now - since >= times.settleMs;
      return times.lookMs;
    }
    if (unknown === undefined || unknown.text !== text) unknown = { text, since: now };
    if (now - unknown.since < times.stillMs) return times.stillMs;
    unknown = undefined;
    if (!isClosed) await onChange();
    return times.lookMs;
  }

  async function lookOn(): Promise<void> {
    const againMs = await look();
    if (!isClosed) timer = setTimeout(() => void lookOn(), againMs).unref();
  }

  void lookOn();
  return () => {
    isClosed = true;
    clearTimeout(timer);
  };
}

/** markOf returns what changes with a file's text: where it is, its size and its times; or why it cannot be looked at. */
async function markOf(file: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join();
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
}
