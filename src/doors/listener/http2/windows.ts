/**
 * How much the clients of HTTP/2 may send before the gateway has read it: the windows of a session and of its streams.
 *
 * A window bounds an upload to its size in each round trip: with the 64 kB that HTTP/2 begins with, 8 MB take six seconds over 50 ms. But
 * what a stream's window lets come is in memory before anybody has read or counted it, and a session has hundreds of streams. So windows
 * follow what a session has open: they widen when a stream has more to send than one of the narrow, to `openBytes` in all, and narrow
 * when further streams open. A client need not obey before it has acknowledged, and some never do: so what narrow windows would not have let
 * come, and nobody has read, is looked at as it comes. Beyond `narrowAt` all wide sessions are narrowed; beyond `cutAt` the one with most is cut.
 * Bytes that narrow windows would have let come are no excess: every session may have as many unread.
 */
import { constants, type Http2Stream, type ServerHttp2Session } from "node:http2";

/** narrow is the window that a stream and a session begin with in HTTP/2, in bytes (RFC 9113, section 6.9.2). */
const narrow = 65_535;
/** widest is the widest window of a stream, in bytes. */
const widest = 2 ** 20;
/** How many bytes the open streams of a session may send unread in all, where each may send more than `narrow`. */
const openBytes = 8 * widest;
/**
 * The widest window of a session, in bytes, and what the windows of all wide ones have together, where these are not narrow: so much may come
 * in one turn.
 */
export const widestSession = 4 * widest;
const sessionsBytes = 16 * widest;
/** How many bytes come between two looks at what is unread. */
const lookBytes = 2 * widest;
/** The excess of all sessions that were ever wide, in bytes, beyond which these are narrowed, and one of them is cut. */
const narrowAt = 8 * widest;
const cutAt = 32 * widest;
/**
 * The bytes that are expected of streams that end in the midst of their uploads, as refused ones do: a budget of each session, that refills by
 * so many a second. A session is narrow while it has less left than its client may have under way.
 */
const lateBytes = 3 * widestSession;
const lateBytesPerSecond = 2 ** 18;
/** How long a session keeps a width before it may have a wider one, in milliseconds. */
const keptMs = 1_000;

export interface SessionWindows {
  /** Reports a stream that opens. Returns what has to be called with the number of bytes of its body, as they come. */
  opened(stream: Http2Stream): (bytes: number) => void;
  /** Reports a stream that has closed. */
  closed(stream: Http2Stream): void;
  /** Reports a stream that is reset before its body has come. Returns how many bytes more of it its client may have sent. */
  late(): number;
}

export interface Http2Windows {
  /** Follows a session until it closes. `onSettings` is called when a frame of settings is sent to its client. */
  watch(session: ServerHttp2Session, onSettings: () => void): SessionWindows;
}

export function createHttp2Windows(): Http2Windows {
  const wide = new WideSessions();
  return {
    watch(session, onSettings) {
      const windows = new Windows(session, wide, onSettings);
      session.on("localSettings", () => windows.acknowledged());
      session.once("close", () => wide.sessions.delete(windows));
      return windows;
    },
  };
}

/** WideSessions bounds what the sessions that are or were wide send in a turn, and their excess. */
class WideSessions {
  readonly sessions = new Set<Windows>();
  /** The bytes that have come since the last look, and what was in excess then. */
  #unseen = 0;
  #excess = 0;

