/**
 * Says comments of the protos in the words of the public wire: amounts as decimals in units, enum values as their texts, HTTP
 * statuses in place of RPC codes. What is for readers of the source or for RPC callers alone is left out.
 */
import { getOption } from "@bufbuild/protobuf";
import { word } from "../../../gen/modelgateway/v1/wire_pb.ts";
import type { Described, Image } from "./image.ts";

export interface Words {
  /** Returns the comment as Markdown; empty where there is none. */
  describe(desc: Described): string;
  /** Returns the first sentence without its full stop, and what follows it. */
  summarise(desc: Described): { readonly summary: string; readonly description: string };
  /** Returns the first sentence at the head of a file, likewise without its full stop. */
  headline(file: string): string;
}

/** Sentences that are not for callers of the public wire. */
const asides = [
  /Source: (?:[^".]|"[^"]*"|\.(?=\S))*(?:\."|\.(?=\s|$)|$)/g,
  /[^.]*\bRPC callers\b[^.]*\.(?=\s|$)/g,
  /Ignores `stream` in the request: [^.]*\.(?=\s|$)/g,
  /On the public wire (?:the same path with|it selects|GetResponse's path with) [^.]*\.(?=\s|$)/g,
];

const replacements: readonly (readonly [RegExp, string])[] = [
  [/,? in millionths of the unit\b/g, ", in units"],
  [/, over Connect's JSON too; on the public wire they are decimals in units/g, ", in units"],
  [/\bNOT_FOUND\b/g, "404"],
  [/\bINVALID_ARGUMENT\b/g, "400"],
  [/\b(?:ALREADY_EXISTS|CONFLICT)\b/g, "409"],
  [/ on the public wire\b/g, ""],
  [/(^|\. )On the public wire the\b/g, "$1The"],
  [/which is kept in `extra`/g, "which is kept as it is"],
  [/ and `extra`/g, " and others"],
];

/** `operationIds` are the operations of the document by the names of their RPCs. */
export function createWords(image: Image, operationIds: ReadonlyMap<string, string>): Words {
  const texts = enumTexts(image);
  const spoken = (paragraph: string): string => {
    let text = paragraph;
    for (const aside of asides) text = text.replaceAll(aside, "");
    for (const [from, to] of replacements) text = text.replaceAll(from, to);
    text = text.replaceAll(/(?<![\w`'"-])[A-Z][A-Z0-9_]{2,}(?![\w`'"-])/g, (name) => texts.get(name) ?? name);
    text = text.replaceAll(/(?<!`)\b[A-Z][a-z]+[A-Z]\w+\b(?!`)/g, (name) => {
      const operationId = operationIds.get(name);
      return operationId === undefined ? name : `\`${operationId}\``;
    });
    return text.replaceAll(/ {2,}/g, " ").trim();
  };
  const paragraphsOf = (desc: Described) => {
    const [first = "", ...others] = image.commentOf(desc);
    const named = desc.kind === "message" || desc.kind === "enum" ? withoutName(desc.name, first) : first;
    return [named, ...others].map(spoken).filter((text) => text !== "");
  };
  return {
    describe: (desc) => paragraphsOf(desc).join("\n\n"),
    summarise(desc) {
      const [first = "", ...others] = paragraphsOf(desc);
      const [summary, rest] = firstSentence(first);
      return { summary, description: [rest, ...others].filter((text) => text !== "").join("\n\n") };
    },
    headline: (file) => firstSentence(spoken(image.headOf(file)[0] ?? ""))[0],
  };
}

/** Drops the name with which the comment of a declaration begins: "Role is the author of a message." */
function withoutName(name: string, comment: string): string {
  if (!comment.startsWith(`${name} `)) return comment;
  const rest = comment.slice(name.length + 1).replace(/^(?:is|are) /, "");
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}

function firstSentence(text: string): readonly [first: string, rest: string] {
  const end = /\.(?=\s|$)/.exec(text)?.index ?? text.length;
  return [text.slice(0, end), text.slice(end + 1).trim()];
}

/** The texts of enum values on the wire, by their names with and without the enum's prefix. */
function enumTexts(image: Image): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const desc of image.enums) {
    for (const value of desc.values) {
      const text = getOption(value, word);
      if (text === "") continue;
      texts.set(value.localName, `\`${text}\``);
      texts.set(value.name, `\`${text}\``);
    }
  }
  return texts;
}
