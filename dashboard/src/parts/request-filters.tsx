/** The filters of a list of calls. They are kept in the address, so that they survive a reload. */
import { Button, Group, Select, TextInput } from "@mantine/core";
import { IconFilterOff } from "@tabler/icons-react";
import { useState } from "react";
import { texts, useTexts } from "../language/language.tsx";
import { isFiltered, type RequestSearch, unfiltered } from "../search.ts";
import { type OutcomeWord, outcomes, useOutcomeNames } from "./outcome.tsx";
import { reasonWords, useReasonNames } from "./refusal-reasons.ts";

const said = texts(
  {
    filters: "Filters",
    account: "Account",
    accountHint: "Name or acc_…",
    key: "Key",
    keyHint: "key_…",
    model: "Model",
    upstream: "Upstream",
    tag: "Tag",
    outcome: "Status",
    reason: "Reason",
    all: "All",
    from: "From",
    to: "To",
    clear: "Clear filters",
  },
  {
    filters: "筛选",
    account: "账户",
    accountHint: "名称或 acc_…",
    key: "密钥",
    keyHint: "key_…",
    model: "模型",
    upstream: "上游",
    tag: "标签",
    outcome: "状态",
    reason: "原因",
    all: "全部",
    from: "起始日期",
    to: "截止日期",
    clear: "清除筛选",
  },
);

export interface Choice {
  readonly value: string;
  readonly label: string;
}

interface Props {
  readonly search: RequestSearch;
  readonly onChange: (search: RequestSearch) => void;
  readonly models: readonly string[];
  /** upstreams are the upstreams to choose from; unset: there is no such filter. */
  readonly upstreams?: readonly string[];
  /** tags are the tags of keys to choose from; unset or none: there is no such filter. */
  readonly tags?: readonly string[];
  /** keys are the keys to choose from; unset: a key is given by its id. */
  readonly keys?: readonly Choice[];
  /** ofAccounts shows an account filter, too. */
  readonly ofAccounts?: boolean;
}

export function RequestFilters({ search, onChange, models, upstreams, tags = [], keys, ofAccounts = false }: Props) {
  const t = useTexts(said);
  const names = useOutcomeNames();
  const reasonName = useReasonNames();
  const { account, key, model, upstream, tag, outcome, reason, from, to } = search;
  const isOfRefused = search.view === "refused";
  const change = (name: keyof RequestSearch, value: string | null) => {
    const { [name]: _, ...others } = search;
    onChange(value ? { ...others, [name]: value } : others);
  };
  // Of refused calls, keys and models are looked for within an account only.
  const needsAccount = ofAccounts && isOfRefused && account === undefined;
  const outcomeChoices = (Object.keys(outcomes) as OutcomeWord[]).map((word) => ({ value: word, label: names[word] }));
  const modelChoices = models.map((id) => ({ value: id, label: id }));
  return (
    <Group component="fieldset" gap={10} align="flex-end" bd={0} p={0} m={0} miw={0} aria-label={t.filters}>
      {ofAccounts && <Typed label={t.account} hint={t.accountHint} value={account} on={(v) => change("account", v)} />}
      {keys ? (
        <Picked label={t.key} all={t.all} data={keys} value={key} on={(value) => change("key", value)} />
      ) : (
        <Typed label={t.key} hint={t.keyHint} value={key} on={(v) => change("key", v)} disabled={needsAccount} />
      )}
      <Picked
        {...{ label: t.model, all: t.all, data: modelChoices, value: model, disabled: needsAccount, width: 150 }}
        on={(value) => change("model", value)}
      />
      {upstreams && !isOfRefused && (
        <Picked
          {...{ label: t.upstream, all: t.all, value: upstream }}
          data={upstreams.map((name) => ({ value: name, label: name }))}
          on={(value) => change("upstream", value)}
        />
      )}
      {!isOfRefused && (tags.length > 0 || tag !== undefined) && (
        <Picked
          {...{ label: t.tag, all: t.all, value: tag, disabled: ofAccounts && account === undefined }}
          data={tags.map((name) => ({ value: name, label: name }))}
          on={(value) => change("tag", value)}
        />
      )}
      {isOfRefused ? (
        <Picked
          {...{ label: t.reason, all: t.all, value: reason, width: 190 }}
          data={reasonWords.map((value) => ({ value, label: reasonName(value) }))}
          on={(value) => change("reason", value)}
        />
      ) : (
        <Picked
          {...{ label: t.outcome, all: t.all, data: outcomeChoices, value: outcome }}
          on={(value) => change("outcome", value)}
        />
      )}
      <Group gap={10} wrap="nowrap" w={{ base: "100%", xs: "auto" }}>
        <Day label={t.from} value={from} max={to} on={(value) => change("from", value)} />
        <Day label={t.to} value={to} min={from} on={(value) => change("to", value)} />
      </Group>
      {isFiltered(search) && (
        <Button
          variant="subtle"
          px="xs"
          onClick={() => onChange(unfiltered(search))}
          leftSection={<IconFilterOff size={16} aria-hidden />}
        >
          {t.clear}
        </Button>
      )}
    </Group>
  );
}

interface FieldProps {
  readonly label: string;
  /** width is in pixels, if the window is wide enough. */
  readonly width?: number;
  readonly value: string | undefined;
  readonly on: (value: string | null) => void;
  readonly disabled?: boolean;
}

/** Picked also offers a value that is in the address but not in the list, such as a revoked key. */
function Picked({
  label,
  all,
  data,
  value,
  on,
  disabled = false,
  width = 128,
}: FieldProps & { all: string; data: readonly Choice[] }) {
  const known = value === undefined || data.some((one) => one.value === value);
  return (
    <Select
      {...{ label, disabled, placeholder: all, value: value ?? null, onChange: on }}
      data={known ? [...data] : [...data, { value: value ?? "", label: value ?? "" }]}
      searchable
      clearable
      w={{ base: "100%", xs: "auto" }}
      miw={{ base: 0, xs: width }}
    />
  );
}

/** useDraft keeps the text being typed separate from the applied value, which replaces it when it changes. */
function useDraft(value: string): [draft: string, setDraft: (draft: string) => void] {
  const [{ of, draft }, set] = useState({ of: value, draft: value });
  if (of !== value) set({ of: value, draft: value });
  return [of === value ? draft : value, (next) => set({ of: value, draft: next })];
}

/** Typed applies its text on Enter, or when it loses the focus. */
function Typed({ label, hint, value = "", on, disabled = false, width = 128 }: FieldProps & { hint: string }) {
  const [draft, setDraft] = useDraft(value);
  const finish = () => {
    if (draft.trim() !== value) on(draft.trim());
  };
  return (
    <TextInput
      {...{ label, disabled, placeholder: hint, value: draft }}
      onChange={(event) => setDraft(event.currentTarget.value)}
      onBlur={finish}
      onKeyDown={(event) => event.key === "Enter" && finish()}
      w={{ base: "100%", xs: width }}
    />
  );
}

/** Day ignores dates of the first centuries, which the field has while a year is being typed. */
function Day({ label, value = "", on, min, max }: FieldProps & { min?: string | undefined; max?: string | undefined }) {
  const [draft, setDraft] = useDraft(value);
  const change = (day: string) => {
    setDraft(day);
    if (day === "" || day >= "2000") on(day);
  };
  return (
    <TextInput
      type="date"
      {...{ label, value: draft, min, max }}
      onChange={(event) => change(event.currentTarget.value)}
      w={{ base: "calc(50% - 5px)", xs: 136 }}
      miw={0}
    />
  );
}
