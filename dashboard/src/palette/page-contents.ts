/** The contents of pages whose names do not tell them. The palette shows the contents, and finds a page by them. */
import { texts } from "../language/language.tsx";

/** pageContents are by the page's address, without "/". */
export const pageContents = texts(
  {
    keys: "Secrets, budgets and rates of keys",
    usage: "Requests, refused calls, errors, costs, export",
    recharge: "Balance, budgets, tiers, redeem a code, ledger",
    "operator/accounts": "Add funds, refund, budgets, suspend, billed afterwards",
    "operator/users": "Invite, reset a password, remove a second factor",
    "operator/codes": "Create codes, vouchers",
    "operator/upstreams": "Vendors, health, test, switch off",
    "operator/models": "Prices, targets, aliases",
    "operator/requests": "Calls of all accounts, refused calls, errors",
    "operator/history": "Versions of the configuration, compare, go back, roll back",
    "operator/audit": "Who did what, and from where",
  },
  {
    keys: "密钥内容、预算和速率",
    usage: "请求、被拒绝的调用、错误、费用、导出",
    recharge: "余额、预算、等级、使用兑换码、账目",
    "operator/accounts": "增加额度、退款、预算、停用、后付费",
    "operator/users": "邀请、重置密码、移除两步验证",
    "operator/codes": "创建兑换码、代金券",
    "operator/upstreams": "厂商、状况、测试、停用",
    "operator/models": "价格、目标、别名",
    "operator/requests": "所有账户的调用、被拒绝的调用、错误",
    "operator/history": "配置的各个版本、对比、恢复、回滚",
    "operator/audit": "谁在何处做了什么",
  },
);
