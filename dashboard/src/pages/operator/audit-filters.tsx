/** The filters of the audit log. They are kept in the address. */
import { Button, Group, Select, TextInput } from "@mantine/core";
import { IconFilterOff } from "@tabler/icons-react";
import { useState } from "react";
import { texts, useTexts } from "../../language/language.tsx";
import type { AuditSearch } from "../../search.ts";
import { actions, useActionNames } from "./action-names.ts";

const said = texts(
  { account: "Account", hint: "Name or acc_…", action: "What was done", all: "Everything", clear: "Clear filters" },
  { account: "账户", hint: "名称或 acc_…", action: "操作", all: "全部", clear: "清除筛选" },
);

interface Props {
  readonly search: AuditSearch;
  readonly onChange: (search: AuditSearch) => void;
}

export function AuditFilters({ search, onChange }: Props) {
  const t = useTexts(said);
  const tell = useActionNames();
  const change = (name: keyof AuditSearch, value: string | null) => {
    const { [name]: _, ...others } = search;
    onChange(value ? { ...others, [name]: value } : others);
  };
  const known = actions.map((action) => ({ value: action as string, label: tell(action) }));
  const { account, action } = search;
  const isOther = action !== undefined && !known.some(({ value }) => value === action);
  return (
    <Group gap="sm" align="flex-end">
      <AccountField key={account ?? ""} value={account ?? ""} on={(value) => change("account", value)} />
      <Select
        label={t.action}
        placeholder={t.all}
        data={isOther ? [...known, { value: action, label: action }] : known}
        value={action ?? null}
        onChange={(value) => change("action", value)}
        searchable
        clearable
        w={{ base: "100%", xs: 300 }}
      />
      {(account !== undefined || action !== undefined) && (
        <Button
          variant="subtle"
          px="xs"
          leftSection={<IconFilterOff size={16} aria-hidden />}
          onClick={() => onChange({})}
        >
          {t.clear}
        </Button>
      )}
    </Group>
  );
}

/** AccountField applies its text on Enter, or when it loses the focus. */
function AccountField({ value, on }: { readonly value: string; readonly on: (value: string) => void }) {
  const t = useTexts(said);
  const [typed, setTyped] = useState(value);
  const finish = () => {
    if (typed.trim() !== value) on(typed.trim());
  };
  return (
    <TextInput
      label={t.account}
      placeholder={t.hint}
      value={typed}
      onChange={(event) => setTyped(event.currentTarget.value)}
      onBlur={finish}
      onKeyDown={(event) => event.key === "Enter" && finish()}
      w={{ base: "100%", xs: 220 }}
    />
  );
}
