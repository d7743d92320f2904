/** Somebody else has saved meanwhile: what they changed, and putting one's own changes onto that. */
import { useQuery } from "@connectrpc/connect-query";
import { Alert, Stack, Text } from "@mantine/core";
import { IconUsers } from "@tabler/icons-react";
import { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";
import { useFormat } from "../language/format.ts";
import { texts, useTexts } from "../language/language.tsx";
import { Answer } from "../parts/answer.tsx";
import { Failure } from "../parts/failure.tsx";
import { FormButtons } from "../parts/form-buttons.tsx";
import { useAuthorName } from "./author.tsx";
import { DifferenceList } from "./difference-list.tsx";

const said = texts(
  {
    title: "Somebody else has saved meanwhile",
    who: (name: string, when: string, version: string) => `${name} saved version ${version} ${when}.`,
    theirs: "What has changed since you began:",
    kept: "Your changes are still here, and nothing of theirs is lost. Apply yours onto theirs, and see what differs before you save.",
    apply: "Apply mine onto it",
  },
  {
    title: "期间已有其他人保存",
    who: (name: string, when: string, version: string) => `${name}${when}保存了版本 ${version}。`,
    theirs: "自您开始编辑以来的更改：",
    kept: "您的更改仍在，对方的更改也不会丢失。可将您的更改应用到新版本上，并在保存前查看差异。",
    apply: "将我的更改应用于其上",
  },
);

interface Props {
  /** base is the version that one's own changes were made on. */
  readonly base: number;
  readonly onApply: (version: number) => void;
  readonly onCancel: () => void;
  readonly error: unknown;
  /** kept and apply say something else than that one's own changes can be put onto theirs. */
  readonly kept?: string;
  readonly apply?: string;
}

export function Conflict({ base, onApply, onCancel, error, kept, apply }: Props) {
  const t = useTexts(said);
  const format = useFormat();
  const nameOf = useAuthorName();
  const fresh = { staleTime: 0, gcTime: 0 } as const;
  const { getConfiguration, compareConfigurations } = OperatorService.method;
  const latest = useQuery(getConfiguration, {}, { ...fresh, refetchOnMount: "always" });
  const { version = 0, author, createdAt, note } = latest.data?.configuration ?? {};
  // While the answer is the one from before, there is nothing to compare.
  const isNewer = version !== base && latest.data !== undefined;
  const theirs = useQuery(compareConfigurations, { from: base, to: version }, { ...fresh, enabled: isNewer });
  if (latest.error) return <Failure error={error} />;
  return (
    <Stack>
      <Alert color="gray" icon={<IconUsers aria-hidden />} title={t.title} role="alert">
        {isNewer && (
          <Text size="sm">
            {t.who(nameOf(author), createdAt ? format.relative(createdAt) : "", String(version))} {note}
          </Text>
        )}
        <Text size="sm">{kept ?? t.kept}</Text>
      </Alert>
      <Text size="sm">{t.theirs}</Text>
      <Answer of={theirs} lines={3}>
        {({ differences }) => <DifferenceList of={differences} />}
      </Answer>
      <FormButtons
        action={apply ?? t.apply}
        busy={false}
        disabled={!isNewer}
        onAction={() => onApply(version)}
        onCancel={onCancel}
      />
    </Stack>
  );
}
