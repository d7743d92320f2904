/** Removes a user after the address has been typed. */
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { ConfirmUser, type UserDialogProps } from "./confirm-user.tsx";

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

export function RemoveUser({ user, opened, onClose }: UserDialogProps) {
  const t = useTexts(said);
  return (
    <ConfirmUser
      {...{ user, opened, onClose }}
      title={t.title}
      action={t.remove}
      what={t.what(user.email)}
      done={t.done(user.email)}
      method={OperatorService.method.removeUser}
      request={{ userId: user.id }}
    />
  );
}