  /** Reports whether sessions may be wide. What was read since the last look counts no more. */
  isLow(): boolean {
    if (this.#excess > narrowAt) this.#look();
    return this.#excess <= narrowAt;
  }

  /** Shares what may come in a turn among the sessions that have streams, when one of them widens. */
  share(): void {
    let count = 0;
    for (const session of this.sessions) if (session.isInUse) count++;
    const width = Math.max(narrow, Math.min(widestSession, powerOfTwo(sessionsBytes / count)));
    for (const session of this.sessions) session.setSession(session.isInUse ? width : narrow);
  }

  came(bytes: number): void {
    this.#unseen += bytes;
    if (this.#unseen < lookBytes) return;
    this.#unseen = 0;
    this.#look();
  }

  #look(): void {
    let most: Windows | undefined;
    let ofMost = 0;
    this.#excess = 0;
    for (const session of this.sessions) {
      const { excess } = session;
      this.#excess += excess;
      if (excess < ofMost) continue;
      most = session;
      ofMost = excess;
    }
    if (this.#excess > narrowAt) for (const session of this.sessions) session.narrow();
    if (this.#excess > cutAt) most?.cut();
  }
}

class Windows implements SessionWindows {
  readonly #session: ServerHttp2Session;
  readonly #wide: WideSessions;
  readonly #onSettings: () => void;
  readonly #streams = new Set<Http2Stream>();
  /** The window of each stream, and that which the client was told last. */
  #width = narrow;
  #told = narrow;
  #sessionWidth = narrow;
  /** #late is how much of the budget `lateBytes` was left at `#lateAt`, by `performance.now()`. */
  #late = lateBytes;
  #lateAt = performance.now();
  #widenedAt = Number.NEGATIVE_INFINITY;

  constructor(session: ServerHttp2Session, wide: WideSessions, onSettings: () => void) {
    this.#session = session;
    this.#wide = wide;
    this.#onSettings = onSettings;
  }

  get isInUse(): boolean {
    return this.#streams.size > 0;
  }

  /** How many bytes of its streams have come that narrow windows would not have let come, and were not read. */
  get excess(): number {
    let bytes = 0;
    for (const { readableLength } of this.#streams) bytes += Math.max(0, readableLength - narrow);
    return bytes;
  }

  late(): number {
    if (!this.#wide.sessions.has(this)) return 0;
    const bytes = Math.min(widest, this.#refilledLate());
    this.#late -= bytes;
    if (this.#late < widestSession) this.narrow();
    return bytes;
  }

  opened(stream: Http2Stream): (bytes: number) => void {
    this.#streams.add(stream);
    this.#fit();
    let received = 0;
    return (bytes) => {
      received += bytes;
      if (this.#wide.sessions.has(this)) this.#wide.came(bytes);
      // Half of a window: the client has the other half to send while it learns of the wider one.
      if (received > narrow / 2) this.#widen();
    };
  }

  closed(stream: Http2Stream): void {
    this.#streams.delete(stream);
  }

  /** Reports that the client has acknowledged its settings, and so may be told others. */
  acknowledged(): void {
    this.#tell();
  }

  narrow(): void {
    this.setSession(narrow);
    this.#set(narrow);
  }

  cut(): void {
    this.#wide.sessions.delete(this);
    this.#session.destroy(new Error("it has too much unread"), constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }

  /** Widens for a stream that has more to send, unless nothing would be wider. */
  #widen(): void {
    const width = widthOf(this.#streams.size);
    if (this.#sessionWidth === widestSession && width <= this.#width) return;
    const now = performance.now();
    if (now - this.#widenedAt < keptMs) return;
    this.#widenedAt = now;
    if (!this.#wide.isLow() || this.#refilledLate() < 2 * widestSession) return;
    this.#wide.sessions.add(this);
    this.#wide.share();
    if (width > this.#width) this.#set(width);
  }

  /** Narrows the windows of streams where more are open than these are for. Twice as many may be, so that few changes are sent. */
  #fit(): void {
    const { size } = this.#streams;
    if (this.#width > narrow && size * this.#width > 2 * openBytes) this.#set(widthOf(size));
  }

  #set(width: number): void {
    this.#width = width;
    this.#tell();
  }

  /** Tells the client its width, unless it has settings to acknowledge: it is told then. */
  #tell(): void {
    const session = this.#session;
    if (this.#told === this.#width || session.destroyed || session.pendingSettingsAck) return;
    this.#told = this.#width;
    this.#onSettings();
    session.settings({ initialWindowSize: this.#width });
  }

  #refilledLate(): number {
    const now = performance.now();
    this.#late = Math.min(lateBytes, this.#late + ((now - this.#lateAt) / 1000) * lateBytesPerSecond);
    this.#lateAt = now;
    return this.#late;
  }

  setSession(width: number): void {
    if (width === this.#sessionWidth || this.#session.destroyed) return;
    this.#sessionWidth = width;
    this.#session.setLocalWindowSize(width);
  }
}

/** widthOf returns the window of each of so many streams: a power of two, so that it changes seldom, or `narrow`. */
function widthOf(streams: number): number {
  const width = powerOfTwo(openBytes / Math.max(1, streams));
  return width > narrow + 1 ? Math.min(widest, width) : narrow;
}

/** powerOfTwo returns the largest that is not above a number. */
function powerOfTwo(most: number): number {
  return 2 ** Math.floor(Math.log2(most));
}
