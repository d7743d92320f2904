/** Tells the media type of audio: by its first bytes, else by the server's label, else by the format that was asked for. */
import type { JsonValue } from "@bufbuild/protobuf";

/** unknownType is that of audio of which nothing is known. */
const unknownType = "application/octet-stream";

/** typesOfFormats are the media types of the formats that may be asked for. */
const typesOfFormats: ReadonlyMap<JsonValue, string> = new Map([
  ...(["mp3", "opus", "aac", "flac", "wav", "pcm"] as const).map((format) => [format, `audio/${format}`] as const),
  ["mp3", "audio/mpeg"],
]);

/** marks are the beginnings of files, and the labels that suit them. A mark of two bytes is none: raw samples may have any two. */
const marks: readonly (readonly [isMark: (bytes: Buffer) => boolean, labels: RegExp, type: string])[] = [
  [(bytes) => begins(bytes, "ID3"), /mpeg|mp3|aac/, "audio/mpeg"],
  [(bytes) => begins(bytes, "OggS"), /ogg|opus/, "audio/opus"],
  [(bytes) => begins(bytes, "fLaC"), /flac/, "audio/flac"],
  [(bytes) => begins(bytes, "RIFF") && begins(bytes.subarray(8), "WAVE"), /wav/, "audio/wav"],
];

function begins(bytes: Buffer, mark: string): boolean {
  return bytes.subarray(0, mark.length).toString("latin1") === mark;
}

/** audioType returns the media type of audio that begins with these bytes. `label` is the server's, `asked` the format in the request. */
export function audioType(first: Buffer, label: string | undefined, asked: JsonValue | undefined): string {
  const [, labels, type] = marks.find(([isMark]) => isMark(first)) ?? [];
  const isAudio = label !== undefined && /^(?:audio|video)\//i.test(label);
  if (isAudio && (!labels || labels.test(label.toLowerCase()))) return label;
  return type ?? typesOfFormats.get(asked ?? "mp3") ?? unknownType;
}
