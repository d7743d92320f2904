/**
 * Accelerators: which are chosen is read once and told in one place, and whichever they are, a call is answered and charged alike.
 * `.ci/run` runs the suites of doors, streams and money without all of them besides.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadConfig } from "../../src/config/config.ts";
import { ConfigError } from "../../src/config/config-error.ts";
import { type AcceleratorName, acceleratorNames } from "../../src/config/shape.ts";
import { doors } from "../support/clients/doors.ts";
import { root } from "../support/command.ts";
import { behind, startTestGateway, type TestGateway } from "../support/gateway.ts";
import { openAccount, openBooks } from "../support/payer.ts";

describe("ACCELERATORS", () => {
  const chosenBy = (ACCELERATORS?: string) => [...loadConfig(undefined, { ACCELERATORS }).accelerators];

  test("says which are chosen: all, none or some", () => {
    expect(chosenBy()).toEqual(acceleratorNames);
    expect(chosenBy(" ")).toEqual(acceleratorNames);
    expect(chosenBy("off")).toEqual([]);
    expect(chosenBy("leases, grpc")).toEqual(["leases", "grpc"]);
  });

  test("stops the start by a name that there is not, and tells those that there are", () => {
    for (const wrong of ["fast-ledger", "leases,", "off,leases", "on"]) {
      expect(() => chosenBy(wrong), wrong).toThrow(ConfigError);
      expect(() => chosenBy(wrong), wrong).toThrow(
        `environment: ACCELERATORS: expected off, or names of ${acceleratorNames.join(", ")}, with commas between them`,
      );
    }
  });
});

test("each is chosen by one line of composition/*accelerators.ts, and nowhere else", () => {
  const src = join(root, "src");
  const places = ["composition/accelerators.ts", "composition/upstream-accelerators.ts"];
  const chosen = places.map((place) => readFileSync(join(src, place), "utf8")).join("");
  for (const name of acceleratorNames) expect(chosen.split(`has("${name}")`), name).toHaveLength(2);
  const others = readdirSync(src, { recursive: true, encoding: "utf8" }).filter(
    (path) => path.endsWith(".ts") && !places.includes(path) && !path.startsWith("config/"),
  );
  const knowing = others.filter((path) => {
    const text = readFileSync(join(src, path), "utf8");
    // A member of JSON may have such a name, too.
    return (
      acceleratorNames.some((name) => new RegExp(`"${name}"(?!:)`).test(text)) || /\baccelerators\.has\b/.test(text)
    );
  });
  expect(knowing).toEqual([]);
});

describe("whichever are chosen, calls are answered and charged alike:", () => {
  const request = { model: "embedded-chat", messages: [{ role: "user", content: "Hello, 世界! 👋" }] };
  const price = { input: 3_000_000, output: 11_000_000 };
  const forms = [false, true];
  let upstream: TestGateway;
  let expected: readonly unknown[];

  beforeAll(async () => {
    upstream = await startTestGateway();
    expected = await outcomesWith(acceleratorNames);
  });

  afterAll(() => upstream.close());

  /** Calls a gateway with these accelerators through every door and by the Messages API, and returns all that came of it. */
  async function outcomesWith(names: readonly AcceleratorName[]): Promise<readonly unknown[]> {
    const { models = [], ...config } = behind(upstream);
    const priced = models.map((model) => ({ ...model, price }));
    const gateway = await startTestGateway({ ...config, models: priced, accelerators: new Set(names) });
    const payer = await openAccount(gateway);
    const { apiKey } = await payer;
    const outcomes: unknown[] = [];
    for (const stream of forms) {
      for (const door of doors) outcomes.push(await door.chat(gateway, { request, stream, apiKey }));
      outcomes.push(await refusedBy(gateway, { ...request, temperature: 3 }, stream, apiKey));
      outcomes.push(await messages(gateway, stream, apiKey));
    }
    const books = openBooks(gateway.database, gateway.storage);
    const { balance, held, spent, requests } = await books.of(payer);
    await gateway.close();
    const charged = requests.map(({ cost, input, output, outcome }) => ({ cost, input, output, outcome }));
    return [...outcomes, { balance, held, spent, charged }];
  }

  const refusedBy = (
    gateway: TestGateway,
    refused: typeof request & { temperature: number },
    stream: boolean,
    apiKey: string,
  ) => (doors[0] as (typeof doors)[number]).chat(gateway, { request: refused, stream, apiKey });

  /** The same by the Messages API, whose answer is translated. */
  async function messages({ rootUrl }: TestGateway, stream: boolean, apiKey: string): Promise<unknown> {
    const response = await fetch(`${rootUrl}/v1/messages`, {
      method: "POST",
      headers: { "x-api-key": apiKey, "content-type": "application/json" },
      body: JSON.stringify({ ...request, max_tokens: 100, stream }),
    });
    // An answer of its own has an id of its own.
    return { status: response.status, text: (await response.text()).replace(/msg_\w+/, "msg") };
  }

  test.each<[string, readonly AcceleratorName[]]>([
    ["none", []],
    ...acceleratorNames.map((name): [string, readonly AcceleratorName[]] => [`${name} alone`, [name]]),
    ...acceleratorNames.map((name): [string, readonly AcceleratorName[]] => [
      `all but ${name}`,
      acceleratorNames.filter((other) => other !== name),
    ]),
  ])("%s", async (_, names) => {
    expect(await outcomesWith(names)).toEqual(expected);
  });
});
