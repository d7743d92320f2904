/**
 * Translates stream chunks that differ in their text alone without reading most of them. A chunk is translated until
 * it becomes a single frame that contains its text once; that frame is then reused around the texts that follow.
 *
 * It serves translations in which such a text changes no state: the same chunk always becomes the same frame. An
 * empty text becomes nothing.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import { type DeltaTemplate, findTemplate, type PlainText } from "../wire/scan/delta-template.ts";
import { Wire } from "../wire/wire.ts";

type Translate<I extends DescMessage, O extends DescMessage> = (chunk: Wire<I>) => readonly Wire<O>[];

/** TemplateRun is a run of chunks that match one template. */
interface TemplateRun<O extends DescMessage> {
  /** The template of the chunks. */
  readonly input: DeltaTemplate;
  readonly desc: O;
  /** The template of the translated frames. */
  readonly output: DeltaTemplate;
}

/**
 * `keys` are the members that may hold the text in the translation, and `write` frames it as the caller's door does.
 */
export function translateByTemplate<I extends DescMessage, O extends DescMessage>(
  translate: Translate<I, O>,
  keys: readonly string[],
  write: (translated: Wire<O>) => Buffer,
): Translate<I, O> {
  let run: TemplateRun<O> | undefined;
  return (chunk) => {
    const { plainText } = chunk;
    if (plainText && plainText.template === run?.input) return repeat(run, plainText.bytes);
    const translated = translate(chunk);
    run = plainText && runOf(plainText, translated, keys, write);
    return translated;
  };
}

function repeat<O extends DescMessage>({ desc, output }: TemplateRun<O>, text: Buffer): readonly Wire<O>[] {
  return text.length === 0 ? [] : [Wire.ofFrame(desc, Buffer.concat([output.before, text, output.after]))];
}

/** runOf returns undefined where a chunk became anything but one frame with its text in it once. */
function runOf<O extends DescMessage>(
  { template, bytes }: PlainText,
  translated: readonly Wire<O>[],
  keys: readonly string[],
  write: (translated: Wire<O>) => Buffer,
): TemplateRun<O> | undefined {
  const [only] = translated;
  if (!only || translated.length > 1) return undefined;
  const frame = write(only);
  const text = bytes.toString();
  for (const key of keys) {
    const found = findTemplate(key, text, frame);
    if (found) return { input: template, desc: only.desc, output: found };
  }
  return undefined;
}
