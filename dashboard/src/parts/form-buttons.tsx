/** The buttons at the end of a form in a dialog: cancel, and the action. */
import { Button, Group } from "@mantine/core";
import { texts, useTexts } from "../language/language.tsx";

const said = texts({ cancel: "Cancel" }, { cancel: "取消" });

interface Props {
  /** action is the label of the button. */
  readonly action: string;
  readonly busy: boolean;
  readonly disabled?: boolean;
  /** final is whether the action cannot be undone. */
  readonly final?: boolean;
  /** onAction is called if the button submits no form. */
  readonly onAction?: () => void;
  readonly onCancel: () => void;
}

export function FormButtons({ action, busy, disabled = false, final = false, onAction, onCancel }: Props) {
  const t = useTexts(said);
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
        // If there is no field to focus first.
        data-autofocus={onAction ? true : undefined}
      >
        {action}
      </Button>
    </Group>
  );
}
