/** The versions as a table, or as cards where there is no room for it. */
import { Badge, Button, Group, Text } from "@mantine/core";
import { IconArrowBackUp, IconListDetails } from "@tabler/icons-react";
import { useState } from "react";
import type { ConfigurationVersion } from "../../../../gen/modelgateway/v1/configuration_pb.ts";
import { useAuthorName } from "../../configuration/author.tsx";
import { useJoin } from "../../language/join.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Breakable } from "../../parts/breakable.tsx";
import { ColumnList, type ListColumn } from "../../parts/column-list.tsx";
import { Moment } from "../../parts/moment.tsx";
import text from "../../parts/text.module.css";
import { RollBack } from "./roll-back.tsx";
import { ShowVersion } from "./show-version.tsx";

const said = texts(
  {
    versions: "Versions",
    version: "Version",
    when: "Time",
    who: "By",
    what: "Changed",
    note: "Note",
    inForce: "in force",
    show: "Show",
    showVersion: (version: string) => `Show what version ${version} changed`,
    back: "Go back",
    backTo: (version: string) => `Go back to version ${version}`,
    more: (count: string) => `and ${count} more`,
  },
  {
    versions: "版本",
    version: "版本",
    when: "时间",
    who: "操作者",
    what: "更改内容",
    note: "备注",
    inForce: "生效中",
    show: "查看",
    showVersion: (version: string) => `查看 版本 ${version} 的更改`,
    back: "回滚",
    backTo: (version: string) => `回滚 到版本 ${version}`,
    more: (count: string) => `另有 ${count} 项`,
  },
);

/** shownNames is how many changed entries a row names. */
const shownNames = 4;

interface Props {
  readonly of: readonly ConfigurationVersion[];
  readonly newest: number;
}

export function VersionTable({ of, newest }: Props) {
  const t = useTexts(said);
  const [shown, setShown] = useState<number>();
  const [back, setBack] = useState<number>();
  const columns = useColumns(newest);
  return (
    <>
      <ColumnList
        label={t.versions}
        entries={of}
        columns={columns}
        idOf={({ version }) => String(version)}
        minWidth={760}
        table={{ fz: "sm" }}
        actions={({ version }) => <Actions {...{ version, newest }} onShow={setShown} onBack={setBack} />}
      />
      <ShowVersion version={shown} onClose={() => setShown(undefined)} />
      <RollBack version={back} newest={newest} onClose={() => setBack(undefined)} />
    </>
  );
}

function useColumns(newest: number): readonly ListColumn<ConfigurationVersion>[] {
  const t = useTexts(said);
  const join = useJoin();
  const nameOf = useAuthorName();
  return [
    {
      ...{ name: "version", head: t.version },
      cell: ({ version }) => (
        <Group gap="xs" wrap="nowrap">
          {version}
          {version === newest && (
            <Badge variant="outline" size="sm" tt="none" miw="max-content">
              {t.inForce}
            </Badge>
          )}
        </Group>
      ),
    },
    {
      name: "when",
      head: t.when,
      cellProps: { className: text.nowrap },
      cell: ({ createdAt }) => <Moment at={createdAt} />,
    },
    { name: "who", head: t.who, isName: true, cell: ({ author }) => nameOf(author) },
    {
      ...{ name: "what", head: t.what, isLong: true },
      cell: ({ changed }) => (
        <Text size="sm" ff="monospace" miw={150} className={text.name}>
          <Breakable>{join.list(changed.slice(0, shownNames))}</Breakable>
          {changed.length > shownNames && ` ${t.more(String(changed.length - shownNames))}`}
        </Text>
      ),
    },
    {
      ...{ name: "note", head: t.note, isLong: true },
      cell: ({ note }) => (
        <Text size="sm" miw={110} className={text.name}>
          {note ?? "–"}
        </Text>
      ),
    },
  ];
}

interface ActionsProps {
  readonly version: number;
  readonly newest: number;
  readonly onShow: (version: number) => void;
  readonly onBack: (version: number) => void;
}

function Actions({ version, newest, onShow, onBack }: ActionsProps) {
  const t = useTexts(said);
  return (
    <Group gap="xs" wrap="nowrap">
      <Button
        variant="default"
        size="compact-sm"
        leftSection={<IconListDetails size={14} aria-hidden />}
        aria-label={t.showVersion(String(version))}
        onClick={() => onShow(version)}
      >
        {t.show}
      </Button>
      {version !== newest && (
        <Button
          variant="default"
          size="compact-sm"
          leftSection={<IconArrowBackUp size={14} aria-hidden />}
          aria-label={t.backTo(String(version))}
          onClick={() => onBack(version)}
        >
          {t.back}
        </Button>
      )}
    </Group>
  );
}
