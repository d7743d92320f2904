/**
 * Says whether a caller may do what it asks: call an RPC, by its credential, and use a model, by its key's permissions.
 */
import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { type Access, access, Caller as Least } from "../../../gen/modelgateway/v1/access_pb.ts";
import type { Caller, Rights } from "../../call/call.ts";
import { modelNotPermitted, permissionDenied } from "../../call/refusals.ts";
import type { Model } from "../../targets/catalog.ts";

const accesses = new Map<DescMethod, Access>();

/** Returns an RPC's part of the contract, decoded once: reading an option takes longer than all else here. */
export function accessOf(method: DescMethod): Access {
  let found = accesses.get(method);
  if (!found) {
    found = getOption(method, access);
    accesses.set(method, found);
  }
  return found;
}

interface Needed {
  readonly rights: readonly Rights[];
  readonly words: string;
}

/** What each RPC asks for at least. The operator key calls no model, and a session calls one by a key that it names. */
const needs = new Map<Least, Needed>([
  [Least.ANYONE, { rights: ["nobody", "key", "admin", "session", "operator", "operator_session"], words: "none" }],
  [Least.KEY, { rights: ["key", "admin"], words: "an API key" }],
  [
    Least.ADMIN_KEY,
    {
      rights: ["admin", "session", "operator_session"],
      words: "an API key with administrator privilege, granted in the dashboard",
    },
  ],
  [Least.SESSION, { rights: ["session", "operator_session"], words: "a session of the dashboard" }],
  [Least.OPERATOR, { rights: ["operator", "operator_session"], words: "the operator key" }],
]);

/** Whether the credential suffices for the RPC. */
export function suffices(rights: Rights, method: DescMethod): boolean {
  return needs.get(accessOf(method).caller)?.rights.includes(rights) ?? false;
}

/** Throws a Refusal where it does not. */
export function authorize(rights: Rights, method: DescMethod): void {
  if (suffices(rights, method)) return;
  throw permissionDenied(needs.get(accessOf(method).caller)?.words ?? "nobody's credential");
}

/** Whether the caller may call models that have no price: it need not pay, or not for them. */
export function mayCallUnpriced({ mustPay, isFreeUnpriced = false }: Caller): boolean {
  return !mustPay || isFreeUnpriced;
}

/** Whether the key may use the model: by its id or its family. */
export function mayUse({ models }: Caller, { id, family }: Pick<Model, "id" | "family">): boolean {
  return models.length === 0 || models.includes(id) || models.includes(`family:${family}`);
}

/** Throws a Refusal where the key may not use the model, which tells `name`: what the caller called it, if it did. */
export function authorizeModel(caller: Caller, model: Model, name: string | undefined): void {
  if (!mayUse(caller, model)) throw modelNotPermitted(name);
}
