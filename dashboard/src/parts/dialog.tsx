/** A dialog over the page. A click beside it does not close it, so that no input is lost. */
import { getDefaultZIndex, type MantineSize, Modal } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import type { ReactNode } from "react";
import { useReturnFocus } from "../focus/use-return-focus.ts";
import { texts, useTexts } from "../language/language.tsx";

const said = texts({ close: "Close" }, { close: "关闭" });

interface Props {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly title: string;
  /** deliberate is whether only its own button closes it. */
  readonly deliberate?: boolean;
  /** hides is whether nobody can read the page behind it, nor a menu that is open there. */
  readonly hides?: boolean;
  readonly size?: MantineSize;
  readonly children: ReactNode;
}

export function Dialog({ opened, onClose, title, deliberate = false, hides = false, size = "md", children }: Props) {
  const t = useTexts(said);
  const narrow = useMediaQuery("(max-width: 36em)");
  useReturnFocus(opened);
  return (
    <Modal
      returnFocus={false}
      opened={opened}
      onClose={onClose}
      title={title}
      size={size}
      centered
      fullScreen={narrow ?? false}
      closeOnClickOutside={false}
      {...(hides ? { zIndex: getDefaultZIndex("overlay"), overlayProps: { backgroundOpacity: 0.85, blur: 12 } } : {})}
      closeOnEscape={!deliberate}
      withCloseButton={!deliberate}
      closeButtonProps={{ "aria-label": t.close }}
      // The library's element for the header would count as the page's header.
      attributes={{ header: { role: "presentation" } }}
      styles={{ title: { fontWeight: 600 } }}
    >
      {children}
    </Modal>
  );
}
