/**
 * The gateway's own HTTP/1.1 client against undici: answers of all kinds in pieces of any size, behind which the connection
 * ends. Status, fields and body are the same, or both fail.
 */
import { type AddressInfo, createServer, type Socket } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { type HttpClient, type Outcome, ownClient, undiciClient } from "../../support/http-clients.ts";
import { cut } from "../cut.ts";
import { randomOf } from "../mutate.ts";
import { anyReply } from "../replies.ts";
import { Difference, type FuzzOptions, type Target } from "../target.ts";

/** Where ours fails and undici does not: what its error says, and why. */
const stricter: readonly { readonly says: RegExp; readonly why: string }[] = [
  {
    says: /how its body is coded/,
    why: "a coding but chunks, which undici hands over as it came; and HTTP/1.0 has no chunks",
  },
  {
    says: /does not begin/,
    why: "control characters in a reason, and empty lines before a status (RFC 9112, 2.2 and 4)",
  },
  { says: /behind the last chunk/, why: "trailers that say where the message ends (RFC 9110, 6.5.1)" },
  {
    says: /interim answer announces/,
    why: "what follows an interim answer with a length may be its body (RFC 9112, 6.3)",
  },
];

/** Where undici fails and ours does not. */
const laxer: readonly { readonly says: RegExp; readonly why: string }[] = [
  { says: /^bad response$/, why: "a client takes a 100 that it has not asked for (RFC 9110, 15.2); undici does not" },
  { says: /Data after `Connection: close`/, why: "an interim answer that says close ends nothing (RFC 9110, 15.2)" },
];

/** Where both read an answer, and not to the same: what the answer says, and why. */
const otherwise: readonly { readonly says: RegExp; readonly why: string }[] = [
  {
    says: /transfer-encoding:[^\r]*\t\r\n/i,
    why: "a tab behind `chunked` is no part of it (RFC 9112, 5.1); to undici it is",
  },
];

/** Whether the difference is one that is meant. */
function isRuled(text: string, own: Outcome, theirs: Outcome): boolean {
  if (own.end === theirs.end) return otherwise.some(({ says }) => says.test(text));
  const [rules, { error }] = theirs.end === "ended" ? [stricter, own] : [laxer, theirs];
  return own.end !== "late" && theirs.end !== "late" && rules.some(({ says }) => says.test(error?.message ?? ""));
}

interface Stage {
  readonly clients: readonly [own: HttpClient, theirs: HttpClient];
  /** Has the next requests answered so. */
  answerBy(pieces: readonly string[]): void;
  /** Resolves when no connection is left: one that ends may not be taken for the next case. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

const partMs = 5_000;

async function openStage(): Promise<Stage> {
  let pieces: readonly string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {}).once("data", () => void answer(socket, pieces));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const clients = [ownClient(origin, partMs), undiciClient(origin, partMs)] as const;
  return {
    clients,
    answerBy(next) {
      pieces = next;
    },
    async settled() {
      while (sockets.size > 0) await turn();
    },
    async close() {
      for (const client of clients) await client.close();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

async function answer(socket: Socket, pieces: readonly string[]): Promise<void> {
  for (const piece of pieces) {
    socket.write(piece, "latin1");
    if (pieces.length > 1) await turn();
  }
  socket.end();
}

async function compare({ clients, answerBy, settled }: Stage, pieces: readonly string[]): Promise<void> {
  answerBy(pieces);
  const [own, theirs] = await Promise.all([askedBy(clients[0]), askedBy(clients[1])]);
  await settled();
  const hasFailed = own.end !== "ended" && theirs.end !== "ended";
  if (hasFailed || isDeepStrictEqual(told(own), told(theirs))) return;
  if (isRuled(pieces.join(""), own, theirs)) return;
  const words = [own, theirs].map((outcome) => `${JSON.stringify(told(outcome))} ${outcome.error?.message ?? ""}`);
  throw new Difference(`own:    ${words[0]}\nundici: ${words[1]}\n${JSON.stringify(pieces)}`, { pieces });
}

const askedBy = (client: HttpClient) => client.call({ path: "/x", headers: { "x-one": "1" } });

const told = ({ end, status, headers, body }: Outcome) =>
  end === "ended" ? { end, status, body, headers: Object.entries(headers).map(trimmed).sort() } : { end };

/** Space behind a value is left there by undici where the value comes in pieces. */
const trimmed = ([name, value]: [string, string | string[] | undefined]) => [
  name,
  [value].flat().map((one) => one?.trim()),
];

async function fuzz({ seconds, seed, cases = Number.POSITIVE_INFINITY, onCase }: FuzzOptions): Promise<void> {
  const end = performance.now() + seconds * 1000;
  const stage = await openStage();
  try {
    for (let i = 0; i < cases && performance.now() < end; i++) {
      const random = randomOf(seed + i);
      const pieces = cut(anyReply(random), random);
      await compare(stage, pieces);
      onCase?.(JSON.stringify(pieces));
    }
  } finally {
    await stage.close();
  }
}

export const client: Target = {
  fuzz,
  async replay({ pieces }) {
    const stage = await openStage();
    try {
      await compare(stage, pieces as string[]);
    } finally {
      await stage.close();
    }
  },
};
