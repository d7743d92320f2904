/** Processes of the gateway on one new database, as an operator runs several, with one priced model. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { Storage } from "../../../src/storage/storage.ts";
import { Running, starter } from "../command.ts";
import { newTestDatabase, type TestDatabase } from "../storage/test-database.ts";

export interface Stage {
  readonly database: TestDatabase;
  readonly storage: Storage;
  readonly ports: readonly number[];
}

/** configOf returns a configuration with the model `gpt` at an upstream. `more` are further lines. */
export function configOf(baseUrl: string, more = ""): string {
  return `${more}
upstreams:
  - { name: openai, kind: openai, base_url: "${baseUrl}", api_key: k }
models:
  - id: gpt
    family: gpt
    kind: chat
    price: { input: "0", output: "10" }
    targets: [{ upstream: openai, model: v-gpt }]
`;
}

/** besideProcesses runs `work` beside gateways that these arguments start. Then they end well, and all sums are proved. */
export async function besideProcesses(
  starts: readonly (readonly string[])[],
  configuration: string,
  work: (stage: Stage) => Promise<void>,
): Promise<void> {
  const database = await newTestDatabase();
  const storage = await database.open();
  const config = join(database.dataDir, "gateway.yaml");
  await writeFile(config, configuration);
  const variables = { PORT: "0", ...database.variables };
  const processes = starts.map(
    (args) => new Running(process.execPath, [starter, "serve", "--config", config, ...args], variables),
  );
  try {
    const shown = await Promise.all(processes.map((one) => one.shows(/serves at (\S+)/)));
    const ports = shown.map(([, url = ""]) => Number(new URL(url).port));
    await work({ database, storage, ports });
    const ended = await Promise.all(processes.map((one) => one.stop()));
    expect(ended.map(({ code }) => code)).toEqual(starts.map(() => 0));
    expect((await storage.reconcile()).findings).toEqual([]);
  } finally {
    await Promise.all(processes.map((one) => one.stop()));
    await storage.close();
    await database.remove();
  }
}
