/**
 * Creates and changes keys. The administrator privilege is a separate call: if it is refused, the first call's result
 * stands, and the failure is reported separately.
 */
import { callUnaryMethod, useTransport } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { type ApiKey, KeyService } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { newIdempotencyKey } from "../../parts/idempotency-key.ts";
import { useForgetKeys } from "./forget.ts";
import { changeOf, creationOf, type KeyValues, valuesOf } from "./key-values.ts";

export interface Saved {
  readonly key: ApiKey;
  /** withoutPrivilege is why the privilege was not changed as requested. */
  readonly withoutPrivilege?: unknown;
}

/** Occasion is one opening of the form: sending it twice creates one key. */
export interface Occasion {
  readonly idempotencyKey: string;
  /** openedAt is in milliseconds since 1970. */
  readonly openedAt: number;
}

export function newOccasion(): Occasion {
  return { idempotencyKey: newIdempotencyKey(), openedAt: Date.now() };
}

export function useCreateKey({ idempotencyKey, openedAt }: Occasion) {
  const transport = useTransport();
  const privilege = usePrivilege();
  const forget = useForgetKeys();
  return useMutation({
    // The answer contains a secret: it is not kept after the dialog has closed.
    gcTime: 0,
    async mutationFn(values: KeyValues): Promise<Saved> {
      const headers = { "idempotency-key": idempotencyKey };
      const request = creationOf(values, openedAt);
      const { key } = await callUnaryMethod(transport, KeyService.method.createKey, request, { headers });
      return await privilege(known(key), values.administrator);
    },
    onSettled: forget,
  });
}

export function useChangeKey(before: ApiKey, { openedAt }: Occasion) {
  const transport = useTransport();
  const privilege = usePrivilege();
  const forget = useForgetKeys();
  return useMutation({
    async mutationFn(values: KeyValues): Promise<Saved> {
      const change = changeOf(valuesOf(before), values, openedAt);
      if (Object.keys(change).length === 0) return await privilege(before, values.administrator);
      const request = { id: before.id, ...change };
      const { key } = await callUnaryMethod(transport, KeyService.method.updateKey, request);
      return await privilege(known(key), values.administrator);
    },
    onSettled: forget,
  });
}

function usePrivilege() {
  const transport = useTransport();
  return async (key: ApiKey, administrator: boolean): Promise<Saved> => {
    if (key.isAdmin === administrator) return { key };
    try {
      await callUnaryMethod(transport, KeyService.method.setAdministrator, { id: key.id, administrator });
      return { key };
    } catch (withoutPrivilege) {
      return { key, withoutPrivilege };
    }
  };
}

function known(key: ApiKey | undefined): ApiKey {
  if (!key) throw new Error("the answer has no key");
  return key;
}
