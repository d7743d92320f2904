/** Grants or removes a user's right to operate the gateway. */
import { useQueryClient } from "@tanstack/react-query";
import { OperatorService, type UpdateUserResponse, type User } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { ConfirmCall } from "../../parts/confirm-call.tsx";
import { notify } from "../../parts/notify.ts";
import { sessionQuery } from "../../session.tsx";
import { useForgetAnswers } from "./forget.ts";

const said = texts(
  {
    make: "Make operator",
    makeWhat: (email: string) => `${email} will see all accounts, move money, and invite and remove users.`,
    take: "Remove operator rights",
    takeWhat: (email: string) => `${email} will see only their own account.`,
    made: (email: string) => `${email} operates the gateway`,
    taken: (email: string) => `${email} no longer operates the gateway`,
  },
  {
    make: "设为网关管理员",
    makeWhat: (email: string) => `${email} 将可查看所有账户、记账，并邀请或移除用户。`,
    take: "取消网关管理员权限",
    takeWhat: (email: string) => `${email} 将只能查看自己的账户。`,
    made: (email: string) => `${email} 已成为网关管理员`,
    taken: (email: string) => `${email} 不再是网关管理员`,
  },
);

interface Props {
  readonly user: User;
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function ChangeOperator({ user, opened, onClose }: Props) {
  const t = useTexts(said);
  const client = useQueryClient();
  const forget = useForgetAnswers();
  const operator = !user.operator;
  const title = operator ? t.make : t.take;
  const done = ({ user: changed }: UpdateUserResponse) => {
    notify(changed?.operator ? t.made(user.email) : t.taken(user.email));
    // It may have been the signed-in user's own right.
    void client.invalidateQueries({ queryKey: sessionQuery.queryKey });
    return forget();
  };
  return (
    <ConfirmCall
      {...{ opened, onClose }}
      title={title}
      name={user.email}
      action={title}
      method={OperatorService.method.updateUser}
      request={{ userId: user.id, operator }}
      onDone={done}
    >
      {operator ? t.makeWhat(user.email) : t.takeWhat(user.email)}
    </ConfirmCall>
  );
}
