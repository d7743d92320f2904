/** Says what happened in a step of an upstream's test, by its reason, and what to do about it. Pages tell the same in other languages. */
import type { TestReason } from "../../../gen/modelgateway/v1/reasons_pb.ts";
import { counted } from "../../runtime/words/counted.ts";

/** TestWord is the name of a reason of the contract. */
export type TestWord = Exclude<keyof typeof TestReason, "UNSPECIFIED">;
export type TestParameters = Readonly<Record<string, string>>;

const downHint = "See that it runs, that its address is right, and that this machine may reach it.";
const addressHint =
  "Check the address: most servers want it to end in /v1. Where calls work all the same, name its models yourself.";

const texts: Readonly<Record<TestWord, (of: TestParameters) => string>> = {
  MODELS_LISTED: ({ models = "" }) => `It lists ${counted(models, "model")}.`,
  NO_MODELS_LISTED: () =>
    "It lists no models: none is loaded there, or the key may use none. Load one, or name one to call.",
  MODEL_ANSWERED: ({ model }) => `${model} answered.`,
  HOST_NOT_FOUND: ({ host }) => `It cannot be asked: no machine has the name ${host}. Check the address.`,
  CONNECTION_REFUSED: ({ host }) => `It cannot be asked: nothing listens at ${host}. ${downHint}`,
  HOST_UNREACHABLE: ({ host }) => `It cannot be asked: no way leads to ${host}. ${downHint}`,
  CONNECTION_BROKEN: ({ host }) => `It cannot be asked: the connection to ${host} broke off. ${downHint}`,
  CONNECTION_FAILED: ({ host, code }) => `It cannot be asked: the connection to ${host} failed (${code}). ${downHint}`,
  TLS_NOT_SPOKEN: ({ host }) =>
    `It cannot be asked: ${host} does not speak TLS there. Write http:// where that is meant.`,
  TLS_EXPECTED: ({ host }) =>
    `It cannot be asked: ${host} does not answer in HTTP. Write https:// where it speaks TLS, and check the port.`,
  CERTIFICATE_REFUSED: ({ host, code }) =>
    `It cannot be asked: the certificate of ${host} is not trusted (${code}). Renew it, or name its authority in NODE_EXTRA_CA_CERTS.`,
  NO_ANSWER: ({ host, milliseconds = "" }) =>
    `It cannot be asked: ${host} did not answer within ${Number(milliseconds) / 1000} s. ${downHint}`,
  CREDENTIAL_REFUSED: ({ status, key = "" }) =>
    `It refused the credential${key === "" ? "" : ` (the key ${key})`}: it answered with status ${status}. Check the key.`,
  CREDIT_USED_UP: ({ status }) =>
    `It refused the call with status ${status}: the credit or quota of your account there is used up. Recharge it there.`,
  MODEL_NOT_FOUND: ({ model }) => `It does not have the model ${model}. Check the name, or whether the key may use it.`,
  RATE_LIMITED: ({ status }) => `It has too many calls for now (status ${status}). Try again later.`,
  REDIRECTED: ({ status }) =>
    `It redirects to another address (status ${status}), which the gateway does not follow. Give that address: with https://, perhaps.`,
  STATUS_REFUSED: ({ status }) =>
    `It answered with status ${status}: it starts, is overloaded or broken. Look at it there.`,
  LIST_NOT_FOUND: ({ status }) =>
    `It has no list of models that can be read: it answered with status ${status}. ${addressHint}`,
  LIST_NOT_JSON: () =>
    `It has no list of models that can be read: the answer is not JSON, but a web page, perhaps. ${addressHint}`,
  LIST_MALFORMED: () => `It has no list of models that can be read: the answer has none. ${addressHint}`,
  LIST_TOO_LARGE: ({ most = "" }) =>
    `It has no list of models that can be read: it is longer than ${counted(most, "model")}. Name its models yourself.`,
  CALL_REFUSED: ({ status, words = "" }) =>
    `It refused the call with status ${status}${words === "" ? ". Check the address, the kind, and the name of the model." : `: ${words}`}`,
  ANSWER_UNUSABLE: () =>
    "It answered the call otherwise than this API does. Check the address, and whether it speaks the API of this kind.",
  OPERATION_NOT_FOUND: ({ model }) =>
    `It has no operation for a call of ${model}. Take the operation out of the upstream's profile.`,
  KIND_NOT_SERVED: ({ kind }) => `No model was called: it serves no model of kind ${kind}.`,
  STEP_BEFORE_FAILED: () => "No model was called: the step before failed.",
  NO_MODEL_KNOWN: () => "No model was called: none is configured there and none is listed. Name one.",
  GATEWAY_FAILED: () => "The call failed within the gateway: see its log.",
};

/** testMessage returns the message of a step in English. */
export function testMessage(reason: TestWord, parameters: TestParameters): string {
  return texts[reason](parameters);
}
