/** The keys that match the search, a part of them at a time. */
import { Button, Group, Select, Stack, Text, TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { useState } from "react";
import type { ApiKey } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { counted } from "../../language/counted.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Empty } from "../../parts/empty.tsx";
import { BulkActions } from "./bulk-actions.tsx";
import { KeyList } from "./key-list.tsx";
import type { KeyActions } from "./key-menu.tsx";
import { inOrder, type KeyOrder, newestFirst, orderNames, turned } from "./key-order.ts";
import { type KeyState, keyStates, matches, stateOf, stateTexts } from "./key-state.ts";
import { labelsAmong } from "./limits/use-known-labels.ts";

const said = texts(
  {
    search: "Search by name, secret or id",
    tag: "Tag",
    allTags: "All tags",
    owner: "Owner",
    allOwners: "All owners",
    status: "Status",
    all: "All statuses",
    count: (found: string, all: string) => `${found} of ${counted(all, "key")}`,
    none: "No keys match",
    clear: "Clear filters",
    more: "Show more",
    order: "Order",
    created: "Newest first",
    name: "By name",
    byOwner: "By owner",
    spent: "Most spent first",
    used: "Last used first",
    expires: "Expiring first",
  },
  {
    search: "按名称、密钥或 ID 搜索",
    tag: "标签",
    allTags: "全部标签",
    owner: "负责人",
    allOwners: "全部负责人",
    status: "状态",
    all: "全部状态",
    count: (found: string, all: string) => `${found} / ${all} 个密钥`,
    none: "没有匹配的密钥",
    clear: "清除筛选",
    more: "显示更多",
    order: "排序",
    created: "最新创建",
    name: "按名称",
    byOwner: "按负责人",
    spent: "消费最多",
    used: "最近使用",
    expires: "最先过期",
  },
);

const pageLength = 50;

interface Props extends KeyActions {
  readonly among: readonly ApiKey[];
  /** find is what is searched for at first. */
  readonly find?: string | undefined;
}

export function FoundKeys({ among, find = "", ...actions }: Props) {
  const t = useTexts(said);
  const states = useTexts(stateTexts);
  const format = useFormat();
  const [search, setSearch] = useState(find);
  const [state, setState] = useState<KeyState | "all">("all");
  const [tag, setTag] = useState<string | null>(null);
  const [owner, setOwner] = useState<string | null>(null);
  const [shown, setShown] = useState(pageLength);
  const [order, setOrder] = useState(newestFirst);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const now = Date.now();
  const { tags, owners } = labelsAmong(among);
  const matching = among.filter(
    (key) =>
      matches(key, search) &&
      (state === "all" || stateOf(key, now) === state) &&
      (tag === null || key.tags.includes(tag)) &&
      (owner === null || key.owner === owner),
  );
  const found = inOrder(matching, order, now);
  // Of a key that is gone, or not found any more, nobody sees that it is selected.
  const chosen = found.filter(({ id }) => selected.has(id));
  const select = (ids: readonly string[], isSelected: boolean) =>
    setSelected((before) => (isSelected ? before.union(new Set(ids)) : before.difference(new Set(ids))));
  const clear = () => {
    setSearch("");
    setState("all");
    setTag(null);
    setOwner(null);
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
          flex="1 1 260px"
          maw={360}
        />
        <Select
          aria-label={t.status}
          data={[{ value: "all", label: t.all }, ...keyStates.map((value) => ({ value, label: states[value] }))]}
          value={state}
          onChange={(value) => value && setState(value)}
          allowDeselect={false}
          w={{ base: "calc(50% - 6px)", xs: 160 }}
        />
        <LabelSelect label={t.tag} all={t.allTags} data={tags} value={tag} onChange={setTag} />
        <LabelSelect label={t.owner} all={t.allOwners} data={owners} value={owner} onChange={setOwner} />
        <OrderSelect order={order} onOrder={setOrder} />
        <Text size="sm" c="dimmed" role="status">
          {t.count(format.count(found.length), format.count(among.length))}
        </Text>
      </Group>
      {chosen.length > 0 && <BulkActions keys={chosen} onDone={(failed) => setSelected(new Set(failed))} />}
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
        <KeyList
          of={found.slice(0, shown)}
          order={order}
          onOrder={setOrder}
          selected={selected}
          onSelect={select}
          {...actions}
        />
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

interface LabelProps {
  readonly label: string;
  readonly all: string;
  readonly data: readonly string[];
  readonly value: string | null;
  readonly onChange: (value: string | null) => void;
}

/** LabelSelect is not there where no key has such a label. */
function LabelSelect({ label, all, data, value, onChange }: LabelProps) {
  if (data.length === 0) return null;
  return (
    <Select
      aria-label={label}
      placeholder={all}
      data={[...data]}
      value={value}
      onChange={onChange}
      searchable
      clearable
      w={{ base: "calc(50% - 6px)", xs: "auto" }}
      miw={{ base: 0, xs: 160 }}
    />
  );
}

interface OrderProps {
  readonly order: KeyOrder;
  readonly onOrder: (order: KeyOrder) => void;
}

/** OrderSelect chooses the order, also by what has no column of its own. */
function OrderSelect({ order, onOrder }: OrderProps) {
  const t = useTexts(said);
  return (
    <Select
      aria-label={t.order}
      data={orderNames.map((value) => ({ value, label: value === "owner" ? t.byOwner : t[value] }))}
      value={order.by}
      onChange={(by) => by && onOrder(by === "created" ? newestFirst : turned(newestFirst, by as KeyOrder["by"]))}
      allowDeselect={false}
      w={{ base: "calc(50% - 6px)", xs: 160 }}
    />
  );
}
