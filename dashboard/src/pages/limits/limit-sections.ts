/** The sections of the page beside those of `settings.ts`: their places in its address, and their titles. */
import { texts } from "../../language/language.tsx";

export const limitSections = texts(
  { tiers: "Tiers", process: "Of the process", rates: "Rates of single RPCs" },
  { tiers: "等级", process: "进程设置", rates: "单个 RPC 的速率" },
);
