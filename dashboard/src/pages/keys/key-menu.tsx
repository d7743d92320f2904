/** The actions on a key. */
import { Menu } from "@mantine/core";
import { IconCode, IconPencil, IconPlayerPause, IconPlayerPlay, IconRefresh, IconTrash } from "@tabler/icons-react";
import type { ApiKey } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { ActionsMenu } from "../../parts/actions-menu.tsx";

const said = texts(
  {
    menu: (name: string) => `Actions for ${name}`,
    edit: "Edit",
    use: "Use it",
    disable: "Disable",
    enable: "Enable",
    rotate: "Rotate",
    delete: "Delete",
  },
  {
    menu: (name: string) => `${name} 的操作`,
    edit: "编辑",
    use: "使用方法",
    disable: "停用",
    enable: "启用",
    rotate: "轮换",
    delete: "删除",
  },
);

export type KeyDialog = "edit" | "use" | "rotate" | "delete";

export interface KeyActions {
  readonly onOpen: (dialog: KeyDialog, key: ApiKey) => void;
  /** onSwitch disables or enables the key. */
  readonly onSwitch: (key: ApiKey, disabled: boolean) => void;
}

export function KeyMenu({ of, onOpen, onSwitch }: KeyActions & { readonly of: ApiKey }) {
  const t = useTexts(said);
  const open = (dialog: KeyDialog) => onOpen(dialog, of);
  return (
    <ActionsMenu label={t.menu(of.name)} withInitialFocusPlaceholder={false}>
      <Menu.Item leftSection={<IconPencil size={16} aria-hidden />} onClick={() => open("edit")}>
        {t.edit}
      </Menu.Item>
      <Menu.Item leftSection={<IconCode size={16} aria-hidden />} onClick={() => open("use")}>
        {t.use}
      </Menu.Item>
      {of.disabled ? (
        <Menu.Item leftSection={<IconPlayerPlay size={16} aria-hidden />} onClick={() => onSwitch(of, false)}>
          {t.enable}
        </Menu.Item>
      ) : (
        <Menu.Item leftSection={<IconPlayerPause size={16} aria-hidden />} onClick={() => onSwitch(of, true)}>
          {t.disable}
        </Menu.Item>
      )}
      <Menu.Item leftSection={<IconRefresh size={16} aria-hidden />} onClick={() => open("rotate")}>
        {t.rotate}
      </Menu.Item>
      <Menu.Item
        c="var(--mantine-color-error)"
        leftSection={<IconTrash size={16} aria-hidden />}
        onClick={() => open("delete")}
      >
        {t.delete}
      </Menu.Item>
    </ActionsMenu>
  );
}
