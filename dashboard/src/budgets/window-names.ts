/** Names the windows of budgets: for a choice, and within a sentence. */
import { texts, useTexts } from "../language/language.tsx";
import type { BudgetWindowName } from "./budget-values.ts";

const said = texts(
  {
    day: "A day",
    week: "A week, from Monday",
    month: "A month",
    rollingDay: "Last 24 hours",
    rollingWeek: "Last 7 days",
    rollingMonth: "Last 30 days",
    inDay: "today",
    inWeek: "this week",
    inMonth: "this month",
    inRollingDay: "in the last 24 hours",
    inRollingWeek: "in the last 7 days",
    inRollingMonth: "in the last 30 days",
  },
  {
    day: "每天",
    week: "每周（从周一起）",
    month: "每月",
    rollingDay: "最近 24 小时",
    rollingWeek: "最近 7 天",
    rollingMonth: "最近 30 天",
    inDay: "今天",
    inWeek: "本周",
    inMonth: "本月",
    inRollingDay: "最近 24 小时",
    inRollingWeek: "最近 7 天",
    inRollingMonth: "最近 30 天",
  },
);

export interface WindowNames {
  /** choice names a window in a list to choose from: "A month". */
  choice(window: BudgetWindowName): string;
  /** within names it in a sentence: "this month". */
  within(window: BudgetWindowName): string;
}

export function useWindowNames(): WindowNames {
  const t = useTexts(said);
  const choices: Readonly<Record<BudgetWindowName, string>> = {
    ...{ day: t.day, week: t.week, month: t.month },
    ...{ "rolling day": t.rollingDay, "rolling week": t.rollingWeek, "rolling month": t.rollingMonth },
  };
  const sentences: Readonly<Record<BudgetWindowName, string>> = {
    ...{ day: t.inDay, week: t.inWeek, month: t.inMonth },
    ...{ "rolling day": t.inRollingDay, "rolling week": t.inRollingWeek, "rolling month": t.inRollingMonth },
  };
  return {
    choice: (window) => choices[window],
    within: (window) => sentences[window],
  };
}
