/** The program of the thread that reads documents: the PDFs of one request after another. */
import { type MessagePort, parentPort } from "node:worker_threads";
import { putBehind } from "../../runtime/thread-priority.ts";
import { maxUnpacked, type PdfSize, pdfSize } from "./pdf-size.ts";
import type { ReadReply, ReadRequest } from "./read-documents.ts";

if (!parentPort) throw new Error("documents are read in a thread only");
serve(parentPort);

function serve(port: MessagePort): void {
  putBehind();
  port.on("message", (encoded: ReadRequest) => {
    const unpacking = { left: maxUnpacked };
    port.postMessage(encoded.map((text) => sizeOf(text, unpacking)) satisfies ReadReply);
  });
}

function sizeOf(text: Uint8Array, unpacking: { left: number }): PdfSize | undefined {
  const base64 = Buffer.from(text.buffer, text.byteOffset, text.byteLength).toString("latin1");
  return pdfSize(Buffer.from(base64, "base64"), unpacking);
}
