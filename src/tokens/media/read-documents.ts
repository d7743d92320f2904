/**
 * Reads the PDFs of requests in a thread of its own, before they are counted: a long one takes tenths of a second, during which no
 * other request would be served. Requests are read one after another, and the files of one share what may be unpacked.
 *
 * The thread is started with the first PDF and kept; it keeps the process alive only while it reads. Where it dies, what it has not
 * read is said to be unseen, and the next request starts another.
 */
import type { Worker } from "node:worker_threads";
import { startThread } from "../../package/package-files.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import type { Wire } from "../../wire/wire.ts";
import { hasUnread, unreadPdfs } from "./attachments.ts";
import type { PdfSize } from "./pdf-size.ts";

/** ReadRequest has the PDFs of a request, in base64. */
export type ReadRequest = readonly Uint8Array[];

/** ReadReply has what was read of each, in the same order. */
export type ReadReply = readonly (PdfSize | undefined)[];

/** ReadDocuments reads the PDFs of a request, so that `attachedTo` can see them. Never fails. */
export type ReadDocuments = (request: Wire) => Promise<void>;

export function createReadDocuments(start: () => Worker = () => startThread("documents")): ReadDocuments {
  let thread: Worker | undefined;
  let last: Promise<void> = Promise.resolve();

  function running(): Worker {
    if (thread) return thread;
    const started = start();
    const lost = () => {
      if (thread === started) thread = undefined;
    };
    thread = started.on("error", lost).on("exit", lost);
    return thread;
  }

  async function read(request: Wire): Promise<void> {
    const unread = unreadPdfs(request);
    if (unread.length === 0) return;
    const encoded = unread.map((pdf) => pdf.encoded);
    const reply = await repliedBy(running(), encoded);
    for (const [i, pdf] of unread.entries()) pdf.keep(reply[i]);
  }

  return (request) => {
    last = last.then(() => read(request));
    return last;
  };
}

/** Has the thread read some files. Resolves with nothing where it dies. */
function repliedBy(thread: Worker, encoded: readonly Uint8Array<ArrayBuffer>[]): Promise<ReadReply> {
  return new Promise((resolve) => {
    const settle = (reply: ReadReply) => {
      thread.off("message", settle).off("error", lost).off("exit", lost).unref();
      resolve(reply);
    };
    const lost = () => settle([]);
    thread.on("message", settle).on("error", lost).on("exit", lost).ref();
    thread.postMessage(
      encoded,
      encoded.map(({ buffer }) => buffer),
    );
  });
}

/** readDocuments is that of the process. */
export const readDocuments = createReadDocuments();

/**
 * Does work that counts the attachments of a request. Where that has met PDFs that have not been read, they are read, and it is done
 * again: what it threw is forgotten then.
 */
export function withDocuments<T>(request: Wire, work: () => T): MaybePromise<T> {
  try {
    const result = work();
    if (!hasUnread(request)) return result;
  } catch (error) {
    if (!hasUnread(request)) throw error;
  }
  return readDocuments(request).then(work);
}
