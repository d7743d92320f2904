/** Asks for confirmation of a call on a user, by typing the address, and says afterwards what was done. */
import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { ReactNode } from "react";
import type { User } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { ConfirmCall } from "../../parts/confirm-call.tsx";
import { notify } from "../../parts/notify.ts";
import { useForgetAnswers } from "./forget.ts";

export interface OnUserProps {
  readonly user: User;
  readonly opened: boolean;
  readonly onClose: () => void;
}

interface Props<I extends DescMessage, O extends DescMessage> extends OnUserProps {
  readonly title: string;
  /** action is the label of the button; default: the title. */
  readonly action?: string;
  readonly method: DescMethodUnary<I, O>;
  readonly request: MessageInitShape<I>;
  /** done says what was done. */
  readonly done: (answer: MessageShape<O>) => string;
  /** children explain what will happen. */
  readonly children: ReactNode;
}

export function ConfirmOnUser<I extends DescMessage, O extends DescMessage>(props: Props<I, O>) {
  const { user, title, action = title, done, ...question } = props;
  const forget = useForgetAnswers();
  const onDone = (answer: MessageShape<O>) => {
    notify(done(answer));
    return forget();
  };
  return <ConfirmCall {...question} title={title} action={action} name={user.email} onDone={onDone} />;
}
