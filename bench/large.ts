/**
 * Loads with gateways of their own: with money and without, a million keys on record compared with one, and as many
 * open streams as the machine allows one process.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { readPaced } from "./clients/paced.ts";
import { type WrkRun, wrk } from "./clients/wrk.ts";
import { freePort } from "./free-port.ts";
import { keysOfClients, openWithKeys } from "./growth/data.ts";
import { chatRequestsBy, models } from "./payloads.ts";
import { openFiles, type Program } from "./processes.ts";
import type { Piece } from "./results.ts";
import { askedOf, chat } from "./sent.ts";
import { makeKey, startGateway, type UpstreamPorts } from "./servers/gateway.ts";
import { gatewayTarget } from "./targets.ts";

export interface LargeContext {
  readonly folder: string;
  readonly cache: string;
  readonly upstreams: UpstreamPorts;
  readonly seconds: number;
}

export interface LargeLoad {
  readonly name: string;
  readonly about: string;
  readonly targets: readonly string[];
  run(context: LargeContext): Promise<readonly Piece[]>;
}

/**
 * casts is how often all gateways are started anew: with the same code, one process is a tenth faster than another for
 * its whole life.
 */
const casts = 2;
const roundsPerCast = 5;
const connections = 32;
/** sparedFiles: the gateway has two sockets for each stream, and some files besides. */
const sparedFiles = 200;
export const mostStreams = Math.min(10_000, Math.floor((openFiles() - sparedFiles) / 2));

export const largeLoads: readonly LargeLoad[] = [
  {
    name: "money",
    about: "chat of 1 kB, models with a price beside models at price 0",
    targets: ["gateway", "gateway-free"],
    run: money,
  },
  {
    name: "memory-small",
    about: "chat of 1 kB, with `memory: small` beside the usual setting",
    targets: ["gateway", "gateway-small"],
    run: smallMemory,
  },
  {
    name: "keys-1m",
    about: "chat of 1 kB, with one key on record and with a million: of clients with a key each, and 10,000 in turn",
    targets: ["gateway", "gateway-1m-keys-each", "gateway-1m-keys-in-turn"],
    run: keys,
  },
  {
    name: "streams-10k",
    about: `${mostStreams.toLocaleString("en")} open streams, a chunk each every 10 s`,
    targets: ["gateway"],
    run: async (context) => [await openStreams(context, mostStreams)],
  },
];

/**
 * openStreams measures the memory of a fresh gateway that has answered a few calls, and again with the streams open.
 */
export async function openStreams({ folder, upstreams }: LargeContext, streams: number): Promise<Piece> {
  const gateway = await gatewayTarget(join(folder, `streams-${streams}`), upstreams);
  const { program } = gateway;
  const init = (everyMs: number) => {
    const sent = chat(1000, models.paced(everyMs), { stream: true });
    return { ...askedOf(gateway, sent), everyMs, stub: upstreams.stub };
  };
  await readPaced({ ...init(20), connections: 10, warmSeconds: 0, seconds: 2 });
  await sleep(500);
  const idle = program.memory();
  let used = 0;
  let cpu = 0;
  const onBegin = () => (cpu = program.cpu());
  const onEnd = () => {
    used = program.memory();
    cpu = program.cpu() - cpu;
  };
  const open = { connections: streams, warmSeconds: 1, seconds: 5 };
  const chunks = await readPaced({ ...init(10_000), ...open, onBegin, onEnd });
  await program.stop();
  const figures = { "kB/stream": (used - idle) / 1024 / streams, streams, "CPU µs/chunk": cpu / 1000 / chunks.length };
  return { load: "streams-10k", target: "gateway", round: 0, figures: { ...figures, "memory MB": used / 1e6 } };
}

