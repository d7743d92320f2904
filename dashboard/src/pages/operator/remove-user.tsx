/** Removes a user after the address has been typed. */
import { OperatorService, type User } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { ConfirmCall } from "../../parts/confirm-call.tsx";
import { notify } from "../../parts/notify.ts";
import { useForgetAnswers } from "./forget.ts";

const said = texts(
  {
    title: "Remove user",
    what: (email: string) =>
      `${email} is signed out at once and cannot sign in any more. The account and its keys stay.`,
    remove: "Remove",
    done: (email: string) => `Removed ${email}`,
  },
  {
    title: "移除用户",
    what: (email: string) => `${email} 会立即退出登录，且无法再次登录。账户及其密钥保持不变。`,
    remove: "移除",
    done: (email: string) => `已移除 ${email}`,
  },
);

interface Props {
  readonly user: User;
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function RemoveUser({ user, opened, onClose }: Props) {
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
      action={t.remove}
      method={OperatorService.method.removeUser}
      request={{ userId: user.id }}
      onDone={done}
    >
      {t.what(user.email)}
    </ConfirmCall>
  );
}
