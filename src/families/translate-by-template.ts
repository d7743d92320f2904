/**
 * Translates chunks of a stream that differ from one another in their text alone, most of them without reading them: they are
 * read until one becomes a single frame that tells its text, and what that became is written again around the texts that
 * follow at once.
 *
 * It is for translations in which such a text leaves no trace: told once more, it becomes once more what it became. An
 * empty one becomes nothing.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import { type DeltaTemplate, findTemplate, type PlainText } from "../wire/scan/delta-template.ts";
import { Wire } from "../wire/wire.ts";

type Translate<I extends DescMessage, O extends DescMessage> = (chunk: Wire<I>) => readonly Wire<O>[];

/** What chunks that are alike become. */
interface TemplateRun<O extends DescMessage> {
  /** What they have in common. */
  readonly input: DeltaTemplate;
  readonly desc: O;
  /** What stands around the text in the frame of what they become. */
  readonly output: DeltaTemplate;
}

/** `keys` are those under which what comes of a chunk may tell its text, and `write` frames it as the caller's door does. */
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

/** Returns undefined where a chunk became anything else than one frame that tells its text, and that only once. */
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
    const told = findTemplate(key, text, frame);
    if (told) return { input: template, desc: only.desc, output: told };
  }
  return undefined;
}
