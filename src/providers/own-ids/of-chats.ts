/** The ids of what OpenAI's models have said as sound: a later turn has the id in the place of the words. */
import { isObject, type JsonObject, type JsonValue, listOrEmpty, mappedList } from "../../wire/json.ts";
import type { Changes } from "../../wire/splice.ts";
import { type KeptIds, ownId } from "./own-ids.ts";

/** idsOfChats finds them in the messages of a chat, and in its answers. A frame of a stream without any stays the same one. */
export const idsOfChats: KeptIds = {
  request: (asked, codes) =>
    changesIn(asked, "messages", (message, i) =>
      withAudioId(message, (id) => ownId(id, codes, "audio", `messages[${i}].audio.id`)),
    ),
  mayKeep: ({ audio = null, modalities }) => audio !== null || listOrEmpty(modalities).includes("audio"),
  answer: (json, codes) =>
    changesIn(json, "choices", (choice) => {
      const key = isObject(choice.message) ? "message" : "delta";
      const { [key]: said = null } = choice;
      const coded = isObject(said) ? withAudioId(said, codes.add) : said;
      return coded === said ? choice : { ...choice, [key]: coded };
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
