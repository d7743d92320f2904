/** A key as the form holds it, and what of it is sent. */
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ApiKey } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { readAmount, writeAmount } from "../../parts/amount.ts";

export const expiryChoices = ["never", "30", "90", "365", "at"] as const;

export type ExpiryChoice = (typeof expiryChoices)[number];

export interface KeyValues {
  name: string;
  /** A decimal in units; empty for no limit. */
  limit: string;
  /** Ids and `family:name`; empty for all models. */
  models: string[];
  /** Never, in so many days, or at a moment. */
  expiry: ExpiryChoice;
  /** The moment as the browser's own field writes it: `2026-01-31T12:00`, in the reader's time zone. */
  expiresAt: string;
  administrator: boolean;
  disabled: boolean;
}

export const newKey: KeyValues = {
  name: "",
  limit: "",
  models: [],
  expiry: "never",
  expiresAt: "",
  administrator: false,
  disabled: false,
};

export function valuesOf(key: ApiKey): KeyValues {
  return {
    name: key.name,
    limit: key.creditLimit === undefined ? "" : writeAmount(key.creditLimit),
    models: [...key.models],
    expiry: key.expiresAt ? "at" : "never",
    expiresAt: key.expiresAt ? localText(timestampDate(key.expiresAt)) : "",
    administrator: key.isAdmin,
    disabled: key.disabled,
  };
}

/**
 * What a new key is made of. What is as good as nothing is left out. `now` is when the form was opened, in milliseconds
 * since 1970: the same form says the same, so that sending it again makes no other key.
 */
export function creationOf(values: KeyValues, now: number) {
  return {
    name: values.name.trim(),
    ...(values.limit.trim() === "" ? {} : { creditLimit: limitOf(values) }),
    ...(values.models.length === 0 ? {} : { models: modelsOf(values) }),
    ...(values.expiry === "never" ? {} : { expiresAt: expiryOf(values, now) }),
  };
}

/** What differs from the values before: the rest is not sent, so that nobody else's change is undone. */
export function changeOf(before: KeyValues, after: KeyValues, now: number) {
  return {
    ...(after.name.trim() === before.name ? {} : { name: after.name.trim() }),
    ...(after.limit.trim() === before.limit ? {} : { creditLimit: limitOf(after) }),
    ...(isSame(after.models, before.models) ? {} : { models: modelsOf(after) }),
    ...(isSameExpiry(after, before) ? {} : { expiresAt: expiryOf(after, now) }),
    ...(after.disabled === before.disabled ? {} : { disabled: after.disabled }),
  };
}

export function isSameExpiry(one: KeyValues, other: KeyValues): boolean {
  return one.expiry === other.expiry && (one.expiry !== "at" || one.expiresAt === other.expiresAt);
}

/** Writes a moment as the browser's own field does, in the reader's time zone. */
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
