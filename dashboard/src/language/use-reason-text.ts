/** Tells what has a reason in the reader's language. */
import { useLanguage } from "./language.tsx";
import type { Reasoned, TellReason } from "./reason-texts.ts";

export function useReasonText(inChinese: TellReason): (of: Reasoned & { readonly message: string }) => string {
  const { language } = useLanguage();
  return (of) => (language === "zh-CN" ? inChinese(of) : undefined) ?? of.message;
}
