/** The filters of the audit log. They are kept in the address. */
import { useQuery } from "@connectrpc/connect-query";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Days, Filters, Picked, Typed } from "../../parts/filter-fields.tsx";
import { type AuditSearch, changed, onDays } from "../../search.ts";
import { actions, useActionNames } from "./action-names.ts";
import { actorKinds, useActorKinds } from "./actor-kinds.ts";

const said = texts(
  {
    account: "Account",
    hint: "Name or acc_…",
    action: "What was done",
    actor: "Who did it",
    everything: "Everything",
    anybody: "Anybody",
  },
  {
    account: "账户",
    hint: "名称或 acc_…",
    action: "操作",
    actor: "操作者",
    everything: "全部",
    anybody: "不限",
  },
);

interface Props {
  readonly search: AuditSearch;
  readonly onChange: (search: AuditSearch) => void;
}

export function AuditFilters({ search, onChange }: Props) {
  const t = useTexts(said);
  const tell = useActionNames();
  const change = (name: keyof AuditSearch, value: string | null) => onChange(changed(search, name, value));
  const { account, action, actor, from, to } = search;
  const isFiltered = Object.keys(search).length > 0;
  return (
    <Filters onClear={isFiltered ? () => onChange({}) : undefined}>
      <Typed label={t.account} hint={t.hint} value={account} on={(value) => change("account", value)} width={160} />
      <Picked
        {...{ label: t.action, all: t.everything, value: action, width: 240 }}
        data={actions.map((action) => ({ value: action, label: tell(action) }))}
        on={(value) => change("action", value)}
      />
      <Picked
        {...{ label: t.actor, all: t.anybody, value: actor, width: 220 }}
        data={useActors()}
        on={(value) => change("actor", value)}
      />
      <Days from={from} to={to} on={(days) => onChange(onDays(search, days))} />
    </Filters>
  );
}

/** useActors returns the kinds of actors, and the users, as far as one page of them has them. */
function useActors() {
  const kinds = useActorKinds();
  const { data } = useQuery(OperatorService.method.listUsers, { pageSize: 1000 });
  return [
    ...actorKinds.map((kind) => ({ value: kind, label: kinds[kind] })),
    ...(data?.users ?? []).map(({ id, email }) => ({ value: id, label: email })),
  ];
}
