/** Names the details of audit events, which are fields of requests and answers. */
import { budgetWindows } from "../../budgets/budget-values.ts";
import { useWindowNames } from "../../budgets/window-names.ts";
import { useFormat } from "../../language/format.ts";
import { useJoin } from "../../language/join.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { readAmount } from "../../parts/amount.ts";
import type { Members } from "./read-details.ts";

const said = texts(
  {
    account: "Account",
    administrator: "Administrator",
    allowed_ips: "Addresses",
    amount: "Amount",
    base_url: "Address",
    base_version: "On version",
    budgets: "Budgets",
    changed: "Changed",
    count: "Count",
    credential: "Credential",
    credit_limit: "Credit limit",
    derived: "Follows (millionths)",
    disabled: "Disabled",
    email: "E-mail",
    expires_at: "Expires",
    failures: "Failures",
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
    replayed: "Repetition that did nothing",
    requests: "Requests",
    requests_per_minute: "Requests a minute",
    second_factor: "Second factor",
    suspended: "Suspended",
    tags: "Tags",
    time_zone: "Time zone",
    tokens: "Tokens",
    tokens_per_minute: "Tokens a minute",
    user_id: "User",
    version: "Version",
    what: "Sum",
    written: "Written (millionths)",
  },
  {
    account: "账户",
    administrator: "管理员",
    allowed_ips: "允许的地址",
    amount: "金额",
    base_url: "地址",
    base_version: "所改版本",
    budgets: "预算",
    changed: "已更改",
    count: "数量",
    credential: "凭据",
    credit_limit: "消费上限",
    derived: "应为（百万分之一）",
    disabled: "停用",
    email: "邮箱",
    expires_at: "过期时间",
    failures: "失败次数",
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
    replayed: "重复请求，未再执行",
    requests: "请求数",
    requests_per_minute: "每分钟请求数",
    second_factor: "两步验证",
    suspended: "停用",
    tags: "标签",
    time_zone: "时区",
    tokens: "Token 数",
    tokens_per_minute: "每分钟 Token 数",
    user_id: "用户",
    version: "版本",
    what: "合计项",
    written: "账面（百万分之一）",
  },
);

/** useDetailNames returns the name of a detail; the field's own if it has none. */
export function useDetailNames(): (field: string) => string {
  const names = new Map<string, string>(Object.entries(useTexts(said)));
  return (field) => names.get(field) ?? field;
}

const sums: ReadonlySet<string> = new Set(["amount", "credit_limit"]);

/** flags are the details that are true or false. */
const flags: ReadonlySet<string> = new Set([
  ...["administrator", "disabled", "operator", "postpaid", "replayed", "second_factor", "suspended"],
]);

const words = texts(
  {
    true: "yes",
    false: "no",
    recharge: "recharge",
    refund: "refund",
    grant: "grant",
    api_key: "API key",
    operator_key: "operator key",
    session: "session",
    session_key: "key of a session",
    redeem_code: "redeem code",
    sign_in: "sign-in",
    link: "one-time link",
  },
  {
    true: "是",
    false: "否",
    recharge: "充值",
    refund: "退款",
    grant: "赠送",
    api_key: "API 密钥",
    operator_key: "运营密钥",
    session: "会话",
    session_key: "会话密钥",
    redeem_code: "兑换码",
    sign_in: "登录",
    link: "一次性链接",
  },
);

/** useDetailValues returns how a detail's value is told: a sum of money with its unit, a word of the API in plain language. */
export function useDetailValues(): (name: string, value: string) => string {
  const format = useFormat();
  const known = new Map<string, string>(Object.entries(useTexts(words)));
  return (name, value) => {
    if (name === "kind" || name === "credential" || flags.has(name)) return known.get(value) ?? value;
    const sum = sums.has(name) ? readAmount(value.replace(/^-/, "")) : undefined;
    if (sum === undefined) return value;
    return format.money(value.startsWith("-") ? -sum : sum);
  };
}

/** useToldMembers returns how an object among the details is told: a budget by its window, all else by the names of its members. */
export function useToldMembers(): (members: Members) => string {
  const nameOf = useDetailNames();
  const windows = useWindowNames();
  const tellValue = useDetailValues();
  const join = useJoin();
  return (members) => {
    const { amount, period, rolling } = members;
    const window = budgetWindows.find((name) => name === (rolling === true ? `rolling ${period}` : period));
    if (window) return join.aside(tellValue("amount", String(amount)), windows.choice(window));
    return Object.entries(members)
      .map(([name, value]) => `${nameOf(name)} ${typeof value === "string" ? value : JSON.stringify(value)}`)
      .join(" · ");
  };
}
