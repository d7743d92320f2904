/**
 * The catalogue of what can be wrong in a configuration: a text for each reason, with its parameters between angle brackets. A fault has
 * its reason and parameters beside the text, so that pages can tell it in other languages; `reasons.proto` documents each reason.
 */
import { metadataRefused } from "../runtime/net/metadata-addresses.ts";
import { counted } from "../runtime/words/counted.ts";

export const faultTexts = {
  // The file.
  FILE_UNREADABLE: "the file cannot be read (<code>): <why>",
  FILE_EMPTY: "the file is empty, as one is that could not be written: write {} where it is to say nothing",
  YAML_BROKEN: "this is no YAML (<code>)",
  VARIABLE_NEEDED: "is missing, and <variable> is not set",
  REPLICA_ALONE: "is set, and DATABASE_URL, of which it is to be a replica, is not",
  PORT_TAKEN: "the port <port> is given twice: for calls and for metrics",
  VARIABLE_UNSET: "the environment variable <variable> is not set",
  VARIABLE_FILE_UNREADABLE: "<variable>_FILE: the file that it points to cannot be read (<code>): <why>",

  // Keys and types.
  MISSING: "is missing",
  KEY_UNKNOWN: "there is no such key",
  KEY_MISSPELT: "there is no such key; is <near> meant?",
  KEY_FORBIDDEN: "this name is JavaScript's own, and cannot be given: choose another",
  BOOLEAN_EXPECTED: "expected true or false, unquoted",
  NUMBER_WITHIN_EXPECTED: "expected a whole number from <least> to <most>",
  NUMBER_OR_OFF_EXPECTED: "expected a whole number from <least> to <most>, or off",
  NUMBER_EXPECTED: "expected a number, unquoted",
  WHOLE_NUMBER_EXPECTED: "expected a whole number",
  TEXT_EXPECTED: "expected a text: put it in quotes",
  LIST_EXPECTED: "expected a list, as [a, b]",
  KEYS_EXPECTED: "expected keys and values, as gateway.example.yaml has them",

  // Values.
  ACCELERATORS_EXPECTED: "expected off, or names of <names>, with commas between them",
  PAIRS_EXPECTED: "expected name=value,name=value",
  VALUE_INVALID: "this value does not fit",
  VALUE_EXPECTED: "expected <value>",
  ONE_OF_EXPECTED: "expected one of <values>",
  TOO_SMALL: "expected at least <least>",
  NOT_ABOVE: "expected more than <bound>",
  TOO_LARGE: "expected at most <most>",
  NOT_BELOW: "expected less than <bound>",
  TOO_SHORT: "expected at least <least:character>",
  TOO_LONG: "expected at most <most:character>",
  TOO_FEW: "expected at least <least:entry>",
  TOO_MANY: "expected at most <most:entry>",
  NAME_EXPECTED: "expected a name of letters, digits, `.`, `_` and `-`",
  MODEL_ID_EXPECTED: "expected a model id of letters, digits and signs of ASCII, at most 200 characters",
  MODEL_NAME_EXPECTED: "expected a model's name without spaces, at most 200 characters",
  MODEL_PATTERN_EXPECTED: "expected a model's name, with * for any text and ? for any sign",
  TIER_NAME_EXPECTED: "expected a name of at most 100 characters",
  HEADER_NAME_EXPECTED: "expected the name of a header",
  QUERY_NAME_EXPECTED: "expected a name of the query",
  REQUEST_KEY_EXPECTED: "expected a key of the request, as top_k or messages[].name",
  ADDRESS_EXPECTED: "expected an http(s) address",
  ADDRESS_NOT_PLAIN: "expected an address without user, `?` and `#`",
  REDIS_ADDRESS_EXPECTED: "expected redis://host:6379, or rediss:// for TLS, perhaps with user:password@ and /database",
  POSTGRES_ADDRESS_EXPECTED: "expected postgres://user:password@host:5432/database",
  REDIS_PREFIX_EXPECTED: "expected at most 100 characters of ASCII without spaces and braces",
  UNIT_CODE_EXPECTED: "expected 3 to 10 capital letters, as JPY",
  UNIT_SYMBOL_EXPECTED: "expected 1 to 10 characters, as ¥",
  SEAL_KEY_EXPECTED: "expected 32 bytes in hex or base64, or several such with commas between them",
  WORKERS_EXPECTED: "expected auto, or a whole number from 1 to 256",
  BODIES_TOO_SMALL: "expected at least <least>, to have room for a body of max_body_bytes (<largest>)",
  ORIGIN_EXPECTED: "expected an origin, as https://app.example.com, or *",
  NETWORK_EXPECTED: "expected an address or a network, as 10.0.0.0/8",
  PATH_EXPECTED: "expected a path, as /models",
  OPERATION_PATH_EXPECTED: "expected a path below base_url, as /chat/completions",
  DATE_EXPECTED: "expected a day, as 2026-01-31",
  CREDENTIAL_NOT_ASCII: "expected a key of ASCII characters",
  CREDENTIAL_QUOTED: "expected the key without quotes around it",
  CREDENTIAL_WITH_SCHEME: "expected the key alone: the gateway adds `Bearer` itself",
  DECIMAL_EXPECTED: 'expected a decimal in quotes, as "1.10"',
  DECIMAL_MALFORMED: 'expected a decimal, as "12.50"',
  DECIMAL_TOO_FINE: "expected a decimal with at most <places> places",
  AMOUNT_OUT_OF_BOUNDS: "expected at least 0, and less than 1000000000",
  FACTOR_ZERO: "expected more than 0: a factor of 0 would make all of it free",
  UNPRICED_EXPECTED: "expected free_for_first_account, free, refused, or {price: {…}} with decimals in quotes",

  // Keys that do not fit each other.
  KEY_AND_KEYS: "expected either api_key or api_keys, not both",
  OPERATION_NEEDED: "expected at least one operation",
  WEIGHTS_ZERO: "all targets have the weight 0: give one a weight, or remove the model",
  BOUND_NOT_ASCENDING: "expected more than for the bound before it",
  TIER_NOT_FROM_ZERO: 'expected "0" for the first tier, which every account has from its beginning',
  TIER_NOT_ASCENDING: "expected more than for the tier before it",
  TIER_TAKEN: 'a second tier "<name>"',
  UPSTREAM_TAKEN: 'a second upstream "<name>"',
  UPSTREAM_RESERVED:
    '"<name>" stands for the embedded models, which are served under their own names alone. Choose another name or upstream',
  UPSTREAM_UNKNOWN: 'there is no upstream "<name>"',
  UPSTREAM_REMOVED:
    'there is no upstream "<name>". Remove the model too, give it another target, or disable the upstream instead',
  VENDOR_UNKNOWN: 'there is no vendor "<name>"; there are <vendors>',
  MODEL_TAKEN: 'a second model "<name>"',
  MODEL_WITHOUT_TARGET: '"<model>" has no targets, and no upstream has the name of its vendor',
  MODEL_LEFT_BEHIND:
    '"<model>" has no targets, and no upstream has the name of its vendor. Remove the model too, give it another target, or disable the upstream instead',
  KIND_NOT_SERVED: '"<model>" is of kind <kind>, and an upstream of kind <upstream_kind> serves only <kinds>',
  PROFILE_LACKS_KIND: 'the profile of "<upstream>" has no path in `operations` for models of kind <kind>',
  PROFILE_NOT_TAKEN: "only upstreams of kind openai have one; leave it out",
  RESPONSES_PATH_NEEDED: '"<value>" needs operations.responses, the path that such calls go to',
  EFFORT_NOT_TAKEN: "expected one of efforts (<efforts>), got <effort>",
  EFFORTS_EMPTY: "expected one of efforts (none at all), got <effort>",

  // Changes of what is stored.
  IN_FILE: "it is written in <file>: change it there",
  IN_ENVIRONMENT: "the environment gives it (the variables of its vendor): change it there",
  NOT_STORED: "there is none of this name in what is stored",
  LIST_AS_SETTING: "change its entries one by one, or the document as a whole",
  NOT_OPERATIONAL: "is bound to the process, or is no key of the configuration: only gateway.yaml may have it",
  VARIABLE_REFUSED: "only gateway.yaml may refer to a variable: send the value itself",
  MASK_UNKNOWN: "this is a mask, and no stored secret has it here: send the secret itself",
  MASK_MOVED:
    "the address has changed, and a stored secret goes only to the address that it was given for: send the secret itself",
  DOCUMENT_TOO_LARGE: "the document is larger than <most> characters as JSON",
  ADDRESS_OF_CLOUD: `expected the address of an upstream: ${metadataRefused}`,
  HEADER_OF_GATEWAY: "expected another header: the gateway itself writes this one",
  KEY_INDISPENSABLE:
    "no call can be without this key: `model`, `messages`, `input` and what `output_bound` names cannot be refused",
  FACTOR_HIGH: 'expected at most 10: a factor multiplies prices, so "1.10" makes them a tenth higher',
} as const;

