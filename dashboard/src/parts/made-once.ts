/**
 * Calls an RPC that the gateway makes once under an idempotency key. Where the answer did not arrive, the same request again gets what
 * the first one did: nothing is made, moved or replaced twice. A secret is in the first answer alone.
 */
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  toJsonString,
} from "@bufbuild/protobuf";
import type { UseMutationOptions } from "@connectrpc/connect-query";
import { callUnaryMethod, useTransport } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { useRef } from "react";
import { newIdempotencyKey } from "./idempotency-key.ts";

/** useMadeOnce is `useMutation` with an idempotency key, which stays until a call succeeds or asks for something else. */
export function useMadeOnce<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  options: Omit<UseMutationOptions<I, O>, "transport" | "mutationFn"> = {},
) {
  const transport = useTransport();
  const asked = useRef<{ readonly text: string; readonly key: string }>(undefined);
  return useMutation({
    ...options,
    async mutationFn(request: MessageInitShape<I>) {
      const text = toJsonString(method.input, create(method.input, request));
      if (asked.current?.text !== text) asked.current = { text, key: newIdempotencyKey() };
      const headers = { "idempotency-key": asked.current.key };
      const answer = await callUnaryMethod(transport, method, request, { headers });
      asked.current = undefined;
      return answer;
    },
  });
}
