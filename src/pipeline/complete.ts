/**
 * The way of a model call once its caller is known and its request is sound: route, then send.
 */
import type { Answer, Call } from "../call.ts";
import type { Catalog, Model } from "../catalog.ts";
import { internal, modelNotFound } from "../errors.ts";
import type { Form, Input, Operation, Output } from "../providers/operations.ts";
import type { Provider } from "../providers/provider.ts";
import { route } from "./route.ts";

export interface CompleteOptions {
  readonly catalog: Catalog;
  /** By the upstream's name. */
  readonly providers: ReadonlyMap<string, Provider>;
  /** From 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
}

/** What a model endpoint asks of the pipeline. */
export interface Ask<O extends Operation, F extends Form> {
  readonly operation: O;
  readonly form: F;
  readonly kind: Model["kind"];
}

export type Complete = <O extends Operation, F extends Form>(
  ask: Ask<O, F>,
  call: Call<Input<O>>,
) => Promise<Answer<Output<O, F>>>;

export function createComplete({ catalog, providers, random }: CompleteOptions): Complete {
  return async ({ operation, form, kind }, { id, request, header, signal }) => {
    const asked = request.message().model ?? "";
    const target = route(catalog.find(asked, kind), random);
    const provider = providers.get(target.upstream);
    if (!provider) throw internal(new Error(`no provider for the upstream ${target.upstream}`));
    const speak = provider.speaks[operation];
    if (!speak) throw modelNotFound(asked);
    return speak({ id, operation, form, request, model: target.model, header, signal });
  };
}
