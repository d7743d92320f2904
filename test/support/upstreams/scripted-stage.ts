/**
 * A gateway before an upstream whose every byte the test decides, with its books: for the tests of a file, or of a `describe`.
 *
 *   const { upstream, gateway, books } = scriptedStage();                // serves the models of `paid-models.ts`
 *   const { upstream, gateway } = scriptedStage(upstreamAt, { script }); // serves `embedded-chat`; the upstream answers by a script
 *
 *   const payer = await openAccount(gateway);
 *   upstream.script = answerAsOpenAi;
 *   …a call with payer.apiKey…
 *   await books.of(payer)
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import type { Config } from "../../../src/config/config.ts";
import { type AccountInit, startTestGateway, type TestGateway } from "../gateway.ts";
import { type Books, openBooks } from "../payer.ts";
import { type ScriptedUpstream, startScriptedUpstream } from "../scripted-upstream.ts";
import { paidModels } from "./paid-models.ts";

export interface ScriptedStage {
  readonly upstream: ScriptedUpstream;
  readonly gateway: TestGateway;
  readonly books: Books;
}

/** ConfigOf returns what the gateway serves from the upstream's address. */
export type ConfigOf = (baseUrl: string) => Partial<Config>;

export interface ScriptedStageInit extends AccountInit {
  /** script answers every request, unless a test sets another. Without one, tests take the exchanges themselves. */
  readonly script?: ScriptedUpstream["script"];
}

export interface SharedStageInit extends ScriptedStageInit {
  /** perTest is whether each test has a stage of its own; default: all share one, and each test begins with the first script. */
  readonly perTest?: boolean;
}

/**
 * scriptedStage registers what starts the stage before the tests and ends it after them. Its parts may be named at once, and are there
 * inside of tests and hooks only.
 */
export function scriptedStage(configOf?: ConfigOf, { perTest = false, ...init }: SharedStageInit = {}): ScriptedStage {
  const stage = { upstream: {}, gateway: {}, books: {} } as ScriptedStage;
  let opened: OpenedStage | undefined;
  const open = async () => {
    opened = await openScriptedStage(configOf, init);
    fill(stage.upstream, opened.upstream);
    fill(stage.gateway, opened.gateway);
    fill(stage.books, opened.books);
  };
  const close = async () => {
    const last = opened;
    opened = undefined;
    await last?.close();
  };
  if (perTest) {
    beforeEach(open);
    afterEach(close);
    return stage;
  }
  beforeAll(open);
  afterEach(() => {
    stage.upstream.script = init.script;
  });
  afterAll(close);
  return stage;
}

/** fill gives an object, which tests have named already, the members of what has started. */
function fill(named: object, started: object): void {
  Object.defineProperties(named, Object.getOwnPropertyDescriptors(started));
}

export interface OpenedStage extends ScriptedStage {
  /** Closes the gateway, whose counts have to be zero and whose books have to be right, and then the upstream. */
  close(): Promise<void>;
}

/** openScriptedStage starts a stage that whoever opens it closes. */
export async function openScriptedStage(
  configOf: ConfigOf = paidModels,
  { script, ...account }: ScriptedStageInit = {},
): Promise<OpenedStage> {
  const upstream = await startScriptedUpstream(script);
  const gateway = await startTestGateway(configOf(upstream.baseUrl), account);
  return {
    upstream,
    gateway,
    books: openBooks(gateway.database, gateway.storage),
    async close() {
      await gateway.close(undefined, async () => expect((await gateway.storage.reconcile()).findings).toEqual([]));
      await upstream.close();
    },
  };
}
