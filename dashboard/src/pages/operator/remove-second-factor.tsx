/** Removes the second factor of a user who has lost both the app and the recovery codes. */
import { OperatorService, type User } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { ConfirmCall } from "../../parts/confirm-call.tsx";
import { notify } from "../../parts/notify.ts";
import { useForgetAnswers } from "./forget.ts";

const said = texts(
  {
    title: "Remove the second factor",
    what: (email: string) =>
      `${email} signs in by the password alone until a new one is turned on. Make sure that it is really this person who asks.`,
    done: (email: string) => `${email} has no second factor any more`,
  },
  {
    title: "移除两步验证",
    what: (email: string) => `在重新启用之前，${email} 仅凭密码即可登录。请先确认确为本人提出的请求。`,
    done: (email: string) => `已移除 ${email} 的两步验证`,
  },
);

interface Props {
  readonly user: User;
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function RemoveSecondFactor({ user, opened, onClose }: Props) {
  const t = useTexts(said);
  const forget = useForgetAnswers();
  const done = () => {
    notify(t.done(user.email));
    return forget();
  };
  return (
    <ConfirmCall
      {...{ opened, onClose }}
      title={t.title}
      name={user.email}
      action={t.title}
      method={OperatorService.method.updateUser}
      request={{ userId: user.id, secondFactor: false }}
      onDone={done}
    >
      {t.what(user.email)}
    </ConfirmCall>
  );
}
