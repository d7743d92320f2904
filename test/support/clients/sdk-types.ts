/**
 * Holds answers to the types of the official SDKs, as they are installed: what a type requires, clients in typed languages fail without.
 *
 * The types are read with TypeScript 5, whose functions TypeScript 7 does not have: it comes with the generator of the code in `gen`.
 */
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect } from "vitest";
import type { Any } from "./strict-values.ts";

const types = {
  ChatCompletion: "OpenAI.Chat.ChatCompletion",
  ChatCompletionChunk: "OpenAI.Chat.ChatCompletionChunk",
  Completion: "OpenAI.Completion",
  Embeddings: "OpenAI.CreateEmbeddingResponse",
  Response: "OpenAI.Responses.Response",
  ResponseStreamEvent: "OpenAI.Responses.ResponseStreamEvent",
  OpenAiModel: "OpenAI.Model",
  Message: "Anthropic.Message",
  MessageStreamEvent: "Anthropic.RawMessageStreamEvent",
  MessageTokensCount: "Anthropic.MessageTokensCount",
  ModelInfo: "Anthropic.ModelInfo",
};

/** What the SDKs add to an answer themselves. */
const addedByClients = ["output_text", "_request_id"];

const { resolve: resolveHere } = createRequire(import.meta.url);
const ts: Any = createRequire(resolveHere("@bufbuild/protoplugin"))("typescript");

let reader: { readonly checker: Any; readonly typeOf: ReadonlyMap<string, Any> } | undefined;

/** readTypes reads the SDKs' types once for all checks of a process: it takes a second or two. */
function readTypes() {
  if (reader) return reader;
  const file = join(import.meta.dirname, "sdk-types.of-sdks.ts");
  const head = 'import type OpenAI from "openai"; import type Anthropic from "@anthropic-ai/sdk";';
  const names = Object.entries(types).map(([name, type]) => `export declare const ${name}: ${type};`);
  const source = ts.createSourceFile(file, [head, ...names].join("\n"), ts.ScriptTarget.ESNext, true);
  const { NodeNext: module } = ts.ModuleKind;
  const options = { module, target: ts.ScriptTarget.ESNext, strict: true, noEmit: true, types: ["node"] };
  const host = ts.createCompilerHost(options);
  const { fileExists, getSourceFile } = host;
  host.fileExists = (name: string) => name === file || fileExists(name);
  host.getSourceFile = (name: string, ...rest: Any[]) => (name === file ? source : getSourceFile(name, ...rest));
  const program = ts.createProgram([file], options, host);
  expect(program.getSemanticDiagnostics(source)).toEqual([]);
  const checker = program.getTypeChecker();
  const exported: Any[] = checker.getExportsOfModule(checker.getSymbolAtLocation(source));
  reader = { checker, typeOf: new Map(exported.map((one) => [one.name, checker.getTypeOfSymbol(one)])) };
  return reader;
}

/** checkSdkType throws where an answer lacks a member that its type in the SDK requires, other than those of `but`. */
export function checkSdkType(name: keyof typeof types, value: unknown, but: readonly string[] = []): void {
  const type = readTypes().typeOf.get(name);
  const lacking = lackingIn(type, value, name).filter((path) => !but.some((key) => path.endsWith(`.${key}`)));
  if (lacking.length > 0) throw new Error(`missing: ${lacking.join(", ")}`);
}

/** lackingIn returns the paths of members that are required and not there. Null is there. */
function lackingIn(type: Any, value: Any, path: string): string[] {
  if (typeof value !== "object" || value === null) return [];
  const { checker } = readTypes();
  if (type.isUnion()) return leastOf(variantsOf(type.types, value).map((one) => lackingIn(one, value, path)));
  if (Array.isArray(value)) {
    const [item] = checker.isArrayType(type) ? checker.getTypeArguments(type) : [];
    return item ? value.flatMap((one, i) => lackingIn(item, one, `${path}[${i}]`)) : [];
  }
  const members: Any[] = checker.getPropertiesOfType(type).filter((one: Any) => !addedByClients.includes(one.name));
  return members.flatMap((member) => {
    const { name, flags } = member;
    if (value[name] !== undefined) return lackingIn(checker.getTypeOfSymbol(member), value[name], `${path}.${name}`);
    return flags & ts.SymbolFlags.Optional ? [] : [`${path}.${name}`];
  });
}

/** variantsOf returns the members of a union that a value can be of: those with its `type` where any has it, and else all objects. */
function variantsOf(all: readonly Any[], value: Any): readonly Any[] {
  const { checker } = readTypes();
  const objects = all.filter(
    (one) => one.flags & ts.TypeFlags.Object && checker.isArrayType(one) === Array.isArray(value),
  );
  const named = objects.filter((one) => {
    const type = checker.getPropertyOfType(one, "type");
    const words = type ? checker.getTypeOfSymbol(type) : undefined;
    return (words?.isUnion() ? words.types : [words]).some((word: Any) => word?.value === value.type);
  });
  return named.length > 0 && value.type !== undefined ? named : objects;
}

function leastOf(lists: readonly string[][]): string[] {
  return lists.reduce((least, one) => (one.length < least.length ? one : least), lists[0] ?? []);
}
