/** The schemas of single values of the configuration, with the messages for invalid ones. */
import { z } from "zod";
import { parseDecimal } from "../runtime/decimal.ts";
import { isMetadataHost } from "../runtime/net/metadata-addresses.ts";
import { faultTexts, issueOf, type Problem, problem } from "./fault-texts.ts";
import { readSealKeys } from "./stored/seal-keys.ts";

// A configuration is checked once or twice in a process: compiling a reader of each object would take longer than reading it.
z.config({ jitless: true });

export const nameSchema = z
  .string()
  .regex(/^[A-Za-z0-9][\w.-]*$/, faultTexts.NAME_EXPECTED)
  .meta({ title: "name" });

/** modelIdSchema: answers name the id in a header. */
export const modelIdSchema = z
  .string()
  .regex(/^[\x21-\x7e]{1,200}$/, faultTexts.MODEL_ID_EXPECTED)
  .meta({ title: "model id" });

/** modelNameSchema is a model's name elsewhere, or an alias. */
export const modelNameSchema = z
  .string()
  .regex(/^[^\s]{1,200}$/, faultTexts.MODEL_NAME_EXPECTED)
  .meta({ title: "model's name" });

/** tokensSchema is a number of tokens. */
export const tokensSchema = z.number().int().min(1);
/** urlSchema is a base URL: paths are appended to it, so it has no query or fragment. */
export const urlSchema = z
  .url({ protocol: /^https?$/, error: faultTexts.ADDRESS_EXPECTED })
  .refine((text) => !/[?#]|\/\/[^/]*@/.test(text), faultTexts.ADDRESS_NOT_PLAIN)
  .transform((text) => text.replace(/\/+$/, ""))
  .meta({ title: "http(s) address" });
/** upstreamUrlSchema is the base URL of an upstream. */
export const upstreamUrlSchema = urlSchema
  .refine((text) => !isMetadataHost(URL.parse(text)?.hostname ?? ""), faultTexts.ADDRESS_OF_CLOUD)
  .meta({ title: "http(s) address" });
/** redisUrlSchema is the address of a Redis or Valkey, perhaps with credentials and the number of a database. */
export const redisUrlSchema = z
  .string()
  .refine(isRedisUrl, faultTexts.REDIS_ADDRESS_EXPECTED)
  .meta({ title: "redis(s) address" });

/** databaseUrlSchema is the address of a database of Postgres, perhaps with credentials and parameters. */
export const databaseUrlSchema = z
  .string()
  .refine((text) => /^postgres(?:ql)?:\/\/\S+$/i.test(text), faultTexts.POSTGRES_ADDRESS_EXPECTED)
  .meta({ title: "postgres address" });

function isRedisUrl(text: string): boolean {
  const url = URL.parse(text);
  if (!url || !/^rediss?:$/.test(url.protocol) || url.hostname === "" || url.search !== "" || url.hash !== "")
    return false;
  return /^(?:\/\d{0,5})?$/.test(url.pathname) && [url.username, url.password].every(isPercentEncoded);
}

function isPercentEncoded(text: string): boolean {
  return !/%(?![\dA-Fa-f]{2})/.test(text);
}

export const headerNameSchema = z
  .string()
  .regex(/^[\w!#$%&'*+.^`|~-]+$/, faultTexts.HEADER_NAME_EXPECTED)
  .meta({
    title: "name of a header",
  });

/** The headers that say how a request is sent. The gateway writes them: a second one would have the request read in two ways. */
const framing: ReadonlySet<string> = new Set([
  ...["connection", "content-encoding", "content-length", "expect", "host", "keep-alive"],
  ...["proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"],
]);

/** ownHeaderSchema is the name of a header that an operator may set. */
export const ownHeaderSchema = headerNameSchema.refine(
  (name) => !framing.has(name.toLowerCase()),
  faultTexts.HEADER_OF_GATEWAY,
);

/** credentialSchema is the value of a header: no line break copied from a file. It is a secret: sealed where it is stored, and masked. */
export const credentialSchema = z
  .string()
  .trim()
  .regex(/^[\x20-\x7e]*$/, faultTexts.CREDENTIAL_NOT_ASCII)
  .meta({ writeOnly: true });

/** apiKeySchema is a key as its vendor gave it: no quotes that came with it from a file. */
export const apiKeySchema = credentialSchema.refine((key) => !/^(["'`]).*\1$/.test(key), faultTexts.CREDENTIAL_QUOTED);

/** sealKeySchema is keys of 32 bytes, of which the first seals and all open. */
export const sealKeySchema = z
  .string()
  .refine((text) => readSealKeys(text) !== undefined, faultTexts.SEAL_KEY_EXPECTED);

/**
 * moneySchema is an amount of money in units, as a decimal string: a YAML number would already have lost its last
 * digits.
 */
export const moneySchema = z
  .string(faultTexts.DECIMAL_EXPECTED)
  .transform((text, context) => {
    const read = parseDecimal(text);
    if ("value" in read && read.value >= 0 && read.value < 1e15) return read.value;
    context.addIssue(issueOf(decimalProblem(text)));
    return z.NEVER;
  })
  .meta({ title: "decimal in quotes" });

/** decimalProblem returns what is wrong with a text that is no amount. */
function decimalProblem(text: string): Problem {
  const decimal = /^-?\d+(?:\.(\d+))?$/.exec(text);
  if (!decimal) return problem("DECIMAL_MALFORMED");
  const [, fraction = ""] = decimal;
  return fraction.length > moneyPlaces
    ? problem("DECIMAL_TOO_FINE", { places: moneyPlaces })
    : problem("AMOUNT_OUT_OF_BOUNDS");
}

/** moneyPlaces is how many decimals an amount may have. */
const moneyPlaces = 6;

/** factorSchema is a factor for amounts: a decimal string above 0, read in millionths. */
export const factorSchema = moneySchema
  .refine((value) => value > 0, faultTexts.FACTOR_ZERO)
  .meta({
    title: "decimal in quotes, more than 0",
  });

/** maxPriceFactor is the most by which prices are multiplied: what is beyond is a percentage or an amount in the wrong place. */
const maxPriceFactor = 10;

/** priceFactorSchema is a factor that makes prices somewhat higher or lower. */
export const priceFactorSchema = factorSchema
  .refine((value) => value <= maxPriceFactor * 10 ** moneyPlaces, faultTexts.FACTOR_HIGH)
  .meta({
    title: "decimal in quotes, more than 0, at most 10",
  });

export const networkSchema = z
  .union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], faultTexts.NETWORK_EXPECTED)
  .meta({ title: "address or network" });
export const originSchema = z.union([z.literal("*"), urlSchema], faultTexts.ORIGIN_EXPECTED).meta({ title: "origin" });

/** secondsSchema is a duration in seconds. */
export const secondsSchema = z.number().min(0.001).max(86_400);

/** maxWorkers is the most workers of a machine. */
export const maxWorkers = 256;

/** readWorkers reads how many workers there are to be; undefined where the text says nothing of the kind. */
export function readWorkers(text: string): number | "auto" | undefined {
  if (text === "auto") return "auto";
  const count = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  return count >= 1 && count <= maxWorkers ? count : undefined;
}
