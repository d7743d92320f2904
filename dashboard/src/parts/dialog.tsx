/** A window over the page. What was typed or told in it is not lost to a click beside it. */
import { type MantineSize, Modal } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import type { ReactNode } from "react";
import { useWords, words } from "../language/language.tsx";

const said = words({ close: "Close" }, { close: "关闭" });

interface Props {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly title: string;
  /** Whether it is left by the button in it alone. */
  readonly deliberate?: boolean;
  readonly size?: MantineSize;
  readonly children: ReactNode;
}

export function Dialog({ opened, onClose, title, deliberate = false, size = "md", children }: Props) {
  const t = useWords(said);
  const narrow = useMediaQuery("(max-width: 36em)");
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={title}
      size={size}
      centered
      fullScreen={narrow ?? false}
      closeOnClickOutside={false}
      closeOnEscape={!deliberate}
      withCloseButton={!deliberate}
      closeButtonProps={{ "aria-label": t.close }}
      // The library's element for it would pass for the head of the page.
      attributes={{ header: { role: "presentation" } }}
      styles={{ title: { fontWeight: 600 } }}
    >
      {children}
    </Modal>
  );
}
