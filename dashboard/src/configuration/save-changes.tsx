/**
 * Saves changes of the configuration: it shows what would differ, takes a note, and saves. Where somebody else has saved meanwhile, it
 * shows what they changed, and puts these changes onto that.
 */
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { Stack, Text } from "@mantine/core";
import { type ReactNode, useState } from "react";
import type { ConfigurationDifference } from "../../../gen/modelgateway/v1/configuration_pb.ts";
import { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../language/language.tsx";
import { useForgetAnswers } from "../pages/operator/forget.ts";
import { Answer } from "../parts/answer.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { FormButtons } from "../parts/form-buttons.tsx";
import { notify } from "../parts/notify.ts";
import { Reason, refusalOf } from "../refusal.ts";
import { Conflict } from "./conflict.tsx";
import { DifferenceList } from "./difference-list.tsx";
import { Faults } from "./faults.tsx";
import { NoteField, noteOf } from "./note-field.tsx";
import { baseAfter, noteSave } from "./own-saves.ts";
import type { Change } from "./use-configuration.ts";

const said = texts(
  {
    about: "This is what changes. It takes effect for the next call, on every node within a second.",
    nothing: "Nothing changes.",
    save: "Save",
    saved: (version: string) => `Saved as version ${version}`,
  },
  {
    about: "将做以下更改。更改对下一次调用生效，并在一秒内应用于所有节点。",
    nothing: "没有任何更改。",
    save: "保存",
    saved: (version: string) => `已保存为版本 ${version}`,
  },
);

interface Props {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly title: string;
  /** base is the version that the changes were made on. */
  readonly base: number;
  readonly changes: readonly Change[];
  /** action is the label of the button; default: Save. */
  readonly action?: string;
  /** final is whether the action takes something away. */
  readonly final?: boolean;
  /** onSaved gets the version before the dialog closes. */
  readonly onSaved?: ((version: number) => void) | undefined;
  /** children tell more about what will happen. */
  readonly children?: ReactNode;
}

export function SaveChanges(props: Props) {
  const { opened, onClose, title } = props;
  return (
    <Dialog size="lg" opened={opened} onClose={onClose} title={title}>
      <Saving {...props} />
    </Dialog>
  );
}

function Saving({ base, changes, action, final = false, onSaved, onClose, children }: Props) {
  const t = useTexts(said);
  const forget = useForgetAnswers();
  const [onto, setOnto] = useState(() => baseAfter(base));
  const [note, setNote] = useState("");
  const { changeConfiguration } = OperatorService.method;
  const request = { baseVersion: onto, changes: [...changes] };
  const options = { staleTime: Number.POSITIVE_INFINITY, gcTime: 0, retry: false } as const;
  const tried = useQuery(changeConfiguration, { ...request, dryRun: true }, options);
  const save = useMutation(changeConfiguration, {
    onSuccess: ({ configuration }) => {
      const version = configuration?.version ?? onto;
      noteSave(onto, version);
      void notify(t.saved(String(version)));
      onSaved?.(version);
      onClose();
      return forget();
    },
  });
  const refused = save.error ?? tried.error;
  if (refused && isConflict(refused)) {
    const apply = (version: number) => {
      save.reset();
      setOnto(version);
    };
    return <Conflict base={onto} onApply={apply} onCancel={onClose} error={refused} />;
  }
  if (tried.error) return <Refused error={tried.error} onClose={onClose} />;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate({ ...request, ...noteOf(note) });
      }}
    >
      <Stack>
        {children}
        <Answer of={tried} lines={4}>
          {({ differences }) => <Differences of={differences} />}
        </Answer>
        <NoteField value={note} onChange={setNote} />
        {save.error && <Faults of={save.error} />}
        <FormButtons
          action={action ?? t.save}
          busy={save.isPending}
          disabled={(tried.data?.differences.length ?? 0) === 0}
          final={final}
          onCancel={onClose}
        />
      </Stack>
    </form>
  );
}

function Differences({ of }: { readonly of: readonly ConfigurationDifference[] }) {
  const t = useTexts(said);
  if (of.length === 0) return <Text size="sm">{t.nothing}</Text>;
  return (
    <>
      <Text size="sm">{t.about}</Text>
      <DifferenceList of={of} />
    </>
  );
}

const closing = texts({ back: "Back" }, { back: "返回" });

function Refused({ error, onClose }: { readonly error: unknown; readonly onClose: () => void }) {
  const t = useTexts(closing);
  return (
    <Stack>
      <Faults of={error} />
      <FormButtons action={t.back} busy={false} onAction={onClose} onCancel={onClose} />
    </Stack>
  );
}

/** isConflict tells a version that is no longer the highest from other conflicts, as a change of what the file has. */
export function isConflict(error: unknown): boolean {
  const { reason, param } = refusalOf(error);
  return reason === Reason.CONFLICT && param === "base_version";
}
