/**
 * Authorizes a caller: to call an RPC, by its credential, and to use a model, by the permissions of its key.
 */
import type { DescMethod } from "@bufbuild/protobuf";
import { type Access, access, Caller as Least } from "../../../gen/modelgateway/v1/access_pb.ts";
import type { Caller, Rights } from "../../call/call.ts";
import { modelNotPermitted, permissionDenied } from "../../call/refusals.ts";
import { methodOption } from "../../runtime/method-option.ts";
import type { Model } from "../../targets/catalog.ts";

/** accessOf returns the access option of an RPC. */
export function accessOf(method: DescMethod): Access {
  return methodOption(method, access);
}

interface Needed {
  readonly rights: readonly Rights[];
  /** The credential in words, for the refusal. */
  readonly words: string;
}

/** The rights that suffice for each level. The operator key may call no model; a session calls models by a key that it names. */
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

/** suffices reports whether a credential suffices for an RPC. */
export function suffices(rights: Rights, method: DescMethod): boolean {
  return needs.get(accessOf(method).caller)?.rights.includes(rights) ?? false;
}

/** authorize throws a Refusal where a credential does not suffice for an RPC. */
export function authorize(rights: Rights, method: DescMethod): void {
  if (suffices(rights, method)) return;
  throw permissionDenied(needs.get(accessOf(method).caller)?.words ?? "nobody's credential");
}

/** mayCallUnpriced reports whether a caller may call models without a price. */
export function mayCallUnpriced({ mustPay, isFreeUnpriced = false }: Caller): boolean {
  return !mustPay || isFreeUnpriced;
}

/** mayUse reports whether a key may use a model, by the model's id or its family. */
export function mayUse({ models }: Caller, { id, family }: Pick<Model, "id" | "family">): boolean {
  return models.length === 0 || models.includes(id) || models.includes(`family:${family}`);
}

/**
 * authorizeModel throws a Refusal where the key may not use the model. It names the model by `name`, which is what the caller sent, if
 * anything.
 */
export function authorizeModel(caller: Caller, model: Model, name: string | undefined): void {
  if (!mayUse(caller, model)) throw modelNotPermitted(name);
}
