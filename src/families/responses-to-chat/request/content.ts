/**
 * The parts of an item → the parts of a chat message: texts, images, files, audio.
 *
 * Parts that only a vendor that stores files can fetch (an image by id, a file by URL) are refused by path: a model that
 * never saw it would answer as if it had. Those of answered turns are named (`unshown.ts`). Vendors' additions to a part are kept.
 */
import {
  type ResponseContentPart,
  ResponseContentPartType as Type,
} from "../../../../gen/modelgateway/v1/responses_pb.ts";
import { invalidValue } from "../../../call/refusals.ts";
import { definedFields, isFilled, type JsonObject, type JsonValue } from "../../../wire/json.ts";
import { madeFrom } from "../../paths/origins.ts";
import { type Named, shownOrNamed } from "../../paths/unshown.ts";

export function isText({ type }: ResponseContentPart): boolean {
  return type === Type.INPUT_TEXT || type === Type.OUTPUT_TEXT || type === Type.TEXT;
}

/** Shown is how parts are shown to a model. */
export interface Shown {
  /** takesLinks is whether the upstream fetches files by their URL. */
  readonly takesLinks?: boolean;
  /** unshown receives the path of a part of an answered turn that no message can hold; undefined where it is refused. */
  readonly unshown?: Named | undefined;
}

/** contentOf returns the content of a chat message: a string where it is one plain text. */
export function contentOf(parts: readonly ResponseContentPart[], path: string, shown: Shown = {}): JsonValue {
  const made = parts.flatMap((part, i) => chatParts(part, `${path}[${i}]`, shown));
  const [first] = made;
  if (made.length === 0) return "";
  return made.length === 1 && first?.type === "text" && Object.keys(first).length === 2 ? (first.text as string) : made;
}

/** chatParts throws a Refusal for what no chat message can hold. */
export function chatParts(
  part: ResponseContentPart,
  path: string,
  { takesLinks = false, unshown }: Shown,
): JsonObject[] {
  return shownOrNamed(path, unshown, () => [madePart(part, path, takesLinks)]).map((made) => madeFrom(path, made));
}

function madePart(part: ResponseContentPart, path: string, takesLinks: boolean): JsonObject {
  if (isText(part)) return { ...kept(part), type: "text", text: part.text ?? "" };
  switch (part.type) {
    case Type.INPUT_IMAGE:
      return imagePart(part, path);
    case Type.INPUT_FILE:
      return filePart(part, path, takesLinks);
    case Type.INPUT_AUDIO: {
      const { data, format } = part.inputAudio ?? {};
      return { ...kept(part), type: "input_audio", input_audio: definedFields({ data, format }) };
    }
    case Type.REFUSAL:
      return { type: "text", text: part.refusal ?? "" };
  }
  if (played.has(part.extra?.type)) return { ...part.extra };
  throw invalidValue(`${path}.type`, "the model behind this name cannot be given this kind of content here");
}

/** played are parts of chat that responses do not have: addresses of sounds and videos, as servers of open models have them. */
const played: ReadonlySet<JsonValue | undefined> = new Set(["audio_url", "video_url"]);

function imagePart(part: ResponseContentPart, path: string): JsonObject {
  const { imageUrl: url, detail } = part;
  if (url === undefined) {
    throw invalidValue(path, "the model behind this name takes an image by its `image_url` only");
  }
  return { ...kept(part), type: "image_url", image_url: definedFields({ url, detail }) };
}

function filePart(part: ResponseContentPart, path: string, takesLinks: boolean): JsonObject {
  const { filename, fileUrl, fileId: file_id } = part;
  const file_data = part.fileData ?? (takesLinks ? fileUrl : undefined);
  if (file_data === undefined && file_id === undefined) {
    throw invalidValue(path, "the model behind this name takes a file by its `file_data` only");
  }
  return { ...kept(part), type: "file", file: definedFields({ filename, file_data, file_id }) };
}

/** kept returns a part's additions, without nulls and empty lists. */
function kept({ extra }: ResponseContentPart): JsonObject {
  const entries = Object.entries(extra ?? {});
  return Object.fromEntries(entries.filter(([, value]) => isFilled(value)));
}
