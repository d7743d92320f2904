/**
 * One table of misbehaviours, played to both clients of an upstream. With `http1/client` no call gets another's answer, and it is in
 * no row worse than undici. With either every call ends, and no connection is left.
 */
import { setTimeout as delay } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import {
  type ClientRequest,
  type CreateClient,
  type HttpClient,
  type Outcome,
  ownClient,
  undiciClient,
} from "../support/clients/http-clients.ts";
import { eventually } from "../support/eventually.ts";
import { another, type MisbehavingServer, startMisbehavingServer } from "../support/upstreams/misbehaving-server.ts";
import type { Row } from "../support/upstreams/misbehaviour.ts";
import { rows } from "../support/upstreams/misbehaviours.ts";

// Most rows are quick; the others wait for time-outs.
vi.setConfig({ maxConcurrency: 24 });

/** Bounds what hangs, and times nothing: no machine is so slow that a call which ends by itself takes as long. */
const hangMs = 60_000;
const patient = { connectMs: hangMs, firstByteMs: hangMs, idleMs: hangMs };
/** Bounds of the calls that their row lets time out. */
const brief = { ...patient, firstByteMs: 2_000, idleMs: 2_000 };
/** A client whose call has not ended by then does not keep its own time-outs. */
const hungMs = 2 * hangMs;

/** Two at a time, so that a connection which one has left in doubt may be taken by the other. */
const lanes = ["a", "b"];

interface Seen {
  /** Calls that got another's answer. */
  wrong: number;
  late: number;
  /** Calls whose end was not told. */
  hung: number;
  /** Honest answers that did not arrive. */
  lost: number;
  /** What became of the calls that were answered badly. */
  readonly bad: { readonly id: string; readonly outcome: Outcome }[];
}

async function playRow(row: Row, create: CreateClient): Promise<Seen> {
  const server = await startMisbehavingServer(row);
  const timeouts = { ...patient };
  const client = create(server.origin, timeouts);
  const stage: Stage = { row, server, client, seen: { wrong: 0, late: 0, hung: 0, lost: 0, bad: [] } };
  try {
    if (row.isTimedOut) {
      // Clients look at their time-outs where a phase begins.
      Object.assign(timeouts, brief);
      await Promise.all(lanes.map((lane) => askBadly(stage, `${lane}-0`)));
      Object.assign(timeouts, patient);
      await Promise.all(lanes.map((lane) => askHonestly(stage, `${lane}-0`)));
    } else {
      await Promise.all(lanes.map((lane) => playLane(stage, lane)));
    }
    await client.close();
    await eventually(() => expect(server.open()).toBe(0));
  } finally {
    await server.close();
  }
  return stage.seen;
}

interface Stage {
  readonly row: Row;
  readonly server: MisbehavingServer;
  readonly client: HttpClient;
  readonly seen: Seen;
}

async function playLane(stage: Stage, lane: string): Promise<void> {
  const { row, server } = stage;
  for (let i = 0; i < (row.rounds ?? 6); i++) {
    await askBadly(stage, `${lane}-${i}`);
    if (row.isSettled) await eventually(() => expect(server.isPlaying()).toBe(false));
    await askHonestly(stage, `${lane}-${i}`);
  }
}

async function askBadly(stage: Stage, round: string): Promise<void> {
  stage.seen.bad.push(await ask(stage, round, "/bad", stage.row.body));
}

async function askHonestly(stage: Stage, round: string): Promise<void> {
  for (const path of ["/one", "/two"]) {
    const { id, outcome } = await ask(stage, round, path);
    if (outcome.end !== "ended" || outcome.body !== id) stage.seen.lost++;
  }
}

async function ask({ client, seen }: Stage, round: string, path: string, body?: Buffer) {
  const id = `${round}-${path.slice(1)}`;
  const outcome = await callWithin(client, { path, headers: { "x-call": id }, body });
  if (outcome === hung) seen.hung++;
  if (isWrong(outcome, id)) seen.wrong++;
  if (outcome.end === "late") seen.late++;
  return { id, outcome };
}

const hung: Outcome = { status: undefined, headers: {}, body: "", end: "late" };

async function callWithin(client: HttpClient, request: ClientRequest): Promise<Outcome> {
  const isOver = new AbortController();
  const late = delay(hungMs, hung, { signal: isOver.signal }).catch(() => hung);
  const outcome = await Promise.race([client.call(request), late]);
  isOver.abort();
  return outcome;
}

function isWrong({ status, headers, body }: Outcome, id: string): boolean {
  const told = headers["x-call"];
  return body.includes(another) || (status !== undefined && told !== undefined && told !== id);
}

for (const row of rows) {
  test.concurrent(`an upstream that ${row.name} does no harm, or no more than to undici`, async () => {
    const own = await playRow(row, ownClient);
    const theirs = await playRow(row, undiciClient);
    if (!row.isUndecidable) expect(own).toMatchObject({ wrong: 0, lost: 0 });
    expect([own.hung, theirs.hung]).toEqual([0, 0]);
    expect(theirs.late).toBe(row.isTimedOut ? lanes.length : 0);
    for (const harm of ["wrong", "late", "lost"] as const) expect(own[harm]).toBeLessThanOrEqual(theirs[harm]);
    for (const { id, outcome } of own.bad) {
      if (row.own === "answer") expect(outcome).toMatchObject({ status: 200, body: id, end: "ended" });
      if (row.own === "fail") expect(outcome.end).not.toBe("ended");
    }
  });
}
