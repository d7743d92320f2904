/**
 * The dashboard's texts, in English and Simplified Chinese.
 *
 * Each page has its texts beside it, in both languages: `texts(english, chinese)`. A text with variable parts is a
 * function of them. The compiler checks that both languages have the same texts.
 */
import { createContext, type PropsWithChildren, use, useEffect, useState } from "react";
import { keptApart } from "./isolated.ts";

export const languages = { en: "English", "zh-CN": "简体中文" } as const;

export type Language = keyof typeof languages;

// biome-ignore lint/suspicious/noExplicitAny: a text may be a function of anything.
type TextValue = string | ((...values: any[]) => string);

type Same<W> = {
  readonly [K in keyof W]: W[K] extends (...values: infer V) => string ? (...values: V) => string : string;
};

export type Texts<W> = Readonly<Record<Language, Same<W>>>;

export function texts<const W extends Readonly<Record<string, TextValue>>>(english: W, chinese: Same<W>): Texts<W> {
  return { en: keptApart(english as unknown as Same<W>), "zh-CN": keptApart(chinese) };
}

interface Spoken {
  readonly language: Language;
  readonly speak: (language: Language) => void;
}

const Current = createContext<Spoken>({ language: "en", speak: () => {} });

const storageKey = "gateway-language";

/** preferred returns the language chosen here before, or else the browser's first supported one. */
function preferred(): Language {
  const asked = [localStorage.getItem(storageKey) ?? "", ...navigator.languages];
  for (const one of asked) {
    if (one.toLowerCase().startsWith("zh")) return "zh-CN";
    if (one.toLowerCase().startsWith("en")) return "en";
  }
  return "en";
}

export function LanguageProvider({ children }: PropsWithChildren) {
  const [language, setLanguage] = useState(preferred);
  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);
  const speak = (chosen: Language) => {
    localStorage.setItem(storageKey, chosen);
    setLanguage(chosen);
  };
  return <Current value={{ language, speak }}>{children}</Current>;
}

export function useLanguage(): Spoken {
  return use(Current);
}

/** useTexts returns the texts in the page's language. */
export function useTexts<W>(of: Texts<W>): Same<W> {
  return of[use(Current).language];
}
