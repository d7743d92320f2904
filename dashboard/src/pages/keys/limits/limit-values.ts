/** Converts between the limits, tags and owner of a key and the values of its form. */
import type { ApiKey } from "../../../../../gen/modelgateway/v1/keys_pb.ts";

/** LimitValues are texts as they are typed; an empty one is no limit. */
export interface LimitValues {
  owner: string;
  tags: string[];
  requests: string;
  tokens: string;
  concurrent: string;
  rates: RateValues[];
  addresses: string[];
}

export interface RateValues {
  /** id tells the rows of the form apart. */
  id: string;
  /** model is an id or `family:name`; empty while none is chosen. */
  model: string;
  requests: string;
  tokens: string;
}

/** most are the bounds of the contract. */
export const most = { requests: 1_000_000, tokens: 1_000_000_000, rates: 100, addresses: 100, tags: 20 } as const;

export const noLimits: LimitValues = {
  ...{ owner: "", tags: [], requests: "", tokens: "", concurrent: "", rates: [], addresses: [] },
};

let rows = 0;

/** newRate returns an empty row. */
export function newRate(of: Omit<RateValues, "id"> = { model: "", requests: "", tokens: "" }): RateValues {
  rows++;
  return { id: String(rows), ...of };
}

const shown = (limit: number | undefined) => (limit === undefined ? "" : String(limit));

export function limitValuesOf(key: ApiKey): LimitValues {
  return {
    owner: key.owner ?? "",
    tags: [...key.tags],
    requests: shown(key.requestsPerMinute),
    tokens: shown(key.tokensPerMinute),
    concurrent: shown(key.maxConcurrent),
    rates: key.modelRates.map(({ model = "", requestsPerMinute, tokensPerMinute }) =>
      newRate({ model, requests: shown(requestsPerMinute), tokens: shown(tokensPerMinute) }),
    ),
    addresses: [...key.allowedIps],
  };
}

/** readCount returns a whole number from 1 to `most`; undefined for anything else. Separators of thousands are ignored. */
function readCount(text: string, most: number): number | undefined {
  const digits = text.replace(/[\s,_']/g, "");
  const count = Number(digits);
  return /^\d+$/.test(digits) && count >= 1 && count <= most ? count : undefined;
}

/** isCount reports whether a text is empty, or a limit. */
export function isCount(text: string, most: number): boolean {
  return text.trim() === "" || readCount(text, most) !== undefined;
}

/** isAddress reports whether a text may be an address or a network. The gateway decides. */
export function isAddress(text: string): boolean {
  return /^(?:[\d.]+|[\da-f]*:[\da-f:.]*)(?:\/\d{1,3})?$/i.test(text.trim());
}

/** limitChangeOf returns the fields of a request that differ from the values before. */
export function limitChangeOf(before: LimitValues, after: LimitValues) {
  const differs = (name: keyof LimitValues) => JSON.stringify(sent(before, name)) !== JSON.stringify(sent(after, name));
  return {
    ...(differs("owner") ? { owner: ownerOf(after) } : {}),
    ...(differs("tags") ? { tags: { tags: after.tags } } : {}),
    ...(differs("requests") ? { requestsPerMinute: limitOf(after.requests, most.requests) } : {}),
    ...(differs("tokens") ? { tokensPerMinute: limitOf(after.tokens, most.tokens) } : {}),
    ...(differs("concurrent") ? { maxConcurrent: limitOf(after.concurrent, most.requests) } : {}),
    ...(differs("rates") ? { modelRates: { rates: ratesOf(after) } } : {}),
    ...(differs("addresses") ? { allowedIps: { addresses: after.addresses } } : {}),
  };
}

/** sent returns what of a value is sent: rows without a model and ids of rows are not. */
function sent(values: LimitValues, name: keyof LimitValues): unknown {
  if (name === "rates") return ratesOf(values);
  const value = values[name];
  return typeof value === "string" ? value.trim() : value;
}

function ownerOf({ owner }: LimitValues) {
  return owner.trim() === "" ? {} : { name: owner.trim() };
}

function limitOf(text: string, most: number) {
  const limit = readCount(text, most);
  return limit === undefined ? {} : { limit };
}

function ratesOf({ rates }: LimitValues) {
  return rates
    .filter(({ model }) => model !== "")
    .map(({ model, requests, tokens }) => {
      const [requestsPerMinute, tokensPerMinute] = [readCount(requests, most.requests), readCount(tokens, most.tokens)];
      return {
        model,
        ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
        ...(tokensPerMinute === undefined ? {} : { tokensPerMinute }),
      };
    });
}
