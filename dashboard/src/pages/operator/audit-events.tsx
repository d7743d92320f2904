/** The audit events as a table, or as cards where there is no room for it. */
import { Group, Paper, Stack, Table, Text } from "@mantine/core";
import { IconBan } from "@tabler/icons-react";
import type { Act, Actor } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { useJoin } from "../../language/join.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Breakable } from "../../parts/breakable.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Parted } from "../../parts/parted.tsx";
import text from "../../parts/text.module.css";
import { WideTable } from "../../parts/wide-table.tsx";
import { AccountLink } from "./account-link.tsx";
import { useActionNames } from "./action-names.ts";
import { useActorKinds } from "./actor-kinds.ts";
import { useDetailNames, useDetailValues, useToldMembers } from "./detail-names.ts";
import { readDetails } from "./read-details.ts";
import { useRefusalNames } from "./refusal-names.ts";

const said = texts(
  {
    acts: "Audit log",
    when: "When",
    who: "Who",
    what: "What",
    on: "Subject",
    details: "Details",
    from: "Address",
    refused: (why: string) => `Refused: ${why}`,
  },
  {
    acts: "审计日志",
    when: "时间",
    who: "操作者",
    what: "操作",
    on: "对象",
    details: "详情",
    from: "来源地址",
    refused: (why: string) => `已拒绝：${why}`,
  },
);

interface Props {
  readonly acts: readonly Act[];
}

function AuditEventCards({ acts }: Props) {
  const t = useTexts(said);
  return (
    <Stack component="ul" gap="sm" aria-label={t.acts} className={text.list}>
      {acts.map((act) => (
        <Card key={act.id} act={act} />
      ))}
    </Stack>
  );
}

function Card({ act }: { readonly act: Act }) {
  const { createdAt, actor, address } = act;
  return (
    <Paper component="li" withBorder p="sm">
      <Stack gap={6}>
        <ActCell act={act} />
        {actor && (
          <div>
            <Who actor={actor} />
          </div>
        )}
        <Subject act={act} />
        <Details act={act} />
        <Text size="xs" c="dimmed">
          <Moment at={createdAt} />
          {address && ` · ${address}`}
        </Text>
      </Stack>
    </Paper>
  );
}

export function AuditEvents({ acts }: Props) {
  const t = useTexts(said);
  return (
    <WideTable label={t.acts} minWidth={940} cards={<AuditEventCards acts={acts} />}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t.when}</Table.Th>
          <Table.Th>{t.who}</Table.Th>
          <Table.Th>{t.what}</Table.Th>
          <Table.Th>{t.on}</Table.Th>
          <Table.Th>{t.details}</Table.Th>
          <Table.Th>{t.from}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {acts.map((act) => (
          <Row key={act.id} act={act} />
        ))}
      </Table.Tbody>
    </WideTable>
  );
}

function Row({ act }: { readonly act: Act }) {
  const { createdAt, actor, address } = act;
  return (
    <Table.Tr style={{ verticalAlign: "top" }}>
      <Table.Td className={text.nowrap}>
        <Moment at={createdAt} />
      </Table.Td>
      <Table.Td className={text.name}>{actor && <Who actor={actor} />}</Table.Td>
      <Table.Td>
        <ActCell act={act} />
      </Table.Td>
      <Table.Td>
        <Subject act={act} />
      </Table.Td>
      <Table.Td className={text.anywhere} miw={150} maw={280}>
        <Details act={act} />
      </Table.Td>
      <Table.Td className={text.nowrap}>{address || "–"}</Table.Td>
    </Table.Tr>
  );
}

/** ActCell shows the action, and why it was refused if it was. */
function ActCell({ act: { action, refused } }: { readonly act: Act }) {
  const t = useTexts(said);
  const tell = useActionNames();
  const why = useRefusalNames();
  return (
    <div>
      <Text size="sm">{tell(action)}</Text>
      <Text size="xs" c="dimmed" ff="monospace" className={text.name}>
        <Parted of={action} />
      </Text>
      {refused && (
        <Group gap={4} wrap="nowrap" mt={2}>
          <IconBan size={14} color="var(--mantine-color-error)" aria-hidden />
          <Text size="xs" fw={500}>
            {t.refused(why(refused))}
          </Text>
        </Group>
      )}
    </div>
  );
}

/** Subject renders nothing where an event has none. */
function Subject({ act: { subject, accountId } }: { readonly act: Act }) {
  const hasOwn = subject !== undefined && subject !== "" && subject !== accountId;
  if (!hasOwn && !accountId) return null;
  return (
    <Stack gap={2} align="flex-start">
      {hasOwn && <Id of={subject} />}
      {accountId && (
        <AccountLink id={accountId} fz="xs">
          <Id of={accountId} />
        </AccountLink>
      )}
    </Stack>
  );
}

function Details({ act: { details } }: { readonly act: Act }) {
  const nameOf = useDetailNames();
  const told = useToldMembers();
  const tellValue = useDetailValues();
  const join = useJoin();
  return readDetails(details, told, join.list).map(([name, value]) => (
    <Text key={name} size="xs" className={text.anywhere}>
      <Text span inherit c="dimmed">
        {join.label(nameOf(name))}
      </Text>
      <Breakable>{tellValue(name, value)}</Breakable>
    </Text>
  ));
}

function Who({ actor: { kind, id, name } }: { readonly actor: Actor }) {
  const names = new Map<string, string>(Object.entries(useActorKinds()));
  const word = names.get(kind) ?? kind;
  return (
    <>
      <Text size="sm" className={text.name} title={id}>
        <Parted of={name || word} />
      </Text>
      {(name || id) && (
        <Text size="xs" c="dimmed" className={text.name}>
          {name ? word : id}
        </Text>
      )}
    </>
  );
}

/** Id shows the end of an id: ids are long, and their beginnings alike. The tooltip has the whole id. */
function Id({ of }: { readonly of: string }) {
  const [prefix = ""] = of.split("_");
  return (
    <Text span size="xs" ff="monospace" title={of} className={text.nowrap}>
      {prefix}_…{of.slice(-6)}
    </Text>
  );
}
