/** The keys that match the search, a part of them at a time. */
import { Button, Group, Select, Stack, Text, TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { useState } from "react";
import type { ApiKey } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Empty } from "../../parts/empty.tsx";
import { KeyList } from "./key-list.tsx";
import type { KeyActions } from "./key-menu.tsx";
import { type KeyState, keyStates, matches, stateOf, stateTexts } from "./key-state.ts";

const said = texts(
  {
    search: "Search by name, secret or id",
    status: "Status",
    all: "All statuses",
    count: (found: string, all: string) => `${found} of ${all} keys`,
    none: "No keys match",
    clear: "Clear filters",
    more: "Show more",
  },
  {
    search: "按名称、密钥或 ID 搜索",
    status: "状态",
    all: "全部状态",
    count: (found: string, all: string) => `${found} / ${all} 个密钥`,
    none: "没有匹配的密钥",
    clear: "清除筛选",
    more: "显示更多",
  },
);

const pageLength = 50;

export function FoundKeys({ among, ...actions }: KeyActions & { readonly among: readonly ApiKey[] }) {
  const t = useTexts(said);
  const states = useTexts(stateTexts);
  const format = useFormat();
  const [search, setSearch] = useState("");
  const [state, setState] = useState<KeyState | "all">("all");
  const [shown, setShown] = useState(pageLength);
  const now = Date.now();
  const found = among.filter((key) => matches(key, search) && (state === "all" || stateOf(key, now) === state));
  const clear = () => {
    setSearch("");
    setState("all");
  };
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <TextInput
          aria-label={t.search}
          placeholder={t.search}
          leftSection={<IconSearch size={16} aria-hidden />}
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
          flex="1 1 220px"
          maw={360}
        />
        <Select
          aria-label={t.status}
          data={[{ value: "all", label: t.all }, ...keyStates.map((value) => ({ value, label: states[value] }))]}
          value={state}
          onChange={(value) => value && setState(value)}
          allowDeselect={false}
          w={160}
        />
        <Text size="sm" c="dimmed" role="status">
          {t.count(format.count(found.length), format.count(among.length))}
        </Text>
      </Group>
      {found.length === 0 ? (
        <Empty
          icon={IconSearch}
          title={t.none}
          action={
            <Button variant="default" onClick={clear}>
              {t.clear}
            </Button>
          }
        />
      ) : (
        <KeyList of={found.slice(0, shown)} {...actions} />
      )}
      {found.length > shown && (
        <Group justify="center">
          <Button variant="default" onClick={() => setShown(shown + pageLength)}>
            {t.more}
          </Button>
        </Group>
      )}
    </Stack>
  );
}
