/** The operator's actions on a key of an account: each is asked for once more. */
import { Menu } from "@mantine/core";
import { IconPlayerPause, IconPlayerPlay, IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import type { ApiKey } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { ActionsMenu } from "../../parts/actions-menu.tsx";
import { ConfirmCall } from "../../parts/confirm-call.tsx";
import { notify } from "../../parts/notify.ts";
import { deletion } from "../keys/delete-key.tsx";
import { useForgetAnswers } from "./forget.ts";

const said = texts(
  {
    menu: (name: string) => `Actions for ${name}`,
    disable: "Disable",
    enable: "Enable",
    delete: "Delete",
    disableTitle: (name: string) => `Disable “${name}”`,
    enableTitle: (name: string) => `Enable “${name}”`,
    disableAbout:
      "Calls with this key are refused from now on. The account's users can enable it again: delete it where others know its secret.",
    enableAbout: "Calls with this key are answered again from now on.",
    disabled: (name: string) => `Key “${name}” disabled`,
    enabled: (name: string) => `Key “${name}” enabled`,
  },
  {
    menu: (name: string) => `${name} 的操作`,
    disable: "停用",
    enable: "启用",
    delete: "删除",
    disableTitle: (name: string) => `停用“${name}”`,
    enableTitle: (name: string) => `启用“${name}”`,
    disableAbout: "使用此密钥的调用将从现在起被拒绝。此账户的用户可以重新启用它：如果密钥内容已泄露，请删除此密钥。",
    enableAbout: "使用此密钥的调用将从现在起恢复正常。",
    disabled: (name: string) => `已停用密钥“${name}”`,
    enabled: (name: string) => `已启用密钥“${name}”`,
  },
);

const { switchAccountKey, deleteAccountKey } = OperatorService.method;

interface Props {
  readonly accountId: string;
  readonly of: ApiKey;
}

export function AccountKeyMenu({ accountId, of }: Props) {
  const t = useTexts(said);
  const ofDeletion = useTexts(deletion);
  const forget = useForgetAnswers();
  // A closed dialog keeps what it asks while it fades out, also where the key has changed meanwhile.
  const [{ dialog, disabled }, setOpened] = useState<{ dialog?: "switch" | "delete"; disabled: boolean }>({
    disabled: true,
  });
  const close = () => setOpened({ disabled });
  const finish = (done: string) => () => {
    notify(done);
    return forget();
  };
  const [title, about, action, done] = disabled
    ? [t.disableTitle, t.disableAbout, t.disable, t.disabled]
    : [t.enableTitle, t.enableAbout, t.enable, t.enabled];
  const Icon = of.disabled ? IconPlayerPlay : IconPlayerPause;
  return (
    <>
      <ActionsMenu label={t.menu(of.name)} withInitialFocusPlaceholder={false}>
        <Menu.Item
          leftSection={<Icon size={16} aria-hidden />}
          onClick={() => setOpened({ dialog: "switch", disabled: !of.disabled })}
        >
          {of.disabled ? t.enable : t.disable}
        </Menu.Item>
        <Menu.Item
          c="var(--mantine-color-error)"
          leftSection={<IconTrash size={16} aria-hidden />}
          onClick={() => setOpened({ dialog: "delete", disabled })}
        >
          {t.delete}
        </Menu.Item>
      </ActionsMenu>
      <ConfirmCall
        opened={dialog === "switch"}
        onClose={close}
        title={title(of.name)}
        action={action}
        method={switchAccountKey}
        request={{ account: accountId, id: of.id, disabled }}
        onDone={finish(done(of.name))}
      >
        {about}
      </ConfirmCall>
      <ConfirmCall
        opened={dialog === "delete"}
        onClose={close}
        title={ofDeletion.title(of.name)}
        name={of.name}
        action={t.delete}
        method={deleteAccountKey}
        request={{ account: accountId, id: of.id }}
        onDone={finish(ofDeletion.done(of.name))}
      >
        {ofDeletion.about}
      </ConfirmCall>
    </>
  );
}