export type FaultReason = keyof typeof faultTexts;

/** NamesIn are the parameters of a text: `<least>`, or `<least:entry>` of those that count something. */
type NamesIn<T extends string> = T extends `${string}<${infer N}>${infer R}`
  ? (N extends `${infer A}:${string}` ? A : N) | NamesIn<R>
  : never;
type Parameters<R extends FaultReason> = NamesIn<(typeof faultTexts)[R]>;

/** Problem is what is wrong, without its place. */
export interface Problem {
  readonly reason: FaultReason;
  readonly parameters: Readonly<Record<string, string>>;
  readonly text: string;
}

/** problem returns what is wrong for a reason, with the parameters that its text names. */
export function problem<R extends FaultReason>(
  reason: R,
  ...[given]: [Parameters<R>] extends [never] ? [] : [Readonly<Record<Parameters<R>, string | number>>]
): Problem {
  const parameters = Object.fromEntries(
    Object.entries<string | number>(given ?? {}).map(([name, value]) => [name, String(value)]),
  );
  const text = faultTexts[reason].replace(/<([a-z_]+)(?::([a-z]+))?>/g, (_, name: string, one?: string) => {
    const value = parameters[name] ?? "";
    return one === undefined ? value : counted(value, one);
  });
  return { reason, parameters, text };
}

const reasonsByText: ReadonlyMap<string, FaultReason> = new Map(
  (Object.keys(faultTexts) as FaultReason[]).map((reason) => [faultTexts[reason], reason]),
);

/** problemOf returns the problem whose text has no parameters; undefined for another text. */
export function problemOf(text: string): Problem | undefined {
  const reason = reasonsByText.get(text);
  return reason && { reason, parameters: {}, text };
}

/** issueOf returns what a schema's issue needs to have this problem. */
export function issueOf(found: Problem, path: readonly PropertyKey[] = []) {
  return { code: "custom" as const, message: found.text, path: [...path], params: { problem: found } };
}
