/** A dialog that makes something and then shows what is told only once: from then on only its own button closes it. */
import type { MantineSize } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { Dialog } from "./dialog.tsx";

interface Props<T> {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly title: string;
  /** madeTitle is the title from then on. */
  readonly madeTitle: (made: T) => string;
  readonly size?: MantineSize;
  /** form is shown first; it tells what was made. */
  readonly form: (onMade: (made: T) => void, onCancel: () => void) => ReactNode;
  /** shown shows what was made. */
  readonly shown: (made: T, onClose: () => void) => ReactNode;
}

export function MakingDialog<T extends object>({ opened, onClose, title, madeTitle, size, form, shown }: Props<T>) {
  const [made, setMade] = useState<T>();
  const close = () => {
    setMade(undefined);
    onClose();
  };
  return (
    <Dialog
      {...(size ? { size } : {})}
      opened={opened}
      onClose={close}
      title={made ? madeTitle(made) : title}
      deliberate={made !== undefined}
    >
      {made ? shown(made, close) : form(setMade, close)}
    </Dialog>
  );
}
