/** The filters and the order of the list of accounts. They are kept in the address. */
import { useQuery } from "@connectrpc/connect-query";
import { Select } from "@mantine/core";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { readAmount } from "../../parts/amount.ts";
import { Days, Filters, Picked, Typed } from "../../parts/filter-fields.tsx";
import { type AccountSearch, changed, onDays, pick } from "../../search.ts";
import { listOrders } from "./account-choice.ts";

const said = texts(
  {
    tier: "Tier",
    balance: "Balance below",
    amount: "Such as 5",
    state: "Status",
    all: "All",
    active: "Active",
    suspended: "Suspended",
    activity: "Calls in the period",
    calling: "Has called",
    idle: "Has not called",
    order: "Order",
    days: "Last 30 days",
    created: "Oldest first",
    "created-desc": "Newest first",
    name: "Name",
    balanceUp: "Lowest balance",
    "balance-desc": "Highest balance",
    "recharged-desc": "Most recharged",
    "spent-desc": "Most spent",
    spent: "Least spent",
  },
  {
    tier: "等级",
    balance: "余额低于",
    amount: "例如 5",
    state: "状态",
    all: "全部",
    active: "正常",
    suspended: "已停用",
    activity: "该时段内的调用",
    calling: "有调用",
    idle: "无调用",
    order: "排序",
    days: "最近 30 天",
    created: "最早创建",
    "created-desc": "最新创建",
    name: "名称",
    balanceUp: "余额最低",
    "balance-desc": "余额最高",
    "recharged-desc": "充值最多",
    "spent-desc": "消费最多",
    spent: "消费最少",
  },
);

interface Props {
  readonly search: AccountSearch;
  readonly onChange: (search: AccountSearch) => void;
}

export function AccountFilters({ search, onChange }: Props) {
  const t = useTexts(said);
  const limits = useQuery(OperatorService.method.describeLimits, {});
  const change = (name: keyof AccountSearch, value: string | null) => onChange(changed(search, name, value));
  const { tier, below, state, activity, order = "created", from, to } = search;
  const kept = pick({ ...search }, ["find", "order"]);
  const isFiltered = Object.keys(search).length > Object.keys(kept).length;
  const isOther = !(listOrders as readonly string[]).includes(order);
  return (
    <Filters onClear={isFiltered ? () => onChange(kept) : undefined}>
      <Picked
        {...{ label: t.tier, all: t.all, value: tier, isShort: true }}
        data={(limits.data?.tiers ?? []).map(({ name }) => ({ value: name, label: name }))}
        on={(value) => change("tier", value)}
      />
      <Typed
        {...{ label: t.balance, hint: t.amount, value: below, isShort: true }}
        on={(value) => change("below", value && readAmount(value) !== undefined ? value : null)}
      />
      <Picked
        {...{ label: t.state, all: t.all, value: state, isShort: true }}
        data={(["active", "suspended"] as const).map((value) => ({ value, label: t[value] }))}
        on={(value) => change("state", value)}
      />
      <Picked
        {...{ label: t.activity, all: t.all, value: activity, width: 150, isShort: true }}
        data={[
          { value: "active", label: t.calling },
          { value: "idle", label: t.idle },
        ]}
        on={(value) => change("activity", value)}
      />
      <Days from={from} to={to} any={t.days} on={(days) => onChange(onDays(search, days))} />
      <Select
        label={t.order}
        data={listOrders.map((value) => ({ value, label: value === "balance" ? t.balanceUp : t[value] }))}
        value={isOther ? null : order}
        onChange={(value) => change("order", value === "created" ? null : value)}
        allowDeselect={false}
        w={{ base: "100%", xs: 160 }}
      />
    </Filters>
  );
}
