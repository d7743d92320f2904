/**
 * The audit log: one event for each call of an RPC whose contract asks for it, successful or refused, written when it has ended, before
 * it is answered.
 *
 * An event has the fields that the contract names, in their public form, and nothing else. It never has a secret, and a subject
 * only if it has the form of an id, because somebody may have sent a secret in its place. A repetition under an `Idempotency-Key`
 * says so, for it has done nothing; it is told all the same, since the process may have died before the event of the first. Two
 * kinds of refusals are not logged, so that a flood of calls cannot fill the table: those for the rate, and those for the form of
 * requests that anyone may send. An event that cannot be written fails no call, because its action has been done.
 */
import type { DescField, DescMessage, DescMethod, JsonObject, Message } from "@bufbuild/protobuf";
import { type Audit as AuditOption, Caller as Least } from "../../../gen/modelgateway/v1/access_pb.ts";
import { type Answer, type Call, type Handler, here } from "../../call/call.ts";
import { asRefusal, Reason, reasonWord } from "../../call/refusals.ts";
import type { AuditEventStore, NewAuditEvent } from "../../storage/people/audit-events.ts";
import type { Storage } from "../../storage/storage.ts";
import { Wire } from "../../wire/wire.ts";
import { accessOf } from "../admit/authorize.ts";

export interface AuditOptions {
  readonly storage: Pick<Storage, "accounts" | "users"> & { readonly auditEvents: Pick<AuditEventStore, "insert"> };
  readonly newId: (prefix: string, now: number) => string;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
  /** Called with the error of an event that could not be written. */
  readonly onError: (error: unknown) => void;
}

/** audit wraps a handler with the audit of these RPCs. Throws where a contract names a field that does not exist. */
export function audit(handle: Handler, methods: readonly DescMethod[], options: AuditOptions): Handler {
  const plans = new Map(methods.flatMap((method) => planOf(method) ?? []).map((plan) => [plan.method, plan]));
  const audited = async (call: Call, plan: Plan): Promise<Answer> => {
    if (plan.unless?.(messageOf(call.request) ?? none) === true) return handle(call);
    // Both are read before the call: it may remove the user, and the client may disconnect.
    const { address } = call.peer;
    const named = await accountNamed(plan, call, options);
    let answer: Answer;
    try {
      answer = await handle(call);
    } catch (error) {
      await write(plan, call, { error, named, address }, options);
      throw error;
    }
    await write(plan, call, { answer, named, address }, options);
    return answer;
  };
  return (call) => {
    const plan = plans.get(call.method);
    return plan ? audited(call, plan) : handle(call);
  };
}

/** Reads a value along a path of fields. */
type Reader = (message: Message) => unknown;

interface Plan {
  readonly method: DescMethod;
  /** As `KeyService.CreateKey`. */
  readonly action: string;
  readonly subject: { readonly inAnswer: Reader | undefined; readonly inRequest: Reader | undefined };
  /** The fields of the answer that may hold the account. */
  readonly accounts: readonly Reader[];
  /** Fields of the request, by their public names. */
  readonly tells: readonly string[];
  /** Paths of fields of the answer, whose last names are those of their details. */
  readonly answers: readonly string[];
  /** The field of the request with which a call changes nothing. */
  readonly unless: Reader | undefined;
  /** signsIn is whether the caller is known only from the answer. */
  readonly signsIn: boolean;
}

/** Stands for a request that does not fit its message: it has no field. */
const none = {} as Message;

const accountPaths = ["account.id", "entry.account_id", "user.account_id"];

function planOf(method: DescMethod): Plan | undefined {
  const { audit, caller } = accessOf(method);
  if (!audit) return undefined;
  const { input, output, parent } = method;
  if (method.methodKind !== "unary") throw broken(method, "streams, and has no answer to tell of");
  for (const name of audit.tells) if (!readerOf(input, name)) throw broken(method, `tells \`${name}\``);
  for (const path of audit.answers)
    if (!readerOf(output, path)) throw broken(method, `tells \`${path}\` of its answer`);
  const unless = audit.unless === "" ? undefined : readerOf(input, audit.unless);
  if (audit.unless !== "" && !unless) throw broken(method, `is none with \`${audit.unless}\``);
  return {
    method,
    action: `${parent.name}.${method.name}`,
    subject: subjectOf(method, audit),
    accounts: accountPaths.flatMap((path) => readerOf(output, path) ?? []),
    tells: audit.tells,
    answers: audit.answers,
    unless,
    signsIn: caller === Least.ANYONE,
  };
}

function subjectOf(method: DescMethod, { subject }: AuditOption): Plan["subject"] {
  if (subject === "") return { inAnswer: undefined, inRequest: undefined };
  const found = { inAnswer: readerOf(method.output, subject), inRequest: readerOf(method.input, subject) };
  if (!found.inAnswer && !found.inRequest) throw broken(method, `has the subject \`${subject}\``);
  return found;
}

function broken({ parent, name }: DescMethod, why: string): Error {
  return new Error(`${parent.name}.${name} cannot be audited: it ${why}`);
}

/** Compiles a path of names; undefined where the message has no such field. */
function readerOf(desc: DescMessage, path: string): Reader | undefined {
  const fields: DescField[] = [];
  let within: DescMessage | undefined = desc;
  for (const name of path.split(".")) {
    const field: DescField | undefined = within?.fields.find((one) => one.name === name);
    if (!field) return undefined;
    fields.push(field);
    within = field.message;
  }
  return (message) =>
    fields.reduce<unknown>(
      (value, { localName }) => (value as Record<string, unknown> | undefined)?.[localName],
      message,
    );
}

