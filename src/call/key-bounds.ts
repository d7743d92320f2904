/** The bounds of what a key may have, read from the contract (`keys.proto`), which alone states them. */
import { type DescMessage, getOption } from "@bufbuild/protobuf";
import { type FieldRules, field as rulesOf } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import {
  AddressListSchema,
  BudgetListSchema,
  ConcurrencySchema,
  CreditLimitSchema,
  ModelRatesSchema,
  OwnerSchema,
  RequestRateSchema,
  TagListSchema,
  TokenRateSchema,
} from "../../gen/modelgateway/v1/keys_pb.ts";

/** mostOfKey is the most that a key's limits may be, and the most entries that its lists may have. */
export const mostOfKey = {
  requestsPerMinute: numberOf(RequestRateSchema),
  tokensPerMinute: numberOf(TokenRateSchema),
  maxConcurrent: numberOf(ConcurrencySchema),
  /** creditLimit is in millionths of the unit. */
  creditLimit: numberOf(CreditLimitSchema),
  modelRates: itemsOf(ModelRatesSchema),
  allowedIps: itemsOf(AddressListSchema),
  tags: itemsOf(TagListSchema),
  budgets: itemsOf(BudgetListSchema),
} as const;

/** TextBounds are the bounds of a text. */
export interface TextBounds {
  /** The most characters, of which Unicode counts those beyond its first 65,536 as one each, too. */
  readonly maxLength: number;
  /** Reports whether a text is within its bounds. */
  readonly fits: (text: string) => boolean;
}

export const tagBounds: TextBounds = textBounds(itemRules(TagListSchema));
export const ownerBounds: TextBounds = textBounds(onlyRules(OwnerSchema));

/** onlyRules returns the rules of a message's only field. */
function onlyRules(message: DescMessage): FieldRules["type"] {
  const [field] = message.fields;
  if (!field) throw new Error(`${message.typeName} has no field`);
  return getOption(field, rulesOf).type;
}

function numberOf(message: DescMessage): number {
  const { case: kind, value } = onlyRules(message);
  const most = kind === "uint32" || kind === "int64" ? value.lessThan.value : undefined;
  if (most === undefined) throw new Error(`${message.typeName} has no greatest number`);
  return Number(most);
}

function itemsOf(message: DescMessage): number {
  const { case: kind, value } = onlyRules(message);
  if (kind !== "repeated") throw new Error(`${message.typeName} is no list`);
  return Number(value.maxItems);
}

function itemRules(message: DescMessage): FieldRules["type"] {
  const { case: kind, value } = onlyRules(message);
  if (kind !== "repeated" || !value.items) throw new Error(`${message.typeName} has no rules of its items`);
  return value.items.type;
}

function textBounds({ case: kind, value }: FieldRules["type"]): TextBounds {
  if (kind !== "string") throw new Error("a bound of texts is one of another type");
  const [least, most, pattern] = [Number(value.minLen), Number(value.maxLen), new RegExp(value.pattern, "u")];
  const fits = (text: string) => {
    const { length } = [...text];
    return length >= least && length <= most && pattern.test(text);
  };
  return { maxLength: most, fits };
}
