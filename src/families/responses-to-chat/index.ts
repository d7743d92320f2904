/**
 * Responses over a chat model, for upstreams without responses or with fewer item types than the request has.
 *
 * Translated: instructions and items with text, images, files, audio, reasoning, calls and results, those of vendors'
 * tools included; function, custom and namespaced tools, tools that the caller runs by their kind, and the choice
 * among them; the output bound, sampling, formats, reasoning effort, verbosity, log probabilities, compaction. Dropped
 * and named: items that tell of no tool at work, tools that only a vendor runs, `truncation`, `max_tool_calls`, another
 * vendor's encrypted reasoning. Refused: prompt templates, references to unknown items, images and files that only a
 * vendor has, approved calls of MCP servers.
 *
 * References to stored responses and items have been resolved before.
 */
import { Dropped } from "../paths/dropped.ts";
import { byForm, type Translation } from "../translation.ts";
import { responseOf } from "./answer/answer.ts";
import { answerContextOf } from "./answer/response.ts";
import { eventsOf } from "./answer/stream.ts";
import { callersPath } from "./callers-path.ts";
import { withConfiguration } from "./request/configuration-updates.ts";
import { chatRequestOf } from "./request/request.ts";
import { toolsetOf } from "./request/tools.ts";

export const responsesToChat: Translation<"responses", "chat"> = {
  from: "responses",
  to: "chat",
  *translate(request, context) {
    const dropped = new Dropped();
    const tools = yield* toolsetOf(request.message(), context.customTools, dropped);
    const chat = yield* chatRequestOf(withConfiguration(request), tools, context, dropped);
    const answerContext = answerContextOf(request, context, tools.names);
    return {
      request: chat,
      dropped: yield* dropped.inOrderOf(request),
      callersPath: (path) => callersPath(path, request.json(), chat.json()),
      answer: byForm<"responses", "chat">(
        (body) => responseOf(body, answerContext),
        (frames) => eventsOf(frames, answerContext),
      ),
    };
  },
};
