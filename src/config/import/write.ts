/** Writes gateway.yaml, with what the import has left out and changed above it. */
import { basename } from "node:path";
import { Document, isMap, isSeq, type Node, visit } from "yaml";
import type { FileDraft } from "./draft.ts";
import { type Note, noteText } from "./notes.ts";

/** lineWidth is where lines of the file are broken, as those of gateway.example.yaml are. */
const lineWidth = 132;

/** Origin is what the file is made of. */
export interface Origin {
  readonly source: string;
  /** command is the command that makes it. */
  readonly command: string;
}

/** writeGatewayYaml returns the text of the file. */
export function writeGatewayYaml(
  origin: Origin,
  { settings, upstreams, models }: FileDraft,
  notes: readonly Note[],
): string {
  const unit = { code: "USD", symbol: "$" };
  const document = new Document({ unit, ...settings, upstreams, models }, { aliasDuplicateObjects: false });
  document.commentBefore = headOf(origin, notes);
  if (isMap(document.contents)) {
    for (const { value } of document.contents.items) flattenLeaves(value as Node, 1);
  }
  visit(document, {
    Scalar(key, node) {
      // A reference to the environment is quoted, as everywhere.
      if (key !== "key" && typeof node.value === "string" && node.value.includes("$")) node.type = "QUOTE_DOUBLE";
    },
  });
  return document.toString({ lineWidth, flowCollectionPadding: true });
}

/** flattenLeaves writes maps and lists of plain values in one line, as people do. */
function flattenLeaves(node: Node | null, depth: number): void {
  if (isMap(node)) {
    const isLeaf = node.items.every(({ value }) => !isMap(value) && !isSeq(value));
    // An upstream or a model without anything within it keeps a line for each key.
    node.flow = isLeaf && depth !== 2;
    for (const { value } of node.items) flattenLeaves(value as Node, depth + 1);
  }
  if (isSeq(node)) {
    node.flow = node.items.every((item) => !isMap(item) && !isSeq(item));
    for (const item of node.items) flattenLeaves(item as Node, depth + 1);
  }
}

function headOf({ source, command }: Origin, notes: readonly Note[]): string {
  const head = [
    ` Made of ${source} by \`model-gateway ${command}\`. gateway.example.yaml has every key that there is.`,
    " Prices are in US dollars for a million tokens. Models without costs of their own have those of the gateway's catalogue.",
  ];
  if (notes.length === 0) return head.join("\n");
  const listed = notes.flatMap((note) => wrapped(noteText(note, basename)));
  return [...head, "", " What is not as it was, by the lines of the source:", ...listed].join("\n");
}

/** wrapped breaks a note into lines of comment. */
function wrapped(text: string): string[] {
  const lines: string[] = [];
  let line = " -";
  for (const word of text.split(" ")) {
    if (line.length + word.length + 2 > lineWidth) {
      lines.push(line);
      line = "  ";
    }
    line += ` ${word}`;
  }
  return [...lines, line];
}

/** variablesIn returns the names of the environment's variables that a draft refers to. */
export function variablesIn(draft: FileDraft): string[] {
  return [...new Set([...JSON.stringify(draft).matchAll(/\$\{(\w+)\}/g)].map(([, name = ""]) => name))].sort();
}
