/** Asks for confirmation by a click, or by typing a name. */
import { Stack, Text, TextInput } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { texts, useTexts } from "../language/language.tsx";
import { Dialog } from "./dialog.tsx";
import { Failure } from "./failure.tsx";
import { FormButtons } from "./form-buttons.tsx";

const said = texts(
  { type: (name: string) => `Type “${name}” to confirm` },
  { type: (name: string) => `输入“${name}”以确认` },
);

interface Props {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly title: string;
  /** name is the text to type; without it a click is enough. */
  readonly name?: string;
  /** action is the label of the button. */
  readonly action: string;
  readonly onConfirm: () => void;
  readonly busy: boolean;
  readonly error: unknown;
  /** children explain what will happen. */
  readonly children: ReactNode;
}

export function Confirm(props: Props) {
  const { opened, onClose, title } = props;
  return (
    <Dialog opened={opened} onClose={onClose} title={title}>
      <Question {...props} />
    </Dialog>
  );
}

function Question({ name, action, onClose, onConfirm, busy, error, children }: Props) {
  const t = useTexts(said);
  const [typed, setTyped] = useState("");
  const sure = name === undefined || typed.trim() === name.trim();
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (sure) onConfirm();
      }}
    >
      <Stack>
        <Text size="sm" component="div">
          {children}
        </Text>
        {name !== undefined && (
          <TextInput
            label={t.type(name)}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            data-autofocus
            autoComplete="off"
          />
        )}
        {error != null && <Failure error={error} />}
        <FormButtons action={action} busy={busy} disabled={!sure} final onCancel={onClose} />
      </Stack>
    </form>
  );
}
