/**
 * Chat over a server of chat that takes no tools but functions.
 *
 * A custom tool becomes a function of one text, and its calls come back as custom ones. Of a list of those tools that may be
 * called now, these alone are offered. All else passes as it came. Dropped and named: the grammar of a custom tool, which
 * the model is told.
 */
import { byForm, type Translation } from "../translation.ts";
import { customFrames, withCustomCalls } from "./answer.ts";
import { functionsOnly } from "./request.ts";

export const toolsAsFunctions: Translation<"chat", "chat"> = {
  from: "chat",
  to: "chat",
  *translate(request) {
    const { changes, custom, dropped } = yield* functionsOnly(request.json());
    return {
      request: request.changedBy(changes),
      dropped,
      callersPath: (path) => path,
      answer:
        custom.size === 0
          ? (answer) => answer
          : byForm<"chat", "chat">(
              (body) => withCustomCalls(body, custom),
              (frames) => customFrames(frames, custom),
            ),
    };
  },
};
