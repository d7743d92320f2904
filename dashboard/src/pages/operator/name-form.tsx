/** Asks for the name of a new or existing account. */
import { Stack, TextInput } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { texts, useTexts } from "../../language/language.tsx";
import { Failure } from "../../parts/failure.tsx";
import { FormButtons } from "../../parts/form-buttons.tsx";

const said = texts(
  { name: "Name", hint: "No two accounts have the same name." },
  { name: "名称", hint: "账户的显示名称，不能与其他账户重复。" },
);

interface Props {
  readonly name: string;
  readonly action: string;
  readonly busy: boolean;
  readonly error: unknown;
  readonly onSubmit: (name: string) => void;
  readonly onCancel: () => void;
  /** children are further fields. */
  readonly children?: ReactNode;
}

export function NameForm({ name, action, busy, error, onSubmit, onCancel, children }: Props) {
  const t = useTexts(said);
  const [typed, setTyped] = useState(name);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (typed.trim()) onSubmit(typed.trim());
      }}
    >
      <Stack>
        <TextInput
          label={t.name}
          description={t.hint}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          maxLength={200}
          autoComplete="off"
          data-autofocus
        />
        {children}
        {error != null && <Failure error={error} />}
        <FormButtons action={action} busy={busy} disabled={!typed.trim()} onCancel={onCancel} />
      </Stack>
    </form>
  );
}
