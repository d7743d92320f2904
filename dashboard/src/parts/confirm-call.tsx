/** Asks for confirmation, makes a call, and closes when it has succeeded. */
import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { useMutation } from "@connectrpc/connect-query";
import type { ComponentProps } from "react";
import { Confirm } from "./confirm.tsx";

type Question = Omit<ComponentProps<typeof Confirm>, "onConfirm" | "busy" | "error">;

interface Props<I extends DescMessage, O extends DescMessage> extends Question {
  readonly method: DescMethodUnary<I, O>;
  readonly request: MessageInitShape<I>;
  /** onDone gets the answer before the dialog closes. Its result is awaited. */
  readonly onDone: (answer: MessageShape<O>) => unknown;
}

export function ConfirmCall<I extends DescMessage, O extends DescMessage>(props: Props<I, O>) {
  const { method, request, onDone, onClose, ...question } = props;
  const call = useMutation(method, {
    onSuccess: (answer) => {
      onClose();
      return onDone(answer);
    },
  });
  const close = () => {
    call.reset();
    onClose();
  };
  return (
    <Confirm
      {...question}
      onClose={close}
      onConfirm={() => call.mutate(request)}
      busy={call.isPending}
      error={call.error}
    />
  );
}
