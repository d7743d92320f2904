/** Handles an admitted call: validates its request against the contract, and passes it to the function that implements the RPC. */
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { Handler, ServiceImplementation } from "../call/call.ts";
import { internal } from "../call/refusals.ts";
import { nextSlice } from "../runtime/cooperative.ts";
import type { QuickCheck, Validate } from "./check/validate.ts";
import { validateLong } from "./check/validate-long.ts";

export interface ServedService {
  readonly service: DescService;
  readonly handlers: ReadonlyMap<DescMethod, Handler>;
}

export function serve<S extends DescService>(service: S, implementation: ServiceImplementation<S>): ServedService {
  const handlers = new Map<DescMethod, Handler>();
  for (const method of service.methods) {
    handlers.set(method, implementation[method.localName as keyof S["method"]] as unknown as Handler);
  }
  return { service, handlers };
}

/** createHandle returns what answers the calls of these services, once they are admitted. `quickCheck` is that of `validate`. */
export function createHandle(services: readonly ServedService[], validate: Validate, quickCheck?: QuickCheck): Handler {
  const handlers = new Map(services.flatMap(({ handlers }) => [...handlers]));
  return (call) => {
    const { method, request } = call;
    const handler = handlers.get(method);
    if (!handler) throw internal(new Error(`no handler for ${method}`));
    if (request.isLong)
      return validateLong(request, validate, quickCheck)
        .then(() => nextSlice())
        .then(() => handler(call));
    validate(request);
    return handler(call);
  };
}
