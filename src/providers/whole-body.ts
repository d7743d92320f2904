/** Reads the body of an upstream's answer whole: at once where it came with its head. */
import { upstreamFailed } from "../errors.ts";
import { each } from "../flow.ts";
import type { Soon } from "../soon.ts";
import type { UpstreamReply } from "./exchange.ts";

/** Throws a Refusal, now or later, where it is larger than `maxBytes`. */
export function readWhole({ body, takeArrived }: UpstreamReply, maxBytes: number): Soon<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const add = (batch: readonly Buffer[]): undefined => {
    for (const chunk of batch) {
      bytes += chunk.length;
      chunks.push(chunk);
    }
    if (bytes > maxBytes) throw upstreamFailed("its answer is too large");
  };
  const joined = () => (chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks));
  const arrived = takeArrived();
  if (!arrived) return each(body, add).then(joined);
  add(arrived);
  return joined();
}
