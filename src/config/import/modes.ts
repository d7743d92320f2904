/** Finds the kind of a model, by what the source says of it, or by its name. */

/** Mode is what the gateway makes of a model: its kind, or why there is none. */
export type Mode =
  | { readonly kind: "chat" | "embedding" | "speech"; readonly completions?: "native" }
  | { readonly refused: string };

const absent = (what: string): Mode => ({
  refused: `the gateway has no endpoint for ${what}. Let its clients call the vendor`,
});

/** modes are those of LiteLLM's `model_info`, whose words others use, too. */
export const modes: ReadonlyMap<string, Mode> = new Map(
  Object.entries<Mode>({
    chat: { kind: "chat" },
    responses: { kind: "chat" },
    completion: { kind: "chat", completions: "native" },
    embedding: { kind: "embedding" },
    audio_speech: { kind: "speech" },
    image_generation: absent("images"),
    image_edit: absent("images"),
    audio_transcription: absent("transcription"),
    moderation: absent("moderation"),
    moderations: absent("moderation"),
    rerank: absent("reranking"),
    realtime: absent("realtime sessions"),
    video_generation: absent("video"),
    ocr: absent("OCR"),
    batch: absent("batches"),
    search: absent("search"),
    vector_store: absent("vector stores"),
  }),
);

/** modeNames are patterns for the names of models, with their modes. The first that matches holds. */
export const modeNames: readonly (readonly [name: RegExp, mode: string])[] = [
  [/(?:^|[^a-z])embed(?:ding|der|dings)?(?:[^a-z]|$)|^voyage-|^bge-|^e5-/i, "embedding"],
  [/(?:^|[/-])tts(?:-|$)/i, "audio_speech"],
  [/^(?:dall-e|gpt-image|imagen|flux|stable-diffusion)/i, "image_generation"],
  [/whisper|transcribe/i, "audio_transcription"],
  [/rerank/i, "rerank"],
  [/moderation/i, "moderation"],
  [/realtime/i, "realtime"],
  [/^sora|^veo/i, "video_generation"],
];

/** modeByName returns the mode of a model of which only the name is known. */
export function modeByName(model: string): Mode {
  const bare = model.slice(model.lastIndexOf("/") + 1);
  const [, mode = "chat"] = modeNames.find(([name]) => name.test(bare)) ?? [];
  return modes.get(mode) ?? { kind: "chat" };
}
