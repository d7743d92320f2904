/** Goes back to an earlier version: what that changes now, a note, and the way. */
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { Stack, Text } from "@mantine/core";
import { useState } from "react";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { Conflict } from "../../configuration/conflict.tsx";
import { DifferenceList } from "../../configuration/difference-list.tsx";
import { Faults } from "../../configuration/faults.tsx";
import { NoteField, noteOf } from "../../configuration/note-field.tsx";
import { isConflict } from "../../configuration/save-changes.tsx";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { FormButtons } from "../../parts/form-buttons.tsx";
import { notify } from "../../parts/notify.ts";
import { useForgetAnswers } from "../operator/forget.ts";

const said = texts(
  {
    title: (version: string) => `Go back to version ${version}`,
    about: "What that version had is saved anew, as the newest one. This is what changes:",
    back: "Go back",
    done: (version: string) => `Saved as version ${version}`,
    kept: "Nothing has changed yet. Going back takes this away, too: see first what differs from it.",
    apply: "See what differs",
  },
  {
    title: (version: string) => `回滚到版本 ${version}`,
    about: "该版本的内容将重新保存为最新版本，将做以下更改：",
    back: "回滚",
    done: (version: string) => `已保存为版本 ${version}`,
    kept: "尚未做任何更改。回滚也会撤销这些更改，请先查看与其的差异。",
    apply: "查看差异",
  },
);

interface Props {
  /** version is undefined while the dialog is closed. */
  readonly version: number | undefined;
  readonly newest: number;
  readonly onClose: () => void;
}

export function RollBack({ version, newest, onClose }: Props) {
  const t = useTexts(said);
  return (
    <Dialog size="lg" opened={version !== undefined} onClose={onClose} title={t.title(String(version ?? ""))}>
      {version !== undefined && <Question version={version} newest={newest} onClose={onClose} />}
    </Dialog>
  );
}

function Question({ version, newest, onClose }: Props & { readonly version: number }) {
  const t = useTexts(said);
  const forget = useForgetAnswers();
  const [base, setBase] = useState(newest);
  const [note, setNote] = useState("");
  const { rollBackConfiguration } = OperatorService.method;
  const request = { version, baseVersion: base };
  const tried = useQuery(
    rollBackConfiguration,
    { ...request, dryRun: true },
    { staleTime: Number.POSITIVE_INFINITY, gcTime: 0, retry: false },
  );
  const goBack = useMutation(rollBackConfiguration, {
    onSuccess: ({ configuration }) => {
      void notify(t.done(String(configuration?.version ?? "")));
      onClose();
      return forget();
    },
  });
  const error = goBack.error ?? tried.error;
  if (error && isConflict(error)) {
    const lookAgain = (highest: number) => {
      goBack.reset();
      setBase(highest);
    };
    return <Conflict {...{ base, error, kept: t.kept, apply: t.apply }} onApply={lookAgain} onCancel={onClose} />;
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        goBack.mutate({ ...request, ...noteOf(note) });
      }}
    >
      <Stack>
        <Text size="sm">{t.about}</Text>
        {error ? (
          <Faults of={error} />
        ) : (
          <Answer of={tried} lines={4}>
            {({ differences }) => <DifferenceList of={differences} />}
          </Answer>
        )}
        <NoteField value={note} onChange={setNote} />
        <FormButtons
          action={t.back}
          busy={goBack.isPending}
          disabled={(tried.data?.differences.length ?? 0) === 0}
          onCancel={onClose}
        />
      </Stack>
    </form>
  );
}
