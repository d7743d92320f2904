/** Reads tokens of cl100k_base, which clients of OpenAI's models of vectors write in place of texts. */

/** Decode returns the text of tokens; undefined where one of them is none. */
export type Decode = (tokens: readonly number[]) => string | undefined;

let loaded: Promise<Decode> | undefined;

/** loadDecoder loads the vocabulary at the first call: it is a megabyte that few gateways need. */
export function loadDecoder(): Promise<Decode> {
  loaded ??= load();
  return loaded;
}

async function load(): Promise<Decode> {
  const { decode } = await import("gpt-tokenizer/encoding/cl100k_base");
  return (tokens) => {
    try {
      return decode(tokens);
    } catch {
      return undefined;
    }
  };
}
