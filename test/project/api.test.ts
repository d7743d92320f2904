/**
 * docs/api.md is the whole contract: every path, RPC, reason and header of the gateway is in it, as it is in the protos and the
 * source, and nothing that is not there.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type DescMethod, type DescService, getOption, hasOption } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { Family } from "../../gen/modelgateway/v1/access_pb.ts";
import { AccountService } from "../../gen/modelgateway/v1/accounts_pb.ts";
import { InferenceService } from "../../gen/modelgateway/v1/inference_pb.ts";
import { KeyService } from "../../gen/modelgateway/v1/keys_pb.ts";
import { OperatorService } from "../../gen/modelgateway/v1/operator_pb.ts";
import { SessionService } from "../../gen/modelgateway/v1/sessions_pb.ts";
import { UsageService } from "../../gen/modelgateway/v1/usage_pb.ts";
import { Reason, Refusal } from "../../src/call/refusals.ts";
import { createCors } from "../../src/doors/rest/cors.ts";
import { refusalAnswer } from "../../src/doors/rest/refusal-answers.ts";
import { codesIn, root, tablesWith, tableWith, textOf } from "../support/pages.ts";

const page = "docs/api.md";
const services: readonly DescService[] = [
  ...[InferenceService, KeyService, AccountService, UsageService, SessionService, OperatorService],
];

test("every service of the protos is known here", () => {
  const written = readdirSync(join(root, "proto/modelgateway/v1")).flatMap((file) =>
    [...readFileSync(join(root, "proto/modelgateway/v1", file), "utf8").matchAll(/^service (\w+)/gm)].map(
      ([, name]) => name,
    ),
  );
  expect(services.map(({ name }) => name).sort()).toEqual(written.sort());
});

describe("endpoints", () => {
  const methods = services.flatMap((service) => service.methods);
  const ruleOf = (method: DescMethod) => {
    const { pattern } = getOption(method, http);
    return `${pattern.case?.toUpperCase()} ${String(pattern.value).replace("=**}", "}")}`;
  };

  test("with a path stand with it, and with all RPCs behind it", () => {
    const expected = new Map<string, string[]>();
    for (const method of methods.filter((one) => hasOption(one, http))) {
      const path = ruleOf(method);
      expected.set(path, [...(expected.get(path) ?? []), method.name]);
    }
    const listed = tablesWith(page, "path", "RPC")
      .flat()
      .map(([path = "", rpcs = ""]) => [codesIn(path)[0], codesIn(rpcs)] as const);
    const byPath = (
      [a = ""]: readonly [string | undefined, unknown],
      [b = ""]: readonly [string | undefined, unknown],
    ) => a.localeCompare(b);
    expect([...listed].sort(byPath)).toEqual([...expected].sort(byPath));
  });

  test("without a path stand with their service", () => {
    const expected = services.map(({ name, methods: all }) => [
      name,
      all
        .filter((method) => !hasOption(method, http))
        .map((method) => method.name)
        .sort(),
    ]);
    const listed = tableWith(page, "service", "RPCs").map(([service = "", rpcs = ""]) => [
      codesIn(service)[0],
      [...codesIn(rpcs)].sort(),
    ]);
    expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(expected));
  });
});

describe("errors", () => {
  const reasons = Object.entries(Reason).filter(
    ([, reason]) => typeof reason === "number" && reason !== Reason.UNSPECIFIED,
  );
  const rows = tableWith(page, "reason", "status");

  test("are listed with status, gRPC code and the words of both families", () => {
    const expected = reasons.map(([word, reason]) => {
      const refusal = new Refusal(reason as ConstructorParameters<typeof Refusal>[0], "why");
      const bodyIn = (family: Family) => JSON.parse(refusalAnswer(family, refusal, "req_0").body.toString()).error;
      const code: string | null = bodyIn(Family.OPENAI).code;
      const type: string = bodyIn(Family.ANTHROPIC).type;
      return [
        `\`${word}\``,
        String(refusal.status),
        `\`${Code[refusal.code]}\``,
        code ? `\`${code}\`` : "–",
        `\`${type}\``,
      ];
    });
    const byReason = ([a = ""]: readonly string[], [b = ""]: readonly string[]) => a.localeCompare(b);
    expect(rows.map((row) => row.slice(0, 5)).sort(byReason)).toEqual(expected.sort(byReason));
  });

  test("say which other statuses a reason may have", () => {
    const source = readFileSync(join(root, "src/call/refusals.ts"), "utf8");
    const others = source.split(/^export function /m).flatMap((body) => {
      const status = /\[Code\.\w+, (\d+)\]/.exec(body)?.[1];
      const reason = /Reason\.(\w+)/.exec(body)?.[1];
      return status && reason ? [[reason, status] as const] : [];
    });
    expect(others.length).toBeGreaterThan(0);
    const untold = others.filter(
      ([reason, status]) => !rows.some(([first, ...row]) => first === `\`${reason}\`` && row.join().includes(status)),
    );
    expect(untold).toEqual([]);
  });

  test("say what each reason of the catalogue means", () => {
    expect(rows.filter((row) => (row[5] ?? "").length < 10)).toEqual([]);
  });
});

test("headers of the gateway's own are listed, and no others", () => {
  const src = join(root, "src");
  const source = readdirSync(src, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => readFileSync(join(src, path), "utf8"))
    .join("\n");
  const own = /\b(?:x-gateway|x-ratelimit|x-forwarded|anthropic-ratelimit)-[a-z]+(?:-[a-z]+)*/g;
  const written = new Set(source.match(own));
  const listed = new Set(
    ["x-gateway-key", ...(textOf(page).match(own) ?? [])].filter((name) => name !== "x-gateway-upstream,"),
  );
  expect([...written].filter((name) => !listed.has(name)).sort()).toEqual([]);
  expect([...listed].filter((name) => !written.has(name)).sort()).toEqual([]);
});

test("browsers may read every header of answers that is listed", () => {
  const head: Record<string, string> = {};
  const request = { method: "POST", headers: { origin: "https://app.example.com" } };
  createCors(["*"]).mark(request as Parameters<ReturnType<typeof createCors>["mark"]>[0], head);
  const exposed = head["access-control-expose-headers"]?.split(", ") ?? [];
  const answers = textOf(page).split("## Answer headers")[1]?.split("\n## ")[0] ?? "";
  const listed = [...answers.matchAll(/^\| (`[^|]*)\|/gm)].flatMap(([, names = ""]) => codesIn(names));
  expect(listed.length).toBeGreaterThan(20);
  expect(listed.filter((name) => !exposed.includes(name))).toEqual([]);
});
