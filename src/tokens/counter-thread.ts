/** The program of the counting thread: counts the texts of all requests in turns. */
import { type MessagePort, parentPort } from "node:worker_threads";
import { putBehind } from "../runtime/thread-priority.ts";
import type { CountReply, CountRequest } from "./counter.ts";
import { loadTokenizer } from "./tokenizer.ts";

if (!parentPort) throw new Error("the counter runs in a thread only");
serve(parentPort);

function serve(port: MessagePort): void {
  putBehind();
  const counts = new Map<number, AbortController>();
  port.on("message", ({ id, texts }: CountRequest) => {
    if (texts) void count(id, texts);
    else counts.get(id)?.abort();
  });

  async function count(id: number, texts: readonly string[]): Promise<void> {
    const leaving = new AbortController();
    counts.set(id, leaving);
    try {
      const tokens = await (await loadTokenizer()).countAll(texts, leaving.signal);
      port.postMessage({ id, tokens } satisfies CountReply);
    } catch {
      port.postMessage({ id } satisfies CountReply);
    } finally {
      counts.delete(id);
    }
  }
}
