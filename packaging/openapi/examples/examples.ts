/** The examples of the document, by operation. */
import answers from "./answers.json" with { type: "json" };
import { bodies, parameters, type RequestExample } from "./requests.ts";

/** AnswerExample is an answer of the embedded models, or an event of a stream of one. */
export interface AnswerExample {
  readonly type: string;
  readonly value: unknown;
}

export function requestsOf(operationId: string): Readonly<Record<string, RequestExample>> {
  return bodies[operationId] ?? {};
}

export function parametersOf(operationId: string): Readonly<Record<string, string | number | boolean>> {
  return parameters[operationId] ?? {};
}

export function answersOf(operationId: string): Readonly<Record<string, AnswerExample>> {
  return (answers as Readonly<Record<string, Readonly<Record<string, AnswerExample>>>>)[operationId] ?? {};
}
