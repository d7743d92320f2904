/** Changes a key. */
import { Text } from "@mantine/core";
import { useState } from "react";
import type { ApiKey } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Failure } from "../../parts/failure.tsx";
import { notify } from "../../parts/notify.ts";
import { KeyForm } from "./key-form.tsx";
import { valuesOf } from "./key-values.ts";
import { newOccasion, useChangeKey } from "./save-key.ts";

const said = texts(
  {
    title: (name: string) => `Edit “${name}”`,
    action: "Save",
    done: "Saved",
    partly: "The administrator privilege is as it was. All else is saved.",
  },
  {
    title: (name: string) => `编辑“${name}”`,
    action: "保存",
    done: "已保存",
    partly: "管理员权限未更改，其余修改已保存。",
  },
);

interface Props {
  readonly of: ApiKey;
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function EditKey({ of, opened, onClose }: Props) {
  const t = useTexts(said);
  return (
    <Dialog size="lg" opened={opened} onClose={onClose} title={t.title(of.name)}>
      <Changing of={of} onClose={onClose} />
    </Dialog>
  );
}

function Changing({ of, onClose }: Pick<Props, "of" | "onClose">) {
  const t = useTexts(said);
  const [occasion] = useState(newOccasion);
  const change = useChangeKey(of, occasion);
  const refused = change.data?.withoutPrivilege;
  const finish = ({ withoutPrivilege }: { readonly withoutPrivilege?: unknown }) => {
    if (withoutPrivilege !== undefined) return;
    notify(t.done);
    onClose();
  };
  return (
    <KeyForm
      initial={valuesOf(of)}
      exists
      action={t.action}
      busy={change.isPending}
      onSubmit={(values) => change.mutate(values, { onSuccess: finish })}
      onCancel={onClose}
    >
      {change.error && <Failure error={change.error} />}
      {refused !== undefined && (
        <>
          <Text size="sm">{t.partly}</Text>
          <Failure error={refused} />
        </>
      )}
    </KeyForm>
  );
}