/** accountNamed returns the account that the request names, directly or by one of its users; empty for none. */
async function accountNamed({ method }: Plan, { request }: Call, { storage }: AuditOptions): Promise<string> {
  const { account, userId } = (messageOf(request) ?? {}) as { account?: unknown; userId?: unknown };
  if (method.input.field.account && typeof account === "string")
    return (await storage.accounts.find(account))?.id ?? "";
  if (method.input.field.userId && typeof userId === "string")
    return (await storage.users.find(userId))?.account_id ?? "";
  return "";
}

interface Ended {
  /** answer is unset where it was refused. */
  readonly answer?: Answer;
  readonly error?: unknown;
  /** The account that the request names. */
  readonly named: string;
  /** The client's network address. */
  readonly address: string;
}

/** The reasons of refusals for a request's form. */
const ofForm: readonly Reason[] = [
  Reason.MALFORMED_BODY,
  Reason.INVALID_TYPE,
  Reason.INVALID_VALUE,
  Reason.MISSING_FIELD,
];

/** Never rejects. */
async function write(
  plan: Plan,
  call: Call,
  { answer, error, named, address }: Ended,
  options: AuditOptions,
): Promise<void> {
  const refusal = answer ? undefined : asRefusal(error);
  if (refusal?.reason === Reason.RATE_LIMITED) return;
  if (plan.signsIn && refusal && ofForm.includes(refusal.reason)) return;
  try {
    const { caller, request } = call;
    const bound = refusal ? maxFieldLength.refused : maxFieldLength.done;
    const now = options.clock();
    const answered = answer?.kind === "whole" ? answer.body.message() : undefined;
    const subject = idAt(plan.subject.inAnswer, answered) || idAt(plan.subject.inRequest, messageOf(request));
    const signedIn = plan.signsIn && answer && subject.startsWith("usr_") ? subject : "";
    const told = plan.accounts.map((reader) => idAt(reader, answered)).find((id) => id !== "");
    const ofUser = signedIn ? (await options.storage.users.find(signedIn))?.account_id : undefined;
    await options.storage.auditEvents.insert({
      id: options.newId("act", now),
      created_at: now,
      action: plan.action,
      ...actorOf(call, signedIn),
      account_id: told || named || ofUser || caller.accountId,
      subject,
      details: detailsOf(plan, request, bound, [...answeredOf(plan, answered), ...replayOf(answer)]),
      refused: refusal ? reasonWord(refusal.reason) : "",
      address,
    });
  } catch (failure) {
    options.onError(failure);
  }
}

type Actor = Pick<NewAuditEvent, "actor_kind" | "actor_id">;

/** actorOf returns who makes a call; `signedIn` is the user whom it has signed in. */
export function actorOf({ caller, peer }: Pick<Call, "caller" | "peer">, signedIn = ""): Actor {
  const { userId, keyId, rights } = caller;
  if (signedIn || userId) return { actor_kind: "user", actor_id: signedIn || userId };
  if (keyId) return { actor_kind: "key", actor_id: keyId };
  if (rights !== "operator") return { actor_kind: "nobody", actor_id: "" };
  return { actor_kind: peer === here ? "command_line" : "operator_key", actor_id: "" };
}

/** idAt returns the value if it has the form of an id, and otherwise an empty text: it may be anything that a caller sent. */
function idAt(reader: Reader | undefined, message: Message | undefined): string {
  const value = message && reader?.(message);
  return typeof value === "string" && /^[a-z]{2,4}_[0-9a-z]{1,40}$/.test(value) ? value : "";
}

/** messageOf returns undefined for a request that does not fit its message, and was refused for that. */
function messageOf(request: Wire): Message | undefined {
  try {
    return request.message();
  } catch {
    return undefined;
  }
}

/** The most that is logged of a field, in characters of its JSON. It is little for refusals, which anyone can cause in numbers. */
const maxFieldLength = { done: 2000, refused: 200 };

/** detailsDone returns the details of a successful call, also for actions that the command line performs by itself. */
export function detailsDone(method: DescMethod, request: Wire): string {
  return detailsOf(accessOf(method).audit ?? { tells: [] }, request, maxFieldLength.done);
}

/** answeredOf returns the details of an answer in their public form; none where the call was refused. */
function answeredOf({ answers, method }: Plan, answered: Message | undefined): readonly (readonly [string, unknown])[] {
  if (!answered || answers.length === 0) return [];
  const json = Wire.ofMessage(method.output, answered).json();
  return answers.map((path) => {
    const names = path.split(".");
    const value = names.reduce<unknown>((within, name) => (within as JsonObject | undefined)?.[name], json);
    return [names.at(-1) ?? path, value];
  });
}

/** replayOf returns the detail of an answer that repeats an earlier one. */
function replayOf(answer: Answer | undefined): readonly (readonly [string, unknown])[] {
  const isReplayed = answer?.kind === "whole" && answer.headers?.["x-gateway-replayed"] === "true";
  return isReplayed ? [["replayed", true]] : [];
}

function detailsOf(
  { tells }: Pick<Plan, "tells">,
  request: Wire,
  bound: number,
  answered: readonly (readonly [string, unknown])[] = [],
): string {
  const message = messageOf(request);
  if (!message) return "{}";
  const json = Wire.ofMessage(request.desc, message).json();
  const values = [...tells.map((name) => [name, json[name]] as const), ...answered];
  const told = values.flatMap(([name, value]) => {
    // A person may type the password where the e-mail address belongs.
    if (value === undefined || (name === "email" && !/^[^\s@]+@[^\s@]+$/.test(String(value)))) return [];
    const text = JSON.stringify(value);
    return [[name, text.length > bound ? `${text.slice(0, bound)}…` : value]];
  });
  return JSON.stringify(Object.fromEntries(told));
}
