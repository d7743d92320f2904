/** Reads the body of an upstream's answer whole: at once where it came with its head. */
import { upstreamFailed } from "../errors.ts";
import { each } from "../flow.ts";
import type { UpstreamReply } from "./exchange.ts";

/** Throws a Refusal where it is larger than `maxBytes`. */
export async function readWhole({ body, takeArrived }: UpstreamReply, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const add = (batch: readonly Buffer[]): undefined => {
    for (const chunk of batch) {
      bytes += chunk.length;
      chunks.push(chunk);
    }
    if (bytes > maxBytes) throw upstreamFailed("its answer is too large");
  };
  const all = takeArrived();
  if (all) add(all);
  else await each(body, add);
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
}
