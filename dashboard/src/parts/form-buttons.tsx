/** What a form in a dialog ends with: the way back, and the button that does it. */
import { Button, Group } from "@mantine/core";
import { useWords, words } from "../language/language.tsx";

const said = words({ cancel: "Cancel" }, { cancel: "取消" });

interface Props {
  /** What the button says. */
  readonly action: string;
  readonly busy: boolean;
  readonly disabled?: boolean;
  /** Whether what it does cannot be taken back. */
  readonly final?: boolean;
  /** What it does, where it submits no form. */
  readonly onAction?: () => void;
  readonly onCancel: () => void;
}

export function FormButtons({ action, busy, disabled = false, final = false, onAction, onCancel }: Props) {
  const t = useWords(said);
  return (
    <Group justify="flex-end">
      <Button variant="default" onClick={onCancel}>
        {t.cancel}
      </Button>
      <Button
        type={onAction ? "button" : "submit"}
        onClick={onAction}
        {...(final ? { color: "red.9" } : {})}
        loading={busy}
        disabled={disabled}
        // Where there is no field to begin with.
        data-autofocus={onAction ? true : undefined}
      >
        {action}
      </Button>
    </Group>
  );
}
