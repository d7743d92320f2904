/** `model-gateway config test-upstream`: asks an upstream for its models and for a small call, as pages do, and prints what came of it. */
import { TestOutcome, type TestStep, TestStepKind } from "../../../gen/modelgateway/v1/configuration_pb.ts";
import { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";
import { type Config, onlyForCallers } from "../../config/config.ts";
import { createKeyRing } from "../../config/stored/key-ring.ts";
import { createStoredConfiguration } from "../../config/stored/stored-configuration.ts";
import { counted } from "../../runtime/words/counted.ts";
import type { TestUpstream } from "../../services/configuration/test-upstream.ts";
import { table, withFilesStorage } from "../command.ts";
import { readOptions } from "../line/read-options.ts";
import { operatorClient } from "../operator.ts";

export async function testUpstream(args: readonly string[]): Promise<void> {
  const { values, positionals } = readOptions("config test-upstream", args);
  const { config: file, model, "list-only": skipCall = false } = values;
  const asked = { name: positionals[0] as string, skipCall, ...(model === undefined ? {} : { model }) };
  const work = async (...[storage, config]: Parameters<Parameters<typeof withFilesStorage>[1]>) => {
    const { configurations: rows } = storage;
    // Unlike other commands this one needs the credentials of upstreams: a variable for them that is not set is told.
    const parts = { rows, keys: createKeyRing(config), givenFile: file, excused: onlyForCallers };
    const stored = createStoredConfiguration(parts);
    const ask = operatorClient(storage, config, file, { stored, testUpstream: testBy(config) });
    const { ok, steps } = await ask(OperatorService.method.testUpstream, asked);
    console.log(table(["STEP", "OUTCOME", "TIME", "WHAT HAPPENED"], steps.map(row)));
    if (!ok) process.exitCode = 1;
  };
  await withFilesStorage(file, work, "nothing");
}

/** testBy tests with the clients that this configuration chooses. They are loaded for an upstream that is there. */
function testBy({ accelerators }: Config): TestUpstream {
  return async (...asked) => {
    const { chooseUpstreamAccelerators } = await import("../../composition/upstream-accelerators.ts");
    const { createProvider } = await import("../../composition/live/providers.ts");
    const { createTestUpstream } = await import("../../services/configuration/test-upstream.ts");
    const parts = { clock: Date.now, ...(await chooseUpstreamAccelerators(accelerators)) };
    return createTestUpstream((upstream) => createProvider(upstream, parts))(...asked);
  };
}

const outcomes: ReadonlyMap<TestOutcome, string> = new Map([
  [TestOutcome.OK, "ok"],
  [TestOutcome.FAILED, "failed"],
  [TestOutcome.UNKNOWN, "unknown"],
  [TestOutcome.SKIPPED, "skipped"],
]);

function row({ kind, outcome, latencyMs, message, inputTokens, outputTokens = 0 }: TestStep): string[] {
  const step = kind === TestStepKind.CALL ? "call a model" : "list models";
  const used = inputTokens === undefined ? "" : ` ${counted(inputTokens, "token")} in, ${outputTokens} out.`;
  const took = outcome === TestOutcome.SKIPPED ? "" : `${latencyMs} ms`;
  return [step, outcomes.get(outcome) ?? "unknown", took, `${message}${used}`];
}
