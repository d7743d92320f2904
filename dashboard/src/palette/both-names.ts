/** Gives the names of something in either language: what is typed in one finds what is shown in the other. */
import { type Texts, useLanguage } from "../language/language.tsx";

type Plain<W> = { [K in keyof W]: W[K] extends string ? K : never }[keyof W];

/** useBothNames returns what gives the names of a text: that of the reader's language first. */
export function useBothNames<W>(of: Texts<W>): (key: Plain<W>) => readonly [string, string] {
  const { language } = useLanguage();
  const other = language === "en" ? "zh-CN" : "en";
  return (key) => [String(of[language][key]), String(of[other][key])];
}
