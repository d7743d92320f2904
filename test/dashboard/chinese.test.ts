/**
 * The pages' words: punctuation of Chinese texts is full-width, no page writes punctuation between texts itself, and what the audit log
 * tells of has a name.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { getOption } from "@bufbuild/protobuf";
import { parseSync } from "rolldown/utils";
import { describe, expect, test } from "vitest";
import { access } from "../../gen/modelgateway/v1/access_pb.ts";
import { AccountService } from "../../gen/modelgateway/v1/accounts_pb.ts";
import { InferenceService } from "../../gen/modelgateway/v1/inference_pb.ts";
import { KeyService } from "../../gen/modelgateway/v1/keys_pb.ts";
import { OperatorService } from "../../gen/modelgateway/v1/operator_pb.ts";
import { SessionService } from "../../gen/modelgateway/v1/sessions_pb.ts";
import { UsageService } from "../../gen/modelgateway/v1/usage_pb.ts";
import { pathsBelow } from "../../src/package/package-files.ts";
import { root } from "../support/command.ts";

const pages = join(root, "dashboard/src");

/** Files that write programs and styles, which are no texts. */
const programs = ["pages/keys/snippets.ts", "pages/playground/code.ts", "parts/narrow.ts"];

interface Node {
  readonly type: string;
  readonly [member: string]: unknown;
}

/** hole stands for each variable part of a text. */
const hole = "◦";

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && "type" in value;

/** nodesOf visits a tree from its root on, but for what `isLeft` says. */
function* nodesOf(value: unknown, isLeft: (node: Node) => boolean): Generator<Node> {
  if (Array.isArray(value)) for (const one of value) yield* nodesOf(one, isLeft);
  if (!isNode(value) || isLeft(value)) return;
  yield value;
  for (const member of Object.values(value)) yield* nodesOf(member, isLeft);
}

/** textOf returns the text that a node writes; undefined where it writes none. */
function textOf({ type, value, quasis }: Node): string | undefined {
  if ((type === "Literal" || type === "JSXText") && typeof value === "string") return value;
  if (type !== "TemplateLiteral") return undefined;
  return (quasis as { value: { cooked: string } }[]).map((part) => part.value.cooked).join(hole);
}

const isCatalogue = ({ type, callee }: Node) =>
  type === "CallExpression" && ["texts", "tellReasons"].includes((callee as { name?: string }).name ?? "");

const sources = pathsBelow(pages)
  .filter((path) => /\.tsx?$/.test(path))
  .map((path) => {
    const source = readFileSync(join(pages, path), "utf8");
    return { path, program: parseSync(path, source, { lang: path.endsWith("x") ? "tsx" : "ts" }).program };
  });

/** Named is a member of an object, whose name is an identifier or a text. */
interface Named {
  readonly key: { readonly name?: string; readonly value?: string };
}

/** namesIn returns what the first texts of a file are called by. */
function namesIn(file: string): readonly string[] {
  const nodes = nodesOf(sources.find(({ path }) => path === file)?.program, () => false);
  const [catalogue] = [...nodes].filter(isCatalogue);
  const [english] = (catalogue?.arguments ?? []) as readonly { properties: readonly Named[] }[];
  return (english?.properties ?? []).map(({ key }) => key.name ?? key.value ?? "");
}

function textsIn(isLeft: (node: Node) => boolean, isTold: (node: Node, text: string, path: string) => boolean) {
  return sources.flatMap(({ path, program }) =>
    [...nodesOf(program, isLeft)].flatMap((node) => {
      const text = textOf(node);
      return text !== undefined && isTold(node, text, path) ? [`${path}: ${text}`] : [];
    }),
  );
}

describe("punctuation", () => {
  const half = /[\p{Script=Han}”）◦] ?[,;:!?()](?!\d)|[,;:!?()] ?[\p{Script=Han}“（]/u;
  const isHalf = (text: string) =>
    /\p{Script=Han}/u.test(text) && half.test(text.replaceAll(/`[^`]*`|[a-z]+:\/\/\S+/g, ""));

  test("of a Chinese text is full-width", () => {
    expect(["超过: 6", "用户:密码", "模型(对话)", "◦, 其他", "停用!"].filter((text) => !isHalf(text))).toEqual([]);
    expect(["redis://用户:密码@主机:6379", "模型：a, b", "（a）"].filter(isHalf)).toEqual([]);
    expect(
      textsIn(
        () => false,
        (_, text) => isHalf(text),
      ),
    ).toEqual([]);
  });

  test("is written in texts, and not between them", () => {
    const isBetween = ({ type }: Node, text: string, path: string) => {
      if (programs.includes(path)) return false;
      if (type === "JSXText") return /^\s*[,;:!?()]|[,;:!?()]\s*$/.test(text);
      return type === "TemplateLiteral" ? /◦ ?[,;:!?(](?: |$|◦)|[,;:] ◦/.test(text) && !/◦:◦|◦,◦/.test(text) : false;
    };
    expect(textsIn(isCatalogue, isBetween)).toEqual([]);
    // The sources are read: most of the pages' texts are Chinese ones of the catalogues.
    expect(
      textsIn(
        () => false,
        (_, text) => /\p{Script=Han}/u.test(text),
      ).length,
    ).toBeGreaterThan(500);
    const joined = sources.flatMap(({ path, program }) =>
      [...nodesOf(program, isCatalogue)].flatMap((node) => {
        const { property } = (node.callee ?? {}) as { property?: { name?: string } };
        const [by] = (node.arguments ?? []) as readonly { value?: unknown }[];
        const isJoin = property?.name === "join" && typeof by?.value === "string" && /[,;:] /.test(by.value);
        return isJoin && !programs.includes(path) ? [path] : [];
      }),
    );
    expect(joined).toEqual([]);
  });
});

describe("the audit log", () => {
  const services = [AccountService, InferenceService, KeyService, OperatorService, SessionService, UsageService];
  const audited = services.flatMap(({ methods }) =>
    methods.flatMap((method) => {
      const { audit } = getOption(method, access);
      return audit ? [{ action: `${method.parent.name}.${method.name}`, audit }] : [];
    }),
  );

  test("has a name for every action", () => {
    const names = namesIn("pages/operator/action-names.ts");
    expect(names).toContain("KeyService.CreateKey");
    expect(audited.filter(({ action }) => !names.includes(action))).toEqual([]);
  });

  test("has a name for every detail", () => {
    const told = audited.flatMap(({ audit: { tells, answers } }) => [
      ...tells,
      ...answers.map((path) => path.split(".").at(-1) ?? path),
    ]);
    expect(told).toContain("credit_limit");
    const names = namesIn("pages/operator/detail-names.ts");
    expect(told.filter((name) => !names.includes(name))).toEqual([]);
  });
});