async function keys(context: LargeContext): Promise<readonly Piece[]> {
  const { cache, folder } = context;
  const open = async (target: string, count: number) => {
    const own = join(folder, target);
    const secrets = await openWithKeys({ cache, folder: own, accounts: Math.ceil(count / 1000), keys: count });
    return { target, folder: own, secrets };
  };
  const aKeyEach = <M extends Member>(member: M) => {
    return { ...member, secrets: keysOfClients(member.secrets, connections), isOneEach: true };
  };
  const members = [
    aKeyEach(await open("gateway", 1)),
    aKeyEach(await open("gateway-1m-keys-each", 1_000_000)),
    await open("gateway-1m-keys-in-turn", 1_000_000),
  ];
  return sideBySide("keys-1m", members, context);
}

async function money(context: LargeContext): Promise<readonly Piece[]> {
  const members = [];
  for (const target of ["gateway", "gateway-free"]) {
    const own = join(context.folder, `money-${target}`);
    members.push({ target, folder: own, secrets: [await makeKey(own)], free: target === "gateway-free" });
  }
  return sideBySide("money", members, context);
}

async function smallMemory(context: LargeContext): Promise<readonly Piece[]> {
  const members: Member[] = [];
  for (const [target, memory] of [["gateway", "large"] as const, ["gateway-small", "small"] as const]) {
    const own = join(context.folder, `memory-${target}`);
    members.push({ target, folder: own, secrets: [await makeKey(own)], memory });
  }
  return sideBySide("memory-small", members, context);
}

interface Member {
  readonly target: string;
  /** folder has the gateway's data. */
  readonly folder: string;
  readonly secrets: readonly string[];
  /** isOneEach is whether each connection keeps to one request. */
  readonly isOneEach?: boolean;
  readonly free?: boolean;
  readonly memory?: "small" | "large";
}

/**
 * sideBySide loads gateways in turn that differ in one thing and are otherwise equally new: one that has done more
 * since its start, or has paused, is not equally warm. Each cast continues with the data of the one before.
 */
async function sideBySide(load: string, members: readonly Member[], context: LargeContext): Promise<readonly Piece[]> {
  const pieces: Piece[] = [];
  for (let cast = 0; cast < casts; cast++) pieces.push(...(await askCast(load, members, context, cast)));
  return pieces;
}

interface Gateway {
  readonly target: string;
  readonly program: Program;
  readonly run: Omit<WrkRun, "seconds">;
}

async function startMember({ target, secrets, isOneEach = false, ...own }: Member, upstreams: UpstreamPorts) {
  const port = await freePort();
  const program = await startGateway({ ...own, port, upstreams });
  const requests = chatRequestsBy(secrets);
  const path = "/v1/chat/completions";
  return { target, program, run: { port, path, requests, connections, isOneEach, folder: own.folder } };
}

/** askCast starts the gateways, loads them in turn, and stops them. */
async function askCast(
  load: string,
  members: readonly Member[],
  { upstreams, seconds }: LargeContext,
  cast: number,
): Promise<readonly Piece[]> {
  const gateways: Gateway[] = [];
  for (const member of members) gateways.push(await startMember(member, upstreams));
  const pieces: Piece[] = [];
  for (let round = 0; round < roundsPerCast; round++) {
    const turned = gateways.map((_, i) => gateways[(i + round + cast) % gateways.length] as Gateway);
    for (const { target, program, run } of turned) {
      for (const other of gateways) other.program.pause();
      program.resume();
      // Now most of the frequent code is compiled, and every key has been used once.
      await wrk({ ...run, seconds: round === 0 ? 11 * seconds : seconds / 4 });
      const before = program.cpu();
      const { requests, seconds: taken } = await wrk({ ...run, seconds });
      const micros = (program.cpu() - before) / 1000 / requests;
      const figures = {
        ...{ "requests/s": requests / taken, "CPU µs/request": micros },
        "memory MB": program.memory() / 1e6,
      };
      pieces.push({ load, target, round: cast * roundsPerCast + round, figures });
    }
  }
  for (const { program } of gateways) await program.stop();
  return pieces;
}
