/**
 * Two ways to read a request that have to agree, whatever a caller writes.
 *
 * The scan and the piecewise reader against the engine's own parser: they take the same value, or refuse. The quick check
 * against the plain validator: what it is sure of is sound, and a request is accepted by both or refused by both. What a request
 * says is the same whether it is read at once, in turns, past its long texts, or with a member replaced in its text.
 */
import { isDeepStrictEqual } from "node:util";
import { deflateRawSync } from "node:zlib";
import { type DescMessage, type JsonObject, type JsonValue, toBinary } from "@bufbuild/protobuf";
import { createValidator } from "@bufbuild/protovalidate";
import { AccountService } from "../../../gen/modelgateway/v1/accounts_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { KeyService } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";
import { SessionService } from "../../../gen/modelgateway/v1/sessions_pb.ts";
import { UsageService } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { asRefusal, Reason } from "../../../src/call/refusals.ts";
import { createValidate } from "../../../src/pipeline/check/validate.ts";
import { validateLong } from "../../../src/pipeline/check/validate-long.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";
import { isSurelyValidRequest } from "../../../src/wire/check/quick-check.ts";
import { WireFault } from "../../../src/wire/fault.ts";
import { parseJson, readLongRequest, readMembers } from "../../../src/wire/json.ts";
import { readMessage } from "../../../src/wire/read.ts";
import { type OmittedText, restoreOmitted } from "../../../src/wire/scan/build.ts";
import { withDoubles } from "../../../src/wire/scan/exact-number.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { pick, type Random, randomOf } from "../../support/run/random.ts";
import { anyMessage } from "../messages.ts";
import { mutated, mutatedBytes } from "../mutate.ts";
import { readNaively } from "../naive-json.ts";
import { spelled } from "../spelled.ts";
import type { FuzzOptions } from "../target.ts";

export interface QuickCheckOptions extends FuzzOptions {
  /** The check that is held against the validator; left out: the gateway's own. */
  readonly isSure?: typeof isSurelyValidRequest;
  /** The reader that is held against the engine's parser; left out: the gateway's own. */
  readonly read?: (bytes: Buffer) => JsonValue;
}

/** Throws an Error with the seed and the case at the first difference. The same seed makes the same cases. */
export async function fuzzQuickCheck({ seconds, seed, cases = Infinity, onCase, ...given }: QuickCheckOptions) {
  const { isSure = isSurelyValidRequest, read = (bytes) => parseJson(bytes, false) } = given;
  const end = performance.now() + seconds * 1000;
  for (let i = 0; i < cases && (i === 0 || performance.now() < end); i++) {
    const tried = anyCase(randomOf(seed + i));
    const difference = readerDifference(tried.bytes, read) ?? (await checkDifference(tried, isSure));
    const words = `${tried.desc.name} ${tried.bytes.length} bytes`;
    if (difference) throw new Error(`seed ${seed + i}: ${words}: ${difference}\n${printed(tried.bytes)}`);
    onCase?.(words);
    // A runner's own timers have their turn.
    if (i % 100 === 99) await new Promise((resolve) => setImmediate(resolve));
  }
}

// The cases.

interface Case {
  readonly desc: DescMessage;
  readonly bytes: Buffer;
}

const services = [InferenceService, KeyService, AccountService, UsageService, SessionService, OperatorService];
const inputs = [...new Set(services.flatMap(({ methods }) => methods.map(({ input }) => input)))];
/** They are asked most, and have the most to read. */
const modelInputs = [...new Set(InferenceService.methods.map(({ input }) => input))];

function anyCase(random: Random): Case {
  const desc = pick(random() < 0.7 ? modelInputs : inputs, random);
  let json: JsonObject = { ...Wire.ofMessage(desc, anyMessage(desc, 3, random)).json() };
  if (random() < 0.7) json = { ...json, ...neededIn(desc) };
  if (random() < 0.5) json = mutated(json, random);
  if (random() < 0.05) json = longer(json, random);
  const isOdd = random() < 0.5;
  const text = spelled(json, { oddly: isOdd ? 0.2 : 0, twice: random() < 0.1 ? 0.05 : 0 }, random);
  const bytes = Buffer.from(text);
  return { desc, bytes: random() < 0.2 ? mutatedBytes(bytes, random) : bytes };
}

const needed: JsonObject = {
  model: "m",
  messages: [{ role: "user", content: "Hello" }],
  max_tokens: 5,
  input: "Hello",
};

/** What is refused for what it lacks is refused before anything else in it is looked at. */
function neededIn(desc: DescMessage): JsonObject {
  return Object.fromEntries(Object.entries(needed).filter(([name]) => desc.members.some((one) => one.name === name)));
}

/** Puts something long in: the text is read piecewise then. */
function longer(json: JsonObject, random: Random): JsonObject {
  const length = 30_000 + Math.floor(random() * 120_000);
  const long = pick<() => JsonValue>(
    [
      () => "iVBORw0KGgo+/=".repeat(length / 14),
      () => 'two words, "quoted"\n'.repeat(length / 20),
      () => "日本語🙂\u0001".repeat(length / 16),
      () => Array.from({ length: length / 6 }, (_, i) => i * 1.5),
      () => Array.from({ length: length / 60 }, (_, i) => ({ role: "user", content: `said ${i}` })),
      () => Object.fromEntries(Array.from({ length: length / 12 }, (_, i) => [`k${i}`, i])),
    ],
    random,
  )();
  return { ...json, [pick(["messages", "input", "prompt", "metadata", "extra", "content"], random)]: long };
}

function printed(bytes: Buffer): string {
  if (bytes.length <= 4096) return `base64: ${bytes.toString("base64")}`;
  return `base64, deflated: ${deflateRawSync(bytes).toString("base64")}`;
}

