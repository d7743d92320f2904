/** The versions as a table, or as cards in a narrow window. */
import { Badge, Button, Group, Paper, SimpleGrid, Stack, Table, Text } from "@mantine/core";
import { IconArrowBackUp, IconListDetails } from "@tabler/icons-react";
import { type ReactNode, useState } from "react";
import type { ConfigurationVersion } from "../../../../gen/modelgateway/v1/configuration_pb.ts";
import { useAuthorName } from "../../configuration/author.tsx";
import { texts, useTexts } from "../../language/language.tsx";
import { Fact } from "../../parts/fact.tsx";
import { Moment } from "../../parts/moment.tsx";
import { useNarrow } from "../../parts/narrow.ts";
import text from "../../parts/text.module.css";
import { WideTable } from "../../parts/wide-table.tsx";
import { RollBack } from "./roll-back.tsx";
import { ShowVersion } from "./show-version.tsx";
import classes from "./version-table.module.css";

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

interface Column {
  readonly name: "version" | "when" | "who" | "what" | "note";
  readonly cell: (version: ConfigurationVersion) => ReactNode;
}

export function VersionTable({ of, newest }: Props) {
  const isNarrow = useNarrow("62em");
  const [shown, setShown] = useState<number>();
  const [back, setBack] = useState<number>();
  const columns = useColumns(newest);
  const List = isNarrow ? Cards : Wide;
  return (
    <>
      <List {...{ of, newest, columns }} onShow={setShown} onBack={setBack} />
      <ShowVersion version={shown} onClose={() => setShown(undefined)} />
      <RollBack version={back} newest={newest} onClose={() => setBack(undefined)} />
    </>
  );
}

function useColumns(newest: number): readonly Column[] {
  const t = useTexts(said);
  const nameOf = useAuthorName();
  return [
    {
      name: "version",
      cell: ({ version }) => (
        <Group gap="xs" wrap="nowrap">
          {version}
          {version === newest && (
            <Badge variant="outline" size="sm" tt="none" style={{ flex: "none" }}>
              {t.inForce}
            </Badge>
          )}
        </Group>
      ),
    },
    { name: "when", cell: ({ createdAt }) => <Moment at={createdAt} /> },
    { name: "who", cell: ({ author }) => nameOf(author) },
    {
      name: "what",
      cell: ({ changed }) => (
        <Text size="sm" ff="monospace" miw={150} className={text.anywhere}>
          {changed.slice(0, shownNames).join(", ")}
          {changed.length > shownNames && ` ${t.more(String(changed.length - shownNames))}`}
        </Text>
      ),
    },
    {
      name: "note",
      cell: ({ note }) => (
        <Text size="sm" className={text.anywhere}>
          {note ?? "–"}
        </Text>
      ),
    },
  ];
}

interface ListProps extends Props {
  readonly columns: readonly Column[];
  readonly onShow: (version: number) => void;
  readonly onBack: (version: number) => void;
}

function Actions({
  version,
  newest,
  onShow,
  onBack,
}: Omit<ListProps, "of" | "columns"> & { readonly version: number }) {
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

function Wide({ of, columns, ...rest }: ListProps) {
  const t = useTexts(said);
  return (
    <Paper withBorder>
      <WideTable label={t.versions} minWidth={760} fz="sm">
        <Table.Thead>
          <Table.Tr>
            {columns.map(({ name }) => (
              <Table.Th key={name}>{t[name]}</Table.Th>
            ))}
            <Table.Td />
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {of.map((version) => (
            <Table.Tr key={version.version}>
              {columns.map(({ name, cell }) => (
                <Table.Td key={name}>{cell(version)}</Table.Td>
              ))}
              <Table.Td>
                <Actions version={version.version} {...rest} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </WideTable>
    </Paper>
  );
}

function Cards({ of, columns, ...rest }: ListProps) {
  const t = useTexts(said);
  return (
    <Stack component="ul" gap="sm" aria-label={t.versions} className={classes.list}>
      {of.map((version) => (
        <Paper key={version.version} component="li" withBorder p="sm">
          <SimpleGrid component="dl" cols={2} spacing="xs" verticalSpacing={6} m={0}>
            {columns.map(({ name, cell }) => (
              <Fact key={name} name={t[name]}>
                {cell(version)}
              </Fact>
            ))}
          </SimpleGrid>
          <Group mt="sm">
            <Actions version={version.version} {...rest} />
          </Group>
        </Paper>
      ))}
    </Stack>
  );
}
