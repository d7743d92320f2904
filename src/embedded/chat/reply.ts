/**
 * The simulator's text: first that it is a simulator, then what it saw in the conversation.
 *
 * After `say …` or `echo …` it repeats just that; after tool results it quotes them.
 */
import type { ChatMessage } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { attachmentsOf } from "../../tokens/content.ts";
import { clip, instructionsOf, lastToolResults, lastUserText, type ToolResult } from "./conversation.ts";

const introduction = "I am the gateway's embedded simulator, not a language model.";

/** Characters of a message or a tool result that are repeated. */
const quoted = 1000;

export function replyTo(messages: readonly ChatMessage[]): string {
  const results = lastToolResults(messages);
  if (results.length > 0) return [introduction, ...results.map(resultSentence)].join(" ");
  const text = lastUserText(messages);
  const requested = wantedText(text);
  return requested !== "" ? requested : [introduction, messageSentence(text), ...contextSentences(messages)].join(" ");
}

/** wantedText returns what follows `say` or `echo`; else an empty text. */
function wantedText(text: string): string {
  const order = /^\s{0,99}(?:say|echo)(?::|(?=\s))/i.exec(text);
  return order ? text.slice(order[0].length).trim() : "";
}

function resultSentence(result: ToolResult): string {
  return `The tool ${result.name} returned: ${result.text === "" ? "(nothing)" : clip(result.text, quoted)}`;
}

function messageSentence(text: string): string {
  return text.trim() === "" ? "Your last message has no text." : `Your last message says: "${clip(text, quoted)}".`;
}

function contextSentences(messages: readonly ChatMessage[]): string[] {
  const { images, sounds, files } = attachmentsOf(messages);
  const seen = [
    counted(messages.length, "message"),
    ...(images > 0 ? [counted(images, "image")] : []),
    ...(sounds > 0 ? [counted(sounds, "sound")] : []),
    ...(files > 0 ? [counted(files, "file")] : []),
  ];
  const instructions = instructionsOf(messages);
  const sentences = [`The conversation holds ${listed(seen)}.`];
  if (instructions !== "") sentences.push(`Its instructions have ${counted(instructions.length, "character")}.`);
  return sentences;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function listed(items: readonly string[]): string {
  return items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`;
}

/**
 * topicOf returns the word that stands for free text in arguments and structured output: the user's quotation, else the last capitalised
 * word within a sentence, else the last word.
 */
export function topicOf(text: string, toolNames: readonly string[]): string {
  let tail = text.slice(-2000).toWellFormed();
  for (const name of toolNames) tail = tail.replaceAll(name, " ");
  const phrase = /"([^"\n]{1,64})"/.exec(tail)?.[1];
  if (phrase !== undefined) return phrase;
  // A capital at the start of a sentence means nothing.
  const named = tail.match(/(?<=[\p{L}\p{N},;:]\s)\p{Lu}[\p{L}\p{N}'’-]+/gu) ?? [];
  const words = tail.match(/[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu) ?? [];
  return clip(named.at(-1) ?? words.at(-1) ?? "example", 64);
}