// The readers.

/** How much is read is bounded, which the engine's parser knows nothing of. */
const ofBounds = /nested deeper|has more than|a name is longer/;

function readerDifference(bytes: Buffer, read: (bytes: Buffer) => JsonValue): string | undefined {
  const naive = readNaively(bytes);
  const readers = {
    plain: read,
    piecewise: (bytes: Buffer) => runNow(readLongRequest(bytes)),
    outlined: readOutlined,
  };
  for (const [name, reader] of Object.entries(readers)) {
    try {
      const value = reader(bytes);
      if (naive === undefined) return `the ${name} reader takes what the parser refuses, or has a member twice`;
      if (!isDeepStrictEqual(withDoubles(value), naive)) return `the ${name} reader reads another value`;
    } catch (fault) {
      if (!(fault instanceof WireFault)) return `the ${name} reader breaks: ${fault}`;
      if (naive !== undefined && !ofBounds.test(fault.message)) return `the ${name} reader refuses: ${fault.message}`;
    }
  }
  return undefined;
}

/** Reads past the long texts first, and puts them in then. */
function readOutlined(bytes: Buffer): JsonValue {
  const leftOut: OmittedText[] = [];
  const { value } = runNow(readMembers(bytes, leftOut));
  restoreOmitted(bytes, leftOut);
  return value;
}

// The checks.

const validator = createValidator();
const validate = createValidate();

/** What becomes of a request: what it says, or why it is refused. */
type Verdict = { readonly says: Uint8Array; readonly json: JsonValue } | { readonly refused: string };

async function checkDifference(tried: Case, isSure: typeof isSurelyValidRequest): Promise<string | undefined> {
  const { desc, bytes } = tried;
  const plain = plainVerdict(tried);
  const ways = {
    "at once": () => checked(Wire.ofBytes(desc, bytes)),
    "in turns": async () => {
      const request = await Wire.ofBytes(desc, bytes).parseInSlices();
      await validateLong(request, validate);
      return saidBy(request);
    },
  };
  for (const [name, way] of Object.entries(ways)) {
    const verdict = await verdictOf(way);
    if (!isDeepStrictEqual(verdict, plain))
      return `read ${name}: ${told(verdict)}; by the plain validator: ${told(plain)}`;
  }
  if ("refused" in plain)
    return isSureOf(tried, isSure) ? `it is sure of what is refused: ${plain.refused}` : undefined;
  return splicingDifference(tried, plain.json as JsonObject);
}

function plainVerdict({ desc, bytes }: Case): Verdict {
  try {
    const json = objectIn(parseJson(bytes, false));
    const message = readMessage(desc, json, { lenient: false });
    const { kind, error } = validator.validate(desc, message);
    if (kind === "error") return { refused: `error ${error}` };
    return kind === "invalid" ? { refused: "by a bound" } : { says: toBinary(desc, message), json };
  } catch (fault) {
    return { refused: refusalOf(fault) };
  }
}

/** Throws what a request is refused by. */
function checked(request: Wire): Verdict {
  validate(request);
  return saidBy(request);
}

function saidBy(request: Wire): Verdict {
  return { says: toBinary(request.desc, request.message()), json: request.json() };
}

async function verdictOf(way: () => Verdict | Promise<Verdict>): Promise<Verdict> {
  try {
    return await way();
  } catch (fault) {
    return { refused: refusalOf(fault) };
  }
}

/** Which fault of several is told first may differ: of the validator's, that there is one counts. */
function refusalOf(fault: unknown): string {
  if (fault instanceof WireFault) return `${fault.path}: ${fault.message}`;
  const { reason, message } = asRefusal(fault);
  if (reason === Reason.INTERNAL) return `an error of its own: ${fault} ${(fault as Error).stack}`;
  return reason === Reason.INVALID_VALUE || reason === Reason.MISSING_FIELD ? "by a bound" : message;
}

function told(verdict: Verdict): string {
  return "refused" in verdict
    ? `refused, ${verdict.refused}`
    : `accepted, ${JSON.stringify(verdict.json).slice(0, 300)}`;
}

function isSureOf({ desc, bytes }: Case, isSure: typeof isSurelyValidRequest): boolean {
  try {
    return isSure(desc, Wire.ofBytes(desc, bytes).outline());
  } catch {
    return false;
  }
}

/** A member that is replaced, put in or left out in the text is so for whoever reads the text. */
function splicingDifference({ desc, bytes }: Case, json: JsonObject): string | undefined {
  const [first = "model"] = Object.keys(json);
  for (const changes of [
    { model: "other" },
    { [first]: undefined, added: [1] },
    { stream: true, [first]: "a\u0001" },
  ]) {
    const all: Record<string, JsonValue | undefined> = { ...json, ...changes };
    const expected = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as JsonObject;
    const changed = Wire.ofBytes(desc, bytes).with(changes);
    const names = JSON.stringify(Object.keys(changes));
    if (!saysTheSame(readNaively(changed.bytes()), expected)) return `with other ${names} its text says another thing`;
    if (!saysTheSame(changed.json(), expected)) return `with other ${names} it says another thing`;
  }
  return undefined;
}

/** A text that is written anew has 0 for -0. */
function saysTheSame(value: JsonValue | undefined, expected: JsonValue): boolean {
  return (
    value !== undefined && isDeepStrictEqual(JSON.parse(JSON.stringify(value)), JSON.parse(JSON.stringify(expected)))
  );
}

function objectIn(value: JsonValue): JsonObject {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  // Refused by the same words.
  return isObject
    ? (value as JsonObject)
    : Wire.ofBytes(inputs[0] as DescMessage, Buffer.from(JSON.stringify(value))).json();
}
