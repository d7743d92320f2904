/**
 * Reads the PDFs of requests in a thread of its own, before they are counted: a long one takes tenths of a second, during which no
 * other request would be served. Requests are read one after another, and the files of one share what may be unpacked. What a thread
 * that died has not read is said to be unseen.
 */
import type { Worker } from "node:worker_threads";
import { startThread } from "../../package/package-files.ts";
import { createQueuedThread } from "../../package/queued-thread.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import type { Wire } from "../../wire/wire.ts";
import { hasUnread, type UnreadPdf, unreadPdfs } from "./attachments.ts";
import type { PdfSize } from "./pdf-size.ts";

/** ReadRequest has the PDFs of a request, in base64. */
export type ReadRequest = readonly Uint8Array[];

/** ReadReply has what was read of each, in the same order. */
export type ReadReply = readonly (PdfSize | undefined)[];

/**
 * ReadDocuments reads the PDFs of a request, so that `attachedTo` can see them. Those whose turn comes after the call has been aborted
 * are not read. Never fails.
 */
export type ReadDocuments = (request: Wire, signal?: Signal) => Promise<void>;

export function createReadDocuments(start: () => Worker = () => startThread("documents")): ReadDocuments {
  const ask = createQueuedThread<ReadRequest, ReadReply>(start);
  return async (request, signal) => {
    let unread: readonly UnreadPdf[] = [];
    // They are copied when their turn comes: the request itself is counted already.
    const reply = await ask(() => {
      if (signal?.aborted) return undefined;
      unread = unreadPdfs(request);
      const asked = unread.map(({ encoded }) => encoded);
      return { asked, transfer: asked.map(({ buffer }) => buffer) };
    });
    for (const [i, pdf] of unread.entries()) pdf.keep(reply?.[i]);
  };
}

/** readDocuments is that of the process. */
export const readDocuments = createReadDocuments();

/**
 * Does work that counts the attachments of a request. Where that has met PDFs that have not been read, they are read, and it is done
 * again: what it threw is forgotten then.
 */
export function withDocuments<T>(request: Wire, work: () => T, signal?: Signal): MaybePromise<T> {
  try {
    const result = work();
    if (!hasUnread(request)) return result;
  } catch (error) {
    if (!hasUnread(request)) throw error;
  }
  return readDocuments(request, signal).then(work);
}
