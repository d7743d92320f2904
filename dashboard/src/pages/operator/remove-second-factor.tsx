/** Removes the second factor of a user who has lost both the app and the recovery codes. */
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { ConfirmUser, type UserDialogProps } from "./confirm-user.tsx";

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

export function RemoveSecondFactor({ user, opened, onClose }: UserDialogProps) {
  const t = useTexts(said);
  return (
    <ConfirmUser
      {...{ user, opened, onClose }}
      title={t.title}
      action={t.title}
      what={t.what(user.email)}
      done={t.done(user.email)}
      method={OperatorService.method.updateUser}
      request={{ userId: user.id, secondFactor: false }}
    />
  );
}
