/** Reads the body of an upstream's answer whole: at once where it came with its head. */
import { upstreamFailed } from "../errors.ts";
import { each } from "../flow.ts";
import type { Soon } from "../soon.ts";
import type { UpstreamReply } from "./exchange.ts";

/** Throws a Refusal, now or later, where it is larger than `maxBytes`. */
export function readWhole({ body, takeArrived }: UpstreamReply, maxBytes: number): Soon<Buffer> {
  const arrived = takeArrived();
  if (arrived) return joined(arrived, maxBytes);
  const chunks: Buffer[] = [];
  let bytes = 0;
  const add = (batch: readonly Buffer[]): undefined => {
    for (const { length } of batch) bytes += length;
    if (bytes > maxBytes) throw tooLarge();
    for (const chunk of batch) chunks.push(chunk);
  };
  return each(body, add).then(() => joined(chunks, maxBytes));
}

function joined(chunks: readonly Buffer[], maxBytes: number): Buffer {
  const [only] = chunks;
  const all = only && chunks.length === 1 ? only : Buffer.concat(chunks);
  if (all.length > maxBytes) throw tooLarge();
  return all;
}

function tooLarge(): Error {
  return upstreamFailed("its answer is too large");
}
