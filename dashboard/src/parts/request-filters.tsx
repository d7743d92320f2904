/** The filters of a list of calls. They are kept in the address, so that they survive a reload. */
import { texts, useTexts } from "../language/language.tsx";
import { changed, isFiltered, onDays, type RequestSearch, unfiltered } from "../search.ts";
import { type Choice, Days, Filters, Picked, Typed } from "./filter-fields.tsx";
import { type OutcomeWord, outcomes, useOutcomeNames } from "./outcome.tsx";
import { reasonWords, useReasonNames } from "./refusal-reasons.ts";

const said = texts(
  {
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
  },
  {
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
  },
);

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
  const change = (name: keyof RequestSearch, value: string | null) => onChange(changed(search, name, value));
  // Of refused calls, keys and models are looked for within an account only.
  const needsAccount = ofAccounts && isOfRefused && account === undefined;
  const outcomeChoices = (Object.keys(outcomes) as OutcomeWord[]).map((word) => ({ value: word, label: names[word] }));
  const modelChoices = models.map((id) => ({ value: id, label: id }));
  return (
    <Filters onClear={isFiltered(search) ? () => onChange(unfiltered(search)) : undefined}>
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
      <Days from={from} to={to} on={(days) => onChange(onDays(search, days))} />
    </Filters>
  );
}
