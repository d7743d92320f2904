/** The operator's actions on a user: password link, second factor, operator rights, removal. */
import { Menu } from "@mantine/core";
import { IconDeviceMobileOff, IconKey, IconShieldMinus, IconShieldPlus, IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import type { User } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { ActionsMenu } from "../../parts/actions-menu.tsx";
import { ChangeOperator } from "./change-operator.tsx";
import { RemoveSecondFactor } from "./remove-second-factor.tsx";
import { RemoveUser } from "./remove-user.tsx";
import { ResetLink } from "./reset-link.tsx";

const said = texts(
  {
    actions: (email: string) => `Actions for ${email}`,
    reset: "Password reset link",
    factor: "Remove the second factor",
    make: "Make operator",
    take: "Remove operator rights",
    remove: "Remove",
  },
  {
    actions: (email: string) => `对 ${email} 的操作`,
    reset: "重置密码链接",
    factor: "移除两步验证",
    make: "设为网关管理员",
    take: "取消网关管理员权限",
    remove: "移除",
  },
);

export function UserMenu({ user }: { readonly user: User }) {
  const t = useTexts(said);
  const [open, setOpen] = useState<"reset" | "factor" | "operator" | "remove">();
  const close = () => setOpen(undefined);
  return (
    <>
      <ActionsMenu label={t.actions(user.email)}>
        <Menu.Item leftSection={<IconKey size={16} aria-hidden />} onClick={() => setOpen("reset")}>
          {t.reset}
        </Menu.Item>
        {user.secondFactor && (
          <Menu.Item leftSection={<IconDeviceMobileOff size={16} aria-hidden />} onClick={() => setOpen("factor")}>
            {t.factor}
          </Menu.Item>
        )}
        <Menu.Item
          leftSection={
            user.operator ? <IconShieldMinus size={16} aria-hidden /> : <IconShieldPlus size={16} aria-hidden />
          }
          onClick={() => setOpen("operator")}
        >
          {user.operator ? t.take : t.make}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item leftSection={<IconTrash size={16} aria-hidden />} onClick={() => setOpen("remove")}>
          {t.remove}
        </Menu.Item>
      </ActionsMenu>
      <ResetLink user={user} opened={open === "reset"} onClose={close} />
      <RemoveSecondFactor user={user} opened={open === "factor"} onClose={close} />
      <ChangeOperator user={user} opened={open === "operator"} onClose={close} />
      <RemoveUser user={user} opened={open === "remove"} onClose={close} />
    </>
  );
}
