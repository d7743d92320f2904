/**
 * Content blocks → the parts of a chat message: texts, images, files.
 *
 * Blocks that only the vendor can fetch (its stored files, a document's URL) are refused by path: a model that never saw the
 * document would answer as if it had. Blocks that no part can hold are refused, too. Those of answered turns are named (`unshown.ts`).
 */
import { type BlockSource, type ContentBlock, ContentBlockType } from "../../../../gen/modelgateway/v1/messages_pb.ts";
import { invalidValue, missingField } from "../../../call/refusals.ts";
import { definedFields, type JsonObject } from "../../../wire/json.ts";
import { madeFrom, madeLike } from "../../paths/origins.ts";
import { type Named, shownOrNamed } from "../../paths/unshown.ts";

/** PlacedBlock is a block with its public path. */
export interface PlacedBlock {
  readonly block: ContentBlock;
  readonly path: string;
  /** takesLinks is whether the upstream fetches files by their URL. */
  readonly takesLinks?: boolean;
  /** unshown receives the path of a block of an answered turn that no part can hold; undefined where it is refused. */
  readonly unshown?: Named | undefined;
}

/** Placing is what blocks of one list have in common. */
export type Placing = Pick<PlacedBlock, "takesLinks" | "unshown">;

export function placed(blocks: readonly ContentBlock[], path: string, placing: Placing = {}): PlacedBlock[] {
  const { takesLinks = false, unshown } = placing;
  return blocks.map((block, i) => ({ block, path: `${path}[${i}]`, takesLinks, unshown }));
}

export function textPart(text: string): JsonObject {
  return { type: "text", text };
}

/** partsOf returns the parts for a block; none for an empty text. */
export function partsOf(placed: PlacedBlock): JsonObject[] {
  const { path, unshown } = placed;
  return shownOrNamed(path, unshown, () => madeParts(placed)).map((part) => madeFrom(path, part));
}

function madeParts({ block, path, takesLinks }: PlacedBlock): JsonObject[] {
  switch (block.type) {
    case ContentBlockType.TEXT:
      return block.text ? [textPart(block.text)] : [];
    case ContentBlockType.IMAGE:
      return [imagePart(sourceOf(block, path), `${path}.source`)];
    case ContentBlockType.DOCUMENT: {
      const source = sourceOf(block, path);
      return takesLinks && source.type === "url"
        ? [{ type: "file", file: { file_data: required(source.url, `${path}.source.url`) } }]
        : documentParts(block, source, `${path}.source`);
    }
    case ContentBlockType.SEARCH_RESULT:
      return searchResultParts({ block, path });
  }
  // A tool search names the tools that it found. The tools themselves are in the request.
  const { type, tool_name: toolName } = block.extra ?? {};
  if (type === "tool_reference" && typeof toolName === "string") return [textPart(toolName)];
  if (heardOrPlayed.includes(`${type}`)) return [{ ...block.extra }];
  throw invalidValue(`${path}.type`, "the model behind this name cannot be given this kind of block here");
}

/** heardOrPlayed are parts of chat that no other API has: sounds, and addresses of sounds and videos, as servers of open models have them. */
export const heardOrPlayed: readonly string[] = ["input_audio", "audio_url", "video_url"];

/** Marks are the paths of the marks of a cached prompt that are taken over; undefined where the server takes none. */
export type Marks = Set<string> | undefined;

/** markedParts returns the parts for a block, the last with the block's mark of the prompt cache. */
export function markedParts(placed: PlacedBlock, marks: Marks): JsonObject[] {
  const parts = partsOf(placed);
  const last = parts.at(-1);
  return last ? parts.with(-1, madeLike(last, { ...last, ...markOf(placed, marks) })) : parts;
}

/** markOf returns `{cache_control}` where a block has a mark that the server takes, else `{}`. */
export function markOf({ block: { cacheControl }, path }: PlacedBlock, marks: Marks): JsonObject {
  if (!marks || !cacheControl) return {};
  marks.add(`${path}.cache_control`);
  const { type = "ephemeral", ttl } = cacheControl;
  return { cache_control: definedFields({ type, ttl }) };
}

function sourceOf({ source }: ContentBlock, path: string): BlockSource {
  if (source.case === "sourceData") return source.value;
  throw missingField(`${path}.source`);
}

function imagePart(source: BlockSource, path: string): JsonObject {
  if (source.type === "url") return { type: "image_url", image_url: { url: required(source.url, `${path}.url`) } };
  if (source.type === "base64") return { type: "image_url", image_url: { url: dataUri(source, "image/png", path) } };
  throw invalidValue(path, "the model behind this name takes an image as `base64` or `url` only");
}

function dataUri({ mediaType, data }: BlockSource, otherwise: string, path: string): string {
  return `data:${mediaType ?? otherwise};base64,${required(data, `${path}.data`)}`;
}

function required(text: string | undefined, path: string): string {
  if (text === undefined) throw missingField(path);
  return text;
}

/** documentParts returns the document's parts. A file has room for a name only, so the context goes before it. */
function documentParts({ title, context }: ContentBlock, source: BlockSource, path: string): JsonObject[] {
  switch (source.type) {
    case "base64": {
      const file = { filename: filename(title), file_data: dataUri(source, "application/pdf", path) };
      return [...(context ? [textPart(context)] : []), { type: "file", file }];
    }
    case "text":
      return [textPart(paragraphs(title, context, required(source.data, `${path}.data`)))];
    case "content": {
      const heading = paragraphs(title, context);
      return [...(heading ? [textPart(heading)] : []), ...documentContent(source, `${path}.content`)];
    }
  }
  throw invalidValue(path, "the model behind this name takes a document as `base64`, `text` or `content` only");
}

function documentContent({ content }: BlockSource, path: string): JsonObject[] {
  if (content.case === "contentText") return content.value ? [textPart(content.value)] : [];
  if (content.case === "contentBlocks") return placed(content.value.blocks, path).flatMap(partsOf);
  throw missingField(path);
}

function filename(title: string | undefined): string {
  if (!title) return "document.pdf";
  return title.toLowerCase().endsWith(".pdf") ? title : `${title}.pdf`;
}

function searchResultParts({ block, path }: PlacedBlock): JsonObject[] {
  const { title, source, content } = block;
  const heading = [title, source.case === "sourceUrl" ? source.value : undefined].filter(Boolean).join("\n");
  const found =
    content.case === "contentBlocks" ? placed(content.value.blocks, `${path}.content`).flatMap(partsOf) : [];
  if (content.case === "contentText") found.push(textPart(content.value));
  const texts = found.filter(isText).map(({ text }) => text as string);
  const text = paragraphs(heading, ...texts);
  return [...(text ? [textPart(text)] : []), ...found.filter((part) => !isText(part))];
}

export function isText(part: JsonObject): boolean {
  return part.type === "text";
}

export function paragraphs(...texts: readonly (string | undefined)[]): string {
  return texts.filter(Boolean).join("\n\n");
}

/** contentOf returns a message's content: a single text without a mark as a string, since not every server takes parts. */
export function contentOf(parts: readonly JsonObject[]): JsonObject[] | string {
  const [first, ...others] = parts;
  if (!first) return "";
  const isPlain = others.length === 0 && isText(first) && first.cache_control === undefined;
  return isPlain ? (first.text as string) : [...parts];
}
