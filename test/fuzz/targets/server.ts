/**
 * The gateway's own HTTP/1.1 server against Node's: what handlers are told, what is refused, and whether the connection is
 * kept, of requests of all kinds in pieces of any size.
 */
import { isDeepStrictEqual } from "node:util";
import { randomOf } from "../../support/run/random.ts";
import { cut } from "../cut.ts";
import { anyRequests } from "../requests.ts";
import { type Served, type Servers, startServers } from "../servers.ts";
import { Difference, type FuzzOptions, type Target } from "../target.ts";

async function fuzz({ seconds, seed, cases = Number.POSITIVE_INFINITY, onCase }: FuzzOptions): Promise<void> {
  const end = performance.now() + seconds * 1000;
  const servers = await startServers();
  try {
    for (let i = 0; i < cases && (i === 0 || performance.now() < end); i++) {
      const random = randomOf(seed + i);
      const pieces = cut(anyRequests(random), random);
      await compare(servers, pieces);
      onCase?.(JSON.stringify(pieces));
    }
  } finally {
    await servers.close();
  }
}

async function compare(servers: Servers, pieces: readonly string[]): Promise<void> {
  const difference = await differenceIn(servers, pieces);
  // What one of them had not said yet is no difference: it is asked again with more patience.
  const confirmed = difference && (await differenceIn(servers, pieces, patientTurns));
  if (confirmed) throw new Difference(`${confirmed}\n${JSON.stringify(pieces)}`, { pieces });
}

const patientTurns = 400;

async function differenceIn(servers: Servers, pieces: readonly string[], turns?: number): Promise<string | undefined> {
  const [own, node] = await Promise.all([servers.own(pieces, turns), servers.node(pieces, turns)]);
  if (isSame(own, node)) return undefined;
  return `own:  ${JSON.stringify(own).slice(0, shown)}\nnode: ${JSON.stringify(node).slice(0, shown)}`;
}

const shown = 4_000;

/**
 * Told the same, and kept or ended alike. What may differ, and why:
 *
 * - which answers arrive before a refusal, what that says, and whether it does before the connection ends: a matter of turns,
 *   and the gateway words its own (405 to CONNECT, which Node ends without a word);
 * - requests behind a refusal that ends the connection: Node serves those that came with it, and drops their answers;
 * - where the 100 of a request comes that waits behind another: Node writes it into the midst of an answer, whoever asks it.
 */
function isSame(own: Served, node: Served): boolean {
  const isRefused = [...own.statuses, ...node.statuses].some((status) => status.startsWith("4"));
  const answered = node.statuses.filter((status) => status === "200").length;
  const isUnanswered = isRefused && own.isClosed && own.told.length >= answered;
  const toldByNode = isUnanswered ? node.told.slice(0, own.told.length) : node.told;
  if (!isDeepStrictEqual([own.told, own.isClosed], [toldByNode, node.isClosed])) return false;
  return (isRefused && own.isClosed) || isDeepStrictEqual(own.statuses.toSorted(), node.statuses.toSorted());
}

export const server: Target = {
  fuzz,
  async replay({ pieces }) {
    const servers = await startServers();
    try {
      await compare(servers, pieces as string[]);
    } finally {
      await servers.close();
    }
  },
};
