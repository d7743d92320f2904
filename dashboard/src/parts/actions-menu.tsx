/** ActionsMenu opens the actions on an entry of a list, or on what a page shows. */
import { ActionIcon, Menu, type MenuProps } from "@mantine/core";
import { IconDots } from "@tabler/icons-react";
import type { ReactNode } from "react";

interface Props extends Pick<MenuProps, "withInitialFocusPlaceholder"> {
  /** label names the button for readers of screens. */
  readonly label: string;
  /** children are the items of the menu. */
  readonly children: ReactNode;
}

export function ActionsMenu({ label, children, ...menu }: Props) {
  return (
    <Menu position="bottom-end" {...menu}>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={label}>
          <IconDots size={18} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>{children}</Menu.Dropdown>
    </Menu>
  );
}
