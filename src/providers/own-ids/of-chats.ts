/** The ids of what OpenAI's models have said as sound: a later turn has the id in the place of the words. */
import { isObject, type JsonObject, type JsonValue, listOrEmpty, mappedList } from "../../wire/json.ts";
import type { Changes } from "../../wire/splice.ts";
import { type KeptIds, ownId } from "./own-ids.ts";

export const idsOfChats: KeptIds = {
  request: (asked, codes) =>
    changesIn(asked, "messages", (message, i) =>
      withAudioId(message, (id) => ownId(id, codes, "audio", `messages[${i}].audio.id`)),
    ),
  mayKeep: ({ audio = null, modalities }) => audio !== null || listOrEmpty(modalities).includes("audio"),
  answer: (json, codes) =>
    changesIn(json, "choices", (choice) => {
      const { message, delta } = choice;
      if (isObject(message)) return { ...choice, message: withAudioId(message, codes.add) };
      return isObject(delta) ? { ...choice, delta: withAudioId(delta, codes.add) } : choice;
    }),
};

function changesIn(json: JsonObject, key: string, change: (one: JsonObject, index: number) => JsonObject): Changes {
  const list = json[key];
  if (!Array.isArray(list)) return {};
  const changed = mappedList(list, (one, i): JsonValue => (isObject(one) ? change(one, i) : one));
  return changed === list ? {} : { [key]: changed };
}

function withAudioId(message: JsonObject, rename: (id: string) => string): JsonObject {
  const { audio } = message;
  if (!isObject(audio) || typeof audio.id !== "string") return message;
  return { ...message, audio: { ...audio, id: rename(audio.id) } };
}
