/** Creates a key and shows its secret. */
import { Stack, Text } from "@mantine/core";
import { useState } from "react";
import { texts, useTexts } from "../../language/language.tsx";
import { Failure } from "../../parts/failure.tsx";
import { MakingDialog } from "../../parts/making-dialog.tsx";
import { KeyForm } from "./key-form.tsx";
import { newKey } from "./key-values.ts";
import { newOccasion, type Saved, useCreateKey } from "./save-key.ts";
import { ShownSecret } from "./shown-secret.tsx";

const said = texts(
  {
    title: "Create an API key",
    action: "Create key",
    made: (name: string) => `Key “${name}” created`,
    ordinary: "The key was created, but without the administrator privilege. Edit the key to try again.",
  },
  {
    title: "创建 API 密钥",
    action: "创建密钥",
    made: (name: string) => `已创建密钥“${name}”`,
    ordinary: "密钥已创建，但未获得管理员权限。可编辑该密钥后重试。",
  },
);

interface Props {
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function CreateKey({ opened, onClose }: Props) {
  const t = useTexts(said);
  return (
    <MakingDialog<Saved>
      {...{ opened, onClose, title: t.title, size: "lg" }}
      madeTitle={({ key }) => t.made(key.name)}
      form={(onCreated, onCancel) => <NewKeyForm {...{ onCreated, onCancel }} />}
      shown={(saved, close) => <SavedKey saved={saved} onClose={close} />}
    />
  );
}

function NewKeyForm({
  onCreated,
  onCancel,
}: {
  readonly onCreated: (saved: Saved) => void;
  readonly onCancel: () => void;
}) {
  const t = useTexts(said);
  const [occasion] = useState(newOccasion);
  const create = useCreateKey(occasion);
  return (
    <KeyForm
      initial={newKey}
      exists={false}
      action={t.action}
      busy={create.isPending}
      onSubmit={(values) => create.mutate(values, { onSuccess: onCreated })}
      onCancel={onCancel}
    >
      {create.error && <Failure error={create.error} />}
    </KeyForm>
  );
}

function SavedKey({ saved, onClose }: { readonly saved: Saved; readonly onClose: () => void }) {
  const t = useTexts(said);
  return (
    <ShownSecret of={saved.key} onClose={onClose}>
      {saved.withoutPrivilege !== undefined && (
        <Stack gap="xs">
          <Text size="sm">{t.ordinary}</Text>
          <Failure error={saved.withoutPrivilege} />
        </Stack>
      )}
    </ShownSecret>
  );
}
