/** Names the details of audit events, which are fields of requests and answers. */
import { budgetWindows } from "../../budgets/budget-values.ts";
import { useWindowNames } from "../../budgets/window-names.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { readAmount } from "../../parts/amount.ts";
import type { Members } from "./read-details.ts";

const said = texts(
  {
    account: "Account",
    administrator: "Administrator",
    allowed_ips: "Addresses",
    amount: "Amount",
    base_version: "Changed version",
    budgets: "Budgets",
    changed: "Changed",
    count: "Count",
    credit_limit: "Credit limit",
    disabled: "Disabled",
    email: "E-mail",
    expires_at: "Expires",
    kind: "Kind",
    max_concurrent: "Calls at a time",
    model: "Model",
    model_rates: "Rates of models",
    models: "Models",
    name: "Name",
    note: "Note",
    operator: "Operator",
    overlap_seconds: "Old secret valid for (seconds)",
    owner: "Owner",
    postpaid: "Billed afterwards",
    requests_per_minute: "Requests a minute",
    second_factor: "Second factor",
    suspended: "Suspended",
    tags: "Tags",
    time_zone: "Time zone",
    tokens_per_minute: "Tokens a minute",
    user_id: "User",
    version: "Version",
  },
  {
    account: "账户",
    administrator: "管理员",
    allowed_ips: "允许的地址",
    amount: "金额",
    base_version: "所改版本",
    budgets: "预算",
    changed: "已更改",
    count: "数量",
    credit_limit: "消费上限",
    disabled: "停用",
    email: "邮箱",
    expires_at: "过期时间",
    kind: "类型",
    max_concurrent: "同时调用数",
    model: "模型",
    model_rates: "模型速率",
    models: "模型",
    name: "名称",
    note: "备注",
    operator: "网关管理员",
    overlap_seconds: "旧密钥有效时长（秒）",
    owner: "负责人",
    postpaid: "后付费",
    requests_per_minute: "每分钟请求数",
    second_factor: "两步验证",
    suspended: "暂停",
    tags: "标签",
    time_zone: "时区",
    tokens_per_minute: "每分钟 Token 数",
    user_id: "用户",
    version: "版本",
  },
);

/** useDetailNames returns the name of a detail; the field's own if it has none. */
export function useDetailNames(): (field: string) => string {
  const names = new Map<string, string>(Object.entries(useTexts(said)));
  return (field) => names.get(field) ?? field;
}

const sums: ReadonlySet<string> = new Set(["amount", "credit_limit"]);

/** useToldSums returns how a detail's value is told: a sum of money with its unit, all else unchanged. */
export function useToldSums(): (name: string, value: string) => string {
  const format = useFormat();
  return (name, value) => {
    const sum = sums.has(name) ? readAmount(value.replace(/^-/, "")) : undefined;
    if (sum === undefined) return value;
    return format.money(value.startsWith("-") ? -sum : sum);
  };
}

/** useToldMembers returns how an object among the details is told: a budget by its window, all else by the names of its members. */
export function useToldMembers(): (members: Members) => string {
  const nameOf = useDetailNames();
  const windows = useWindowNames();
  const withUnit = useToldSums();
  return (members) => {
    const { amount, period, rolling } = members;
    const window = budgetWindows.find((name) => name === (rolling === true ? `rolling ${period}` : period));
    if (window) return `${withUnit("amount", String(amount))} (${windows.choice(window)})`;
    return Object.entries(members)
      .map(([name, value]) => `${nameOf(name)} ${typeof value === "string" ? value : JSON.stringify(value)}`)
      .join(" · ");
  };
}
