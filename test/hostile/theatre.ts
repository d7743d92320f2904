/** What all rows play on: the canary, two upstreams, and a gateway, which is a new one after a row that failed. */
import { setTimeout as delay } from "node:timers/promises";
import { type Called, type Canary, startCanary } from "./canary.ts";
import { type GatewayProcess, startGateway } from "./gateway.ts";
import { heldBy } from "./measure.ts";
import { chat, chatPath, type Row } from "./row.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

export interface TheatreOptions {
  /** How long attacks last that are bounded by time alone, in milliseconds. */
  readonly ms: number;
  /** How much slower the canary's slowest hundredth may be under attack, in milliseconds. */
  readonly slowerMs: number;
  /** How long callers wait who are to be served, and connections that are to be closed, in milliseconds. */
  readonly patienceMs: number;
}

export interface Theatre extends TheatreOptions {
  readonly canary: Canary;
  readonly calm: Upstream;
  readonly wild: Upstream;
  gateway?: GatewayProcess | undefined;
  openFiles?: number | undefined;
  /** What the canary saw while nothing else happened at this gateway. */
  quiet: Quiet;
  /** Resident memory of this gateway before its first attack, in megabytes. */
  normal: number;
  close(): Promise<void>;
}

export interface Quiet {
  readonly samples: number[];
  readonly own: number[];
  readonly direct: number[];
}

const nothingSeen = (): Quiet => ({ samples: [], own: [], direct: [] });

const warmMs = 3_000;

export async function openTheatre(options: TheatreOptions): Promise<Theatre> {
  const [calm, wild] = [await startUpstream(), await startUpstream()];
  const canary = startCanary();
  const theatre: Theatre = {
    ...{ ...options, canary, calm, wild, quiet: nothingSeen(), normal: 0 },
    async close() {
      await dropGateway(theatre);
      await Promise.all([canary, calm, wild].map((part) => part.close()));
    },
  };
  return theatre;
}

/** Returns the gateway that runs, or starts one as the row needs it. */
export async function readyGateway({ openFiles }: Row, theatre: Theatre): Promise<GatewayProcess> {
  if (theatre.gateway && theatre.openFiles === openFiles) return theatre.gateway;
  await dropGateway(theatre);
  const { calm, wild, canary } = theatre;
  const gateway = await startGateway({ calm: calm.port, wild: wild.port, openFiles });
  [theatre.gateway, theatre.openFiles, theatre.quiet] = [gateway, openFiles, nothingSeen()];
  await serveSome(gateway);
  await canary.call(calledOf(gateway, calm));
  await delay(warmMs);
  await canary.pause();
  theatre.normal = heldBy(gateway.pid).rss;
  return gateway;
}

/** calledOf returns what a canary calls: the gateway, and beside it the calm upstream. */
export function calledOf({ pid, port, keys }: GatewayProcess, calm: Upstream): Called {
  return { pid, port, upstream: calm.port, key: keys.canary };
}

const [served, atOnce, servedBytes] = [600, 16, 200_000];

/** What a new process does once is not an attack's: it compiles what it does often, and fills the room for what is young. */
async function serveSome({ port, keys }: GatewayProcess): Promise<void> {
  let left = served;
  const one = async () => {
    while (left-- > 0) {
      const answer = await fetch(`http://127.0.0.1:${port}${chatPath}`, {
        method: "POST",
        headers: { authorization: `Bearer ${keys.rich}`, "content-type": "application/json" },
        body: chat("calm", "x".repeat(servedBytes), left % 2 === 0 ? {} : { stream: true }),
      });
      await answer.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
}

export async function dropGateway(theatre: Theatre): Promise<void> {
  await theatre.gateway?.close();
  theatre.gateway = undefined;
}
