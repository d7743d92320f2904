/** ConfirmUser asks before something is done to a user, does it, and reports that it is done. */
import type { DescMessage, DescMethodUnary, MessageInitShape } from "@bufbuild/protobuf";
import type { User } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { ConfirmCall } from "../../parts/confirm-call.tsx";
import { notify } from "../../parts/notify.ts";
import { useForgetAnswers } from "./forget.ts";

/** UserDialogProps are those of every dialog on a user. */
export interface UserDialogProps {
  readonly user: User;
  readonly opened: boolean;
  readonly onClose: () => void;
}

interface Props<I extends DescMessage, O extends DescMessage> extends UserDialogProps {
  readonly title: string;
  readonly action: string;
  readonly what: string;
  readonly done: string;
  readonly method: DescMethodUnary<I, O>;
  readonly request: MessageInitShape<I>;
}

export function ConfirmUser<I extends DescMessage, O extends DescMessage>(props: Props<I, O>) {
  const { user, what, done, ...call } = props;
  const forget = useForgetAnswers();
  const onDone = () => {
    notify(done);
    return forget();
  };
  return (
    <ConfirmCall {...call} name={user.email} onDone={onDone}>
      {what}
    </ConfirmCall>
  );
}
