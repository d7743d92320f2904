/** Converts between a key and the values of its form. */
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ApiKey } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { type BudgetValue, budgetListOf, budgetValuesOf, isSameBudgets } from "../../budgets/budget-values.ts";
import { readAmount, writeAmount } from "../../parts/amount.ts";
import { type LimitValues, limitChangeOf, limitValuesOf, noLimits } from "./limits/limit-values.ts";

export const expiryChoices = ["never", "30", "90", "365", "at"] as const;

export type ExpiryChoice = (typeof expiryChoices)[number];

export interface KeyValues extends LimitValues {
  name: string;
  /** limit is a decimal in units; empty for no limit. */
  limit: string;
  budgets: BudgetValue[];
  /** models are ids and `family:name`; empty for all models. */
  models: string[];
  /** expiry is never, in a number of days, or at a time. */
  expiry: ExpiryChoice;
  /** expiresAt is in the format of the browser's field, `2026-01-31T12:00`, in the reader's time zone. */
  expiresAt: string;
  administrator: boolean;
  disabled: boolean;
}

export const newKey: KeyValues = {
  name: "",
  limit: "",
  budgets: [],
  models: [],
  expiry: "never",
  expiresAt: "",
  administrator: false,
  disabled: false,
  ...noLimits,
};

export function valuesOf(key: ApiKey): KeyValues {
  return {
    name: key.name,
    limit: key.creditLimit === undefined ? "" : writeAmount(key.creditLimit),
    budgets: budgetValuesOf(key.budgets),
    models: [...key.models],
    expiry: key.expiresAt ? "at" : "never",
    expiresAt: key.expiresAt ? localText(timestampDate(key.expiresAt)) : "",
    administrator: key.isAdmin,
    disabled: key.disabled,
    ...limitValuesOf(key),
  };
}

/**
 * creationOf returns the request for a new key, without default values. `now` is when the form was opened, in
 * milliseconds since 1970: sending the same form again is the same request, and creates no second key.
 */
export function creationOf(values: KeyValues, now: number) {
  return {
    name: values.name.trim(),
    ...(values.limit.trim() === "" ? {} : { creditLimit: limitOf(values) }),
    ...(values.budgets.length === 0 ? {} : { budgets: budgetListOf(values.budgets) }),
    ...(values.models.length === 0 ? {} : { models: modelsOf(values) }),
    ...(values.expiry === "never" ? {} : { expiresAt: expiryOf(values, now) }),
    ...limitChangeOf(noLimits, values),
  };
}

/**
 * changeOf returns what differs from the values before. The rest is not sent, so that no concurrent change is undone.
 */
export function changeOf(before: KeyValues, after: KeyValues, now: number) {
  return {
    ...(after.name.trim() === before.name ? {} : { name: after.name.trim() }),
    ...(after.limit.trim() === before.limit ? {} : { creditLimit: limitOf(after) }),
    ...(isSameBudgets(after.budgets, before.budgets) ? {} : { budgets: budgetListOf(after.budgets) }),
    ...(isSame(after.models, before.models) ? {} : { models: modelsOf(after) }),
    ...(isSameExpiry(after, before) ? {} : { expiresAt: expiryOf(after, now) }),
    ...(after.disabled === before.disabled ? {} : { disabled: after.disabled }),
    ...limitChangeOf(before, after),
  };
}

export function isSameExpiry(one: KeyValues, other: KeyValues): boolean {
  return one.expiry === other.expiry && (one.expiry !== "at" || one.expiresAt === other.expiresAt);
}

/** localText formats a time as the browser's field does, in the reader's time zone. */
export function localText(at: Date): string {
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function limitOf({ limit }: KeyValues) {
  const amount = readAmount(limit);
  return amount === undefined ? {} : { amount };
}

function modelsOf({ models }: KeyValues) {
  return { models: { case: "list" as const, value: { entries: models } } };
}

function expiryOf({ expiry, expiresAt }: KeyValues, now: number) {
  if (expiry === "never") return {};
  const at = expiry === "at" ? new Date(expiresAt) : new Date(now + Number(expiry) * 86_400_000);
  return { at: timestampFromDate(at) };
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((entry, i) => entry === other[i]);
}
